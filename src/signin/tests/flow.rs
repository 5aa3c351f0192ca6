//! Signing in from beginning to end, and the ways in which it does not come to its end.

use std::sync::Arc;

use serde_json::json;

use super::super::error::Trouble;
use super::super::flow::prospect;
use super::super::tokens::{Refusal, read_kept};
use super::login::{Login, clock, description, plain_login};
use super::play::{BASE, visit};

#[tokio::test]
async fn a_sign_in_from_beginning_to_end() {
    let login = plain_login();
    assert_eq!(login.token().await, None);
    assert_eq!(login.sign_in().await.unwrap(), ["files:read"]);
    assert_eq!(login.token().await.as_deref(), Some("at-0"));
    assert_eq!(
        login.asked("resource").as_deref(),
        Some("http://127.0.0.1:8009/mcp")
    );
    assert_eq!(login.asked("scope").as_deref(), Some("files:read"));
    assert_eq!(
        login.asked("code_challenge_method").as_deref(),
        Some("S256")
    );
    let register = login
        .host
        .log()
        .into_iter()
        .find(|seen| seen.what == "POST /register")
        .unwrap();
    let register: serde_json::Value = serde_json::from_str(&register.body).unwrap();
    assert_eq!(register["client_name"], "Creance");
    assert_eq!(register["application_type"], "native");
    assert_eq!(register["token_endpoint_auth_method"], "none");
    assert_eq!(
        register["redirect_uris"][0],
        login.asked("redirect_uri").unwrap()
    );
    let token = login
        .host
        .log()
        .into_iter()
        .find(|seen| seen.what == "POST /token")
        .unwrap();
    assert_eq!(token.form["resource"], "http://127.0.0.1:8009/mcp");
    assert!(token.form["code_verifier"].len() >= 43);
    // Nothing that reads as a token stands in what `Debug` shows.
    let kept = read_kept(&login.vault, "k").await.unwrap().unwrap();
    let shown = format!("{kept:?} {:?}", login.tokens(clock));
    assert!(
        !shown.contains("at-0") && !shown.contains("rt-0"),
        "{shown}"
    );
}

/// A registration is kept, with its port.
#[tokio::test]
async fn a_second_sign_in_registers_no_more() {
    let login = plain_login();
    login.sign_in().await.unwrap();
    login.browser.opened.lock().unwrap().clear();
    let first = read_kept(&login.vault, "k").await.unwrap().unwrap();
    login.sign_in().await.unwrap();
    let second = read_kept(&login.vault, "k").await.unwrap().unwrap();
    assert_eq!(first.entry.redirect, second.entry.redirect);
    assert_eq!(login.host.count("POST /register"), 1);
}

/// Where its port is taken, Creance registers again, with one that is free.
#[tokio::test]
async fn a_taken_port_registers_again() {
    let login = plain_login();
    login.sign_in().await.unwrap();
    login.browser.opened.lock().unwrap().clear();
    let kept = read_kept(&login.vault, "k").await.unwrap().unwrap();
    let port: u16 = kept
        .entry
        .redirect
        .rsplit(':')
        .next()
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    login.sign_in().await.unwrap();
    assert_eq!(login.host.count("POST /register"), 2);
    let again = read_kept(&login.vault, "k").await.unwrap().unwrap();
    assert_ne!(kept.entry.redirect, again.entry.redirect);
    assert_eq!(
        login.asked("redirect_uri").as_deref(),
        Some(again.entry.redirect.as_str())
    );
}

#[tokio::test]
async fn a_no_shows_its_short_code_alone() {
    let login = plain_login();
    login.host.change(|routes| {
        routes[3] = json!({"path": "/authorize", "authorize": {"error": "access_denied"}})
    });
    let error = login.sign_in().await.unwrap_err();
    assert_eq!(error.trouble, Trouble::Refused);
    assert_eq!(
        error.to_string(),
        "the sign-in server said no: access_denied"
    );
    assert_eq!(login.token().await, None);
}

/// Another state is not ours: it gets 400, and the waiting goes on.
#[tokio::test]
async fn another_state_is_told_so_and_the_waiting_goes_on() {
    let login = plain_login();
    login.host.change(|routes| {
        routes[3] = json!({"path": "/authorize", "authorize": {"state": "other"}})
    });
    let web = Arc::new(login.host.clone());
    let prospect = prospect(web, &login.vault, login.wanted.clone())
        .await
        .unwrap();
    let (sender, page) = std::sync::mpsc::channel();
    let browser = Arc::new(login.browser.clone());
    let vault = login.vault.clone();
    let signing = tokio::spawn(async move {
        let show = move |page: &str| sender.send(page.to_owned()).unwrap();
        prospect.sign_in(&vault, (browser, &show), clock).await
    });
    let page = tokio::task::spawn_blocking(move || page.recv().unwrap())
        .await
        .unwrap();
    let pairs = super::super::query::pairs(page.split_once('?').unwrap().1).unwrap();
    let of = |name: &str| super::super::query::value(&pairs, name).unwrap().to_owned();
    let (redirect, state) = (of("redirect_uri"), of("state"));
    let strays = [
        (format!("{redirect}?code=c&state=wrong"), "400"),
        (format!("{redirect}?error=access_denied&state=wrong"), "400"),
        (format!("{redirect}?code=c"), "400"),
        (
            format!("{redirect}?code=c&state={state}&state={state}"),
            "400",
        ),
        (redirect.replace("/callback", "/favicon.ico"), "404"),
    ];
    tokio::task::spawn_blocking(move || {
        for (url, want) in strays {
            let said = visit(&url);
            assert!(
                said.starts_with(&format!("HTTP/1.1 {want} ")),
                "{url}: {said}"
            );
        }
        assert!(visit(&format!("{redirect}?code=c1&state={state}")).contains("Signed in"));
    })
    .await
    .unwrap();
    signing.await.unwrap().unwrap();
    assert_eq!(login.token().await.as_deref(), Some("at-0"));
}

/// An answer that names another sign-in server is used for nothing, and its error is not shown.
#[tokio::test]
async fn another_issuer_is_refused() {
    for page in [
        json!({"iss": "http://127.0.0.1:8"}),
        json!({"iss": "{{BASE}}/"}),
        json!({"iss": "http://127.0.0.1:8", "error": "access_denied"}),
    ] {
        let login = plain_login();
        login
            .host
            .change(|routes| routes[3] = json!({"path": "/authorize", "authorize": page}));
        let error = login.sign_in().await.unwrap_err();
        assert_eq!(error.trouble, Trouble::Foreign, "{error}");
        assert!(!error.to_string().contains("access_denied"), "{error}");
        assert_eq!(login.host.count("POST /token"), 0);
    }
    let login = plain_login();
    login.host.change(|routes| {
        routes[3] = json!({"path": "/authorize", "authorize": {"iss": "{{BASE}}"}})
    });
    login.sign_in().await.unwrap();
    // One that says that it always names itself, and does not.
    let login = plain_login();
    login.host.change(|routes| {
        description(routes)["authorization_response_iss_parameter_supported"] = json!(true);
    });
    assert_eq!(login.sign_in().await.unwrap_err().trouble, Trouble::Foreign);
}

/// A description that changes while somebody signs in is not gone on with.
#[tokio::test]
async fn what_was_found_is_compared_when_the_answer_comes() {
    let login = plain_login();
    let web = Arc::new(login.host.clone());
    let prospect = prospect(web, &login.vault, login.wanted.clone())
        .await
        .unwrap();
    login
        .host
        .change(|routes| description(routes)["token_endpoint"] = json!("{{BASE}}/token2"));
    let browser = Arc::new(login.browser.clone());
    let error = prospect
        .sign_in(&login.vault, (browser, &|_| ()), clock)
        .await
        .unwrap_err();
    assert_eq!(error.trouble, Trouble::Foreign, "{error}");
    assert_eq!(
        login.host.count("POST /token") + login.host.count("POST /token2"),
        0
    );
}

/// More scopes: those that are there and the new ones.
#[tokio::test]
async fn a_step_up_asks_for_old_and_new() {
    let mut login = plain_login();
    login.sign_in().await.unwrap();
    login.browser.opened.lock().unwrap().clear();
    let challenge = r#"Bearer error="insufficient_scope", scope="files:write", resource_metadata="http://127.0.0.1:8009/.well-known/oauth-protected-resource/mcp""#;
    let refusal = login
        .tokens(clock)
        .refused(403, &[challenge.to_owned()])
        .await
        .unwrap();
    let Refusal::More(more) = refusal else {
        panic!("{refusal:?}");
    };
    assert_eq!(more, ["files:write"]);
    login.wanted.more = more;
    login.wanted.challenge = Some(challenge.to_owned());
    login.sign_in().await.unwrap();
    assert_eq!(
        login.asked("scope").as_deref(),
        Some("files:read files:write")
    );
}

/// What is known at one sign-in server is not used at another.
#[tokio::test]
async fn another_sign_in_server_knows_nothing_of_the_first() {
    let login = plain_login();
    login.sign_in().await.unwrap();
    login.browser.opened.lock().unwrap().clear();
    login.host.change(|routes| {
        routes[0]["json"]["authorization_servers"] = json!(["{{BASE}}/b"]);
        let mut other = routes[1].clone();
        other["path"] = json!("/.well-known/oauth-authorization-server/b");
        other["json"]["issuer"] = json!("{{BASE}}/b");
        routes.push(other);
    });
    login.sign_in().await.unwrap();
    assert_eq!(login.host.count("POST /register"), 2);
}

/// Registered by hand before a document, a document before a registration.
#[tokio::test]
async fn the_ways_of_being_known_in_their_order() {
    let mut login = plain_login();
    login.host.change(|routes| {
        description(routes)["client_id_metadata_document_supported"] = json!(true)
    });
    login.wanted.client.document = Some("https://client.example/creance.json".to_owned());
    login.sign_in().await.unwrap();
    assert_eq!(
        login.asked("client_id").as_deref(),
        Some("https://client.example/creance.json")
    );
    login.browser.opened.lock().unwrap().clear();
    login.wanted.client.id = Some("by-hand".to_owned());
    login.wanted.client.secret = Some("s3cret".to_owned());
    login.sign_in().await.unwrap();
    assert_eq!(login.asked("client_id").as_deref(), Some("by-hand"));
    assert_eq!(login.host.count("POST /register"), 0);
    let token = login
        .host
        .log()
        .into_iter()
        .rfind(|seen| seen.what == "POST /token")
        .unwrap();
    assert!(token.fields.contains_key("authorization"), "{token:?}");
}

#[tokio::test]
async fn no_tokens_but_such_as_can_be_sent() {
    for token in [
        json!({"access_token": "a b", "token_type": "Bearer"}),
        json!({"access_token": "a\r\nx: y", "token_type": "Bearer"}),
        json!({"access_token": "", "token_type": "Bearer"}),
        json!({"access_token": "a", "token_type": "mac"}),
        json!({"error": "server_error"}),
    ] {
        let login = plain_login();
        login
            .host
            .change(|routes| routes[4]["json"] = token.clone());
        let error = login.sign_in().await.unwrap_err();
        assert_eq!(error.trouble, Trouble::Refused, "{token}: {error}");
        assert_eq!(login.token().await, None);
    }
}

/// Without a description of the server there may be one of a sign-in server in its place (2025-03-26).
#[tokio::test]
async fn a_server_that_is_its_own_sign_in_server() {
    let login: Login = plain_login();
    login
        .host
        .change(|routes| routes[0]["path"] = json!("/elsewhere"));
    login.sign_in().await.unwrap();
    assert_eq!(login.asked("resource"), Some(format!("{BASE}/mcp")));
    // What the sign-in server could grant is not what the server asks for.
    assert_eq!(login.asked("scope"), None);
}
