//! What the SDK leaves open, each closed: by number as the design counts them.

use std::time::Duration;

use rmcp::transport::auth::{StateStore, StoredAuthorizationState};
use serde_json::{Value, json};

use super::super::endpoint::Ground;
use super::super::error::Trouble;
use super::super::sdk::{OneState, quiet};
use super::super::tokens::read_kept;
use super::login::{Login, clock, description, plain_login};
use super::play::BASE;

/// Signs in where the sign-in server's description was changed; why it does not work.
async fn refused(change: impl FnOnce(&mut Value)) -> String {
    let login = plain_login();
    login.host.change(|routes| change(description(routes)));
    let error = login.sign_in().await.unwrap_err();
    assert_eq!(error.trouble, Trouble::Description, "{error}");
    assert_eq!(
        (login.host.count("POST /register"), login.opened()),
        (0, 0),
        "{error}"
    );
    error.to_string()
}

#[tokio::test]
async fn gap_1_without_pkce_nobody_signs_in() {
    let absent = |told: &mut Value| {
        told.as_object_mut()
            .unwrap()
            .remove("code_challenge_methods_supported");
    };
    assert!(refused(absent).await.contains("PKCE"));
    assert!(
        refused(|told| told["code_challenge_methods_supported"] = json!(["plain"]))
            .await
            .contains("PKCE")
    );
    assert!(
        refused(|told| told["code_challenge_methods_supported"] = json!([]))
            .await
            .contains("PKCE")
    );
}

#[tokio::test]
async fn gap_2_every_address_of_the_sign_in_server_is_judged() {
    for name in [
        "authorization_endpoint",
        "token_endpoint",
        "registration_endpoint",
    ] {
        for url in [
            "javascript:alert(1)",
            "http://login.example/x",
            "file:///etc/passwd",
            "https://a@b.example/",
        ] {
            let said = refused(|told| told[name] = json!(url)).await;
            assert!(said.contains(name), "{said}");
        }
    }
}

#[tokio::test]
async fn gap_3_an_error_of_another_server_is_not_shown() {
    let login = plain_login();
    let page = json!({"error": "access_denied", "iss": "https://evil.example"});
    login
        .host
        .change(|routes| routes[3] = json!({"path": "/authorize", "authorize": page}));
    let error = login.sign_in().await.unwrap_err();
    assert_eq!(error.trouble, Trouble::Foreign);
}

#[tokio::test]
async fn gap_4_a_code_of_another_server_is_not_exchanged() {
    let login = plain_login();
    login.host.change(|routes| {
        routes[3] = json!({"path": "/authorize", "authorize": {"iss": "https://evil.example"}})
    });
    assert_eq!(login.sign_in().await.unwrap_err().trouble, Trouble::Foreign);
    assert_eq!(login.host.count("POST /token"), 0);
}

#[tokio::test]
async fn gap_5_the_secret_of_a_registration_is_kept() {
    let login = plain_login();
    login.host.change(|routes| {
        routes[2]["register"] = json!({"client_id": "dyn-1", "client_secret": "s3cret"})
    });
    login.sign_in().await.unwrap();
    let kept = read_kept(&login.vault, "k").await.unwrap().unwrap();
    assert_eq!(kept.secrets.client.as_deref(), Some("s3cret"));
    login.browser.opened.lock().unwrap().clear();
    login.sign_in().await.unwrap();
    let last = login
        .host
        .log()
        .into_iter()
        .rfind(|seen| seen.what == "POST /token")
        .unwrap();
    // Basic dyn-1:s3cret
    assert_eq!(last.fields["authorization"], "Basic ZHluLTE6czNjcmV0");
}

#[tokio::test]
async fn gap_6_names_of_sign_in_servers_are_compared_to_the_letter() {
    for own in [
        format!("{BASE}/"),
        "HTTP://127.0.0.1:8009".to_owned(),
        "http://127.0.0.1:08009".to_owned(),
    ] {
        let said = refused(|told| told["issuer"] = json!(own)).await;
        assert!(said.contains(&own), "{said}");
    }
}

#[tokio::test]
async fn gap_7_nothing_is_asked_for_that_the_server_does_not_want() {
    let login = plain_login();
    login.host.change(|routes| {
        routes[0]["json"]
            .as_object_mut()
            .unwrap()
            .remove("scopes_supported");
    });
    login.sign_in().await.unwrap();
    assert_eq!(login.asked("scope"), None);
    // What the configuration says is all that is asked for.
    let mut login = plain_login();
    login
        .host
        .change(|routes| description(routes)["scopes_supported"] = json!(["offline_access"]));
    login.wanted.client.scopes = vec!["files:read".to_owned()];
    login.sign_in().await.unwrap();
    assert_eq!(login.asked("scope").as_deref(), Some("files:read"));
}

#[tokio::test]
async fn gap_8_no_address_is_guessed() {
    let login = plain_login();
    login.host.change(|routes| {
        routes[0]["path"] = json!("/a");
        routes[1]["path"] = json!("/b");
    });
    let error = login.sign_in().await.unwrap_err();
    assert!(error.to_string().contains("does not say where"), "{error}");
    assert_eq!((login.host.count("POST /register"), login.opened()), (0, 0));
}

#[tokio::test]
async fn gap_9_of_several_sign_in_servers_the_user_chooses() {
    let several = |login: &Login| {
        login.host.change(|routes| {
            routes[0]["json"]["authorization_servers"] = json!(["https://a.example", "{{BASE}}"]);
        });
    };
    let mut login = plain_login();
    several(&login);
    let error = login.sign_in().await.unwrap_err().to_string();
    assert!(
        error.contains("https://a.example") && error.contains("\"issuer\""),
        "{error}"
    );
    login.wanted.client.issuer = Some(BASE.to_owned());
    login.sign_in().await.unwrap();
    let mut login = plain_login();
    login.wanted.client.issuer = Some("https://b.example".to_owned());
    let error = login.sign_in().await.unwrap_err().to_string();
    assert!(error.contains("https://b.example"), "{error}");
}

#[tokio::test]
async fn gap_10_a_state_ends() {
    let state = || -> StoredAuthorizationState {
        serde_json::from_value(json!({"pkce_verifier": "v", "csrf_token": "s", "created_at": 0}))
            .unwrap()
    };
    let lasting = OneState::new(Duration::from_secs(60));
    lasting.save("s", state()).await.unwrap();
    assert!(lasting.load("s").await.unwrap().is_some());
    assert!(lasting.load("t").await.unwrap().is_none());
    lasting.delete("s").await.unwrap();
    assert!(lasting.load("s").await.unwrap().is_none());
    let ended = OneState::new(Duration::ZERO);
    ended.save("s", state()).await.unwrap();
    assert!(ended.load("s").await.unwrap().is_none());
}

/// A token that still holds is handed out while somebody renews it.
#[tokio::test]
async fn gap_11_who_renews_holds_nobody_up() {
    let login = plain_login();
    login.sign_in().await.unwrap();
    // Ten seconds before its end.
    let tokens = login.tokens(|| clock() + 3_590_000);
    tokens.take_up().await;
    let turn = tokens.hold_the_turn().await;
    assert_eq!(tokens.token().await.unwrap().as_deref(), Some("at-0"));
    drop(turn);
    assert_eq!(login.host.count("POST /token"), 1);
}

#[tokio::test]
async fn gap_12_nobody_hears_the_events_of_the_sdk() {
    use std::sync::{Arc, Mutex};
    use tracing::{Event, Metadata, Subscriber, span};

    #[derive(Clone, Default)]
    struct Heard(Arc<Mutex<Vec<String>>>);
    impl Subscriber for Heard {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, event: &Event<'_>) {
            self.0
                .lock()
                .unwrap()
                .push(event.metadata().target().to_owned());
        }
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }
    let heard = Heard::default();
    let guard = tracing::subscriber::set_default(heard.clone());
    tracing::warn!("heard");
    quiet(async { tracing::warn!("not heard") }).await;
    let login = plain_login();
    login.sign_in().await.unwrap();
    drop(guard);
    let heard = heard.0.lock().unwrap();
    let of_sdk = heard
        .iter()
        .filter(|target| target.starts_with("rmcp"))
        .count();
    assert_eq!((!heard.is_empty(), of_sdk), (true, 0), "{heard:?}");
}

#[tokio::test]
async fn gap_13_discovery_names_the_newest_revision() {
    let login = plain_login();
    login.sign_in().await.unwrap();
    let log = login.host.log();
    let named: Vec<&String> = log
        .iter()
        .filter_map(|seen| seen.fields.get("mcp-protocol-version"))
        .collect();
    assert!(
        !named.is_empty() && named.iter().all(|revision| *revision == "2026-07-28"),
        "{named:?}"
    );
}

/// A token is for one server: whose address changes has none.
#[tokio::test]
async fn gap_14_a_token_goes_to_its_own_server_alone() {
    let mut login = plain_login();
    login.sign_in().await.unwrap();
    login.wanted.url = format!("{BASE}/other");
    assert_eq!(login.token().await, None);
    login.wanted.ground = Ground::Public;
    login.wanted.url = format!("{BASE}/mcp");
    let error = login.sign_in().await.unwrap_err();
    assert_eq!(error.trouble, Trouble::Description, "{error}");
}
