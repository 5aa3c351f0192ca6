//! Public reports about sign-ins, played.

use serde_json::{Value, json};

use super::super::error::Trouble;
use super::super::tokens::Refusal;
use super::login::{Login, clock};
use super::play::{BASE, Host};

/// OA-01: the server's own name for itself goes to the sign-in server to the letter.
#[tokio::test]
async fn oa_01_the_resource_is_sent_as_it_is_named() {
    let login = Login::new(Host::case("OA-01.http.json"), "/");
    login.sign_in().await.unwrap();
    assert_eq!(login.asked("resource").as_deref(), Some(BASE));
    let token = login
        .host
        .log()
        .into_iter()
        .find(|seen| seen.what == "POST /token")
        .unwrap();
    assert_eq!(token.form["resource"], BASE);
    assert_eq!(login.token().await.as_deref(), Some("at-0"));
}

/// OA-02: a sign-in server that registers nobody by itself: what to write where is said.
#[tokio::test]
async fn oa_02_without_registration_the_way_out_is_said() {
    let mut login = Login::case("OA-02.http.json");
    let error = login.sign_in().await.unwrap_err();
    assert_eq!(error.trouble, Trouble::Registration);
    assert!(error.to_string().contains("\"clientId\""), "{error}");
    assert_eq!((login.host.count("POST /register"), login.opened()), (0, 0));
    login.wanted.client.id = Some("pre-1".to_owned());
    login.sign_in().await.unwrap();
    assert_eq!(login.token().await.as_deref(), Some("at-0"));
}

/// OA-03: another name than the listed one is refused with both; a slash alone the user may accept.
#[tokio::test]
async fn oa_03_the_sign_in_server_is_the_listed_one() {
    let login = Login::case("OA-03.other.http.json");
    let error = login.sign_in().await.unwrap_err().to_string();
    assert!(
        error.contains(BASE) && error.contains("http://127.0.0.1:9"),
        "{error}"
    );
    assert_eq!(login.opened(), 0);
    let mut login = Login::case("OA-03.slash.http.json");
    let error = login.sign_in().await.unwrap_err().to_string();
    assert!(
        error.contains("\"issuer\": \"http://127.0.0.1:8009\""),
        "{error}"
    );
    login.wanted.client.issuer = Some(BASE.to_owned());
    login.sign_in().await.unwrap();
    assert_eq!(login.token().await.as_deref(), Some("at-0"));
}

/// OA-05: two sign-in servers on one host: the one that is listed.
#[tokio::test]
async fn oa_05_the_path_of_the_sign_in_server_counts() {
    let login = Login::new(Host::case("OA-05.http.json"), "/http/mcp");
    login.sign_in().await.unwrap();
    let page = login.browser.opened.lock().unwrap()[0].clone();
    assert!(
        page.starts_with(&format!("{BASE}/http/authorize?")),
        "{page}"
    );
}

/// OA-08: a callback that is fixed and taken fails at once; one that is free is the one that is told.
#[tokio::test]
async fn oa_08_one_port_is_registered_told_and_listened_on() {
    let mut login = Login::case("OA-08.http.json");
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let redirect = format!("http://localhost:{port}/callback");
    login.host.change(|routes| {
        let told = |route: &&mut Value| route["when"]["query:redirect_uri"].is_string();
        for route in routes.iter_mut().filter(told) {
            route["when"]["query:redirect_uri"] = json!(redirect);
        }
    });
    login.wanted.client.redirect = Some(redirect);
    let begun = std::time::Instant::now();
    let error = login.sign_in().await.unwrap_err();
    assert_eq!(error.trouble, Trouble::Port);
    assert!(
        error.to_string().contains(&format!("port {port}")),
        "{error}"
    );
    assert!(begun.elapsed().as_secs() < 1);
    assert_eq!((login.host.count("POST /register"), login.opened()), (0, 0));
    drop(taken);
    login.sign_in().await.unwrap();
    assert_eq!(login.token().await.as_deref(), Some("at-0"));
}

/// OA-10: a server that wants more and is never content asks a person once.
#[tokio::test]
async fn oa_10_more_is_asked_for_once() {
    let mut login = Login::case("OA-10.http.json");
    login.sign_in().await.unwrap();
    login.browser.opened.lock().unwrap().clear();
    let challenge = format!(
        "Bearer error=\"insufficient_scope\", scope=\"files:write\", resource_metadata=\"{BASE}/.well-known/oauth-protected-resource/mcp\""
    );
    let more = login
        .tokens(clock)
        .refused(403, std::slice::from_ref(&challenge))
        .await
        .unwrap();
    assert_eq!(more, Refusal::More(vec!["files:write".to_owned()]));
    (login.wanted.more, login.wanted.challenge) = (vec!["files:write".to_owned()], Some(challenge));
    login.sign_in().await.unwrap();
    assert_eq!(
        login.asked("scope").as_deref(),
        Some("files:read files:write")
    );
}

/// SEC-04: a page that no browser may be given is refused before anything is registered.
#[tokio::test]
async fn sec_04_such_a_page_is_never_opened() {
    let login = Login::case("SEC-04.http.json");
    let error = login.sign_in().await.unwrap_err();
    assert_eq!(error.trouble, Trouble::Description);
    assert!(
        error.to_string().contains("authorization_endpoint"),
        "{error}"
    );
    assert!(!error.to_string().contains("touch"), "{error}");
    assert_eq!((login.host.count("POST /register"), login.opened()), (0, 0));
}

/// An input that was taken in is played.
#[test]
fn no_case_lies_idle() {
    let tests = [
        include_str!("cases.rs"),
        include_str!("refresh.rs"),
        include_str!("endpoint.rs"),
    ]
    .concat();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let names = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names
        .filter(|name| name.starts_with("OA-") || name.starts_with("SEC-04"))
        .collect();
    assert!(names.len() >= 10, "{names:?}");
    let idle: Vec<&String> = names
        .iter()
        .filter(|name| !tests.contains(name.as_str()))
        .collect();
    assert!(idle.is_empty(), "{idle:?}");
}
