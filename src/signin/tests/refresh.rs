//! Tokens that end, and who renews them.

use std::sync::Arc;

use serde_json::json;

use super::super::error::Trouble;
use super::super::tokens::{Refusal, Tokens, more_scope, read_kept};
use super::login::{Login, clock, plain_login};

/// An hour later.
fn later() -> i64 {
    clock() + 3_600_000
}

/// Signed in at a server whose refresh tokens are good for one exchange.
async fn signed_in() -> Login {
    let login = Login::case("OA-06.http.json");
    login.host.change(|routes| {
        routes.push(json!({"path": "/authorize", "authorize": {}}));
        routes.push(json!({"method": "POST", "path": "/token", "json": {
            "access_token": "at-old", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt-0"}}));
    });
    login.sign_in().await.unwrap();
    assert_eq!(login.host.count("POST /token"), 1);
    login
}

async fn together(tokens: &[Arc<Tokens>], times: usize) -> Vec<Option<String>> {
    let mut tasks = tokio::task::JoinSet::new();
    for tokens in tokens {
        for _ in 0..times {
            let tokens = Arc::clone(tokens);
            tasks.spawn(async move { tokens.token().await.unwrap() });
        }
    }
    tasks.join_all().await
}

/// OA-06: five calls at once, then two processes with five each: one exchange for each end.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn oa_06_one_renews_for_all() {
    let login = signed_in().await;
    let one = [Arc::new(login.tokens(later))];
    let got = together(&one, 5).await;
    assert_eq!(got, vec![Some("at-1".to_owned()); 5]);
    assert_eq!(login.host.count("POST /token"), 2);
    // Each has its own memory and its own handle of the lock, as two processes have.
    let later_still = || clock() + 7_200_000;
    let two = [
        Arc::new(login.tokens(later_still)),
        Arc::new(login.tokens(later_still)),
    ];
    let got = together(&two, 5).await;
    assert_eq!(got, vec![Some("at-2".to_owned()); 10]);
    assert_eq!(login.host.count("POST /token"), 3);
}

/// A token that is refused before its end is renewed once, also for calls that went out with it.
#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let login = signed_in().await;
    let tokens = login.tokens(clock);
    assert_eq!(tokens.token().await.unwrap().as_deref(), Some("at-old"));
    // It was taken into use long ago.
    tokens.age();
    for _ in 0..3 {
        assert_eq!(tokens.refused(401, &[]).await.unwrap(), Refusal::Again);
    }
    assert_eq!(tokens.token().await.unwrap().as_deref(), Some("at-1"));
    assert_eq!(login.host.count("POST /token"), 2);
    // Another process that was refused finds it in its place.
    let other = login.tokens(clock);
    assert_eq!(other.token().await.unwrap().as_deref(), Some("at-1"));
}

/// A refresh token that is spent ends the sign-in; who Creance is there stays known.
#[tokio::test]
async fn a_spent_refresh_token_ends_the_sign_in() {
    let login = signed_in().await;
    let mut kept = read_kept(&login.vault, "k").await.unwrap().unwrap();
    kept.secrets.refresh = Some("rt-stolen".to_owned());
    super::super::tokens::write_kept(&login.vault, "k", kept)
        .await
        .unwrap();
    let tokens = login.tokens(later);
    let error = tokens.token().await.unwrap_err();
    assert_eq!(error.trouble, Trouble::NotSignedIn);
    assert_eq!(tokens.refused(401, &[]).await.unwrap(), Refusal::SignIn);
    let kept = read_kept(&login.vault, "k").await.unwrap().unwrap();
    assert_eq!((kept.secrets.access, kept.secrets.refresh), (None, None));
    assert_eq!(kept.entry.client_id, "dyn-1");
}

/// The exchange goes where it went at the sign-in, and by what was said then: no description is read again.
#[tokio::test]
async fn renewing_asks_nobody_for_directions() {
    let login = signed_in().await;
    let before = login.host.log().len();
    login.host.change(|routes| {
        routes.retain(|route| route["path"] != "/.well-known/oauth-authorization-server")
    });
    assert_eq!(
        login.tokens(later).token().await.unwrap().as_deref(),
        Some("at-1")
    );
    let log = login.host.log();
    assert_eq!(log.len(), before + 1);
    assert_eq!(log[before].form["resource"], "http://127.0.0.1:8009/mcp");
}

#[tokio::test]
async fn without_a_refresh_token_somebody_signs_in_again() {
    let login = plain_login();
    login.host.change(|routes| {
        routes[4]["json"]
            .as_object_mut()
            .unwrap()
            .remove("refresh_token");
    });
    login.sign_in().await.unwrap();
    let error = login.tokens(later).token().await.unwrap_err();
    assert_eq!(error.trouble, Trouble::NotSignedIn);
}

#[tokio::test]
async fn signing_out_forgets() {
    let login = plain_login();
    login.sign_in().await.unwrap();
    assert!(super::super::forget(&login.vault, "k").await.unwrap());
    assert_eq!(login.token().await, None);
    assert!(!super::super::forget(&login.vault, "k").await.unwrap());
}

#[test]
fn challenges_are_read() {
    let check = |text: &str, want: Option<&[&str]>| {
        let want = want.map(|scopes| scopes.iter().map(|scope| (*scope).to_owned()).collect());
        assert_eq!(more_scope(text), want, "{text}");
    };
    check(
        r#"Bearer error="insufficient_scope", scope="a b""#,
        Some(&["a", "b"]),
    );
    check("Bearer error=insufficient_scope,scope=a", Some(&["a"]));
    check(
        r#"Bearer scope="a\"b", Error="insufficient_scope""#,
        Some(&["a\"b"]),
    );
    check(r#"Bearer error="insufficient_scope""#, Some(&[]));
    check(r#"Bearer error="invalid_token", scope="a""#, None);
    check(
        r#"Bearer error_description="error=insufficient_scope""#,
        None,
    );
    check("", None);
}
