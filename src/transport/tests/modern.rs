//! Servers of the modern era: how they are found, and rounds of input.

use super::super::*;
use super::piped::{LIMIT, Server, connect};
use super::play::CLIENT;
use crate::protocol::json::{Json, Object, read};
use crate::protocol::mcp::{Era, LogLevel, Revision};

fn json(text: &str) -> Json {
    read(text.as_bytes()).unwrap().json
}

const FOUND: &str =
    r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}"#;

/// Answers the next request with a result; what was asked.
async fn answers(server: &mut Server, result: &str) -> Json {
    let asked = json(&server.line().await);
    let id = asked.get("id").unwrap();
    server
        .say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ))
        .await;
    asked
}

/// A server that was found to be modern.
async fn modern() -> (Upstream, UpstreamEvents, Server) {
    let (upstream, events, mut server) = connect();
    let greeting = upstream.clone();
    let greet = tokio::spawn(async move { greeting.greet(CLIENT, Known::Nothing, LIMIT).await });
    let asked = answers(&mut server, FOUND).await;
    assert_eq!(
        asked.get("params").unwrap().to_string(),
        r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"creance","version":"0"}}}"#
    );
    let hello = greet.await.unwrap().unwrap();
    assert_eq!(hello.era, Era::Modern);
    assert!(hello.offers("tools") && !hello.offers("prompts"));
    (upstream, events, server)
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_a_legacy_one() {
    let (upstream, _events, mut server) = connect();
    let greeting = upstream.clone();
    let greet = tokio::spawn(async move { greeting.greet(CLIENT, Known::Nothing, LIMIT).await });
    let probe = json(&server.line().await);
    assert_eq!(
        probe.get("method").and_then(Json::as_str),
        Some("server/discover")
    );
    let asked = answers(
        &mut server,
        r#"{"protocolVersion":"2024-11-05","capabilities":{}}"#,
    )
    .await;
    assert_eq!(
        asked.get("method").and_then(Json::as_str),
        Some("initialize")
    );
    let hello = greet.await.unwrap().unwrap();
    assert_eq!(hello.era, Era::Legacy(Revision::V2024_11_05));
    // The next thing that it hears ends the handshake: the probe is not cancelled before.
    let next = json(&server.line().await);
    assert_eq!(
        next.get("method").and_then(Json::as_str),
        Some("notifications/initialized")
    );
    assert!(!upstream.is_modern());
}

#[tokio::test(start_paused = true)]
async fn a_call_is_repeated_with_what_was_asked_for_and_the_exact_state() {
    let (upstream, _events, mut server) = modern().await;
    upstream.want_logs(LogLevel::Error);
    let calling = upstream.clone();
    let call = tokio::spawn(async move {
        let params = json(r#"{"name":"a","_meta":{"own":1.0}}"#)
            .as_object()
            .cloned();
        let options = CallOptions::within(LIMIT);
        calling.request("tools/call", params, options).await
    });
    let state = r#"" é\u0000\"x ""#;
    let wants = format!(
        r#"{{"resultType":"input_required","inputRequests":{{"k":{{"method":"ping"}}}},"requestState":{state}}}"#
    );
    let first = answers(&mut server, &wants).await;
    let second = answers(
        &mut server,
        r#"{"resultType":"complete","x":1,"content":[],"ttlMs":5}"#,
    )
    .await;
    assert_ne!(first.get("id"), second.get("id"));
    let params = second.get("params").unwrap();
    assert_eq!(params.get("name").and_then(Json::as_str), Some("a"));
    assert_eq!(
        params.get("inputResponses").unwrap().to_string(),
        r#"{"k":{}}"#
    );
    assert_eq!(params.get("requestState"), Some(&json(state)));
    let meta = params.get("_meta").unwrap();
    assert_eq!(meta.get("own").unwrap().to_string(), "1.0");
    assert_eq!(
        meta.get("io.modelcontextprotocol/logLevel")
            .and_then(Json::as_str),
        Some("error")
    );
    let result = call.await.unwrap().unwrap();
    assert_eq!(result.to_string(), r#"{"x":1,"content":[]}"#);
}

/// What a server may ask back is not accounted for here.
struct Nobody;

impl Account for Nobody {
    fn begin(&self, _: &Cancel) -> Box<dyn Send> {
        Box::new(())
    }

    fn origin(&self) -> Origin {
        Origin::default()
    }
}

fn ask(
    upstream: &Upstream,
    method: &'static str,
) -> tokio::task::JoinHandle<Result<Json, CallError>> {
    let calling = upstream.clone();
    tokio::spawn(async move {
        let options = CallOptions::within(LIMIT);
        calling.request(method, None, options).await
    })
}

/// A result that wants so many forms.
fn forms(count: usize) -> String {
    let form = |at: usize| format!(r#""k{at}":{{"method":"elicitation/create","params":{{}}}}"#);
    let forms: Vec<String> = (0..count).map(form).collect();
    let forms = forms.join(",");
    format!(r#"{{"resultType":"input_required","inputRequests":{{{forms}}}}}"#)
}

/// Only what works for somebody may ask: a list may not.
#[tokio::test(start_paused = true)]
async fn a_list_asks_nobody() {
    let (upstream, _events, mut server) = modern().await;
    let mut inbox = upstream.asks.listen(Object::default(), Nobody);
    let call = ask(&upstream, "prompts/list");
    answers(&mut server, &forms(1)).await;
    let error = call.await.unwrap().unwrap_err().to_string();
    assert!(
        error.contains("asks for input before it answers `prompts/list`"),
        "{error}"
    );
    assert!(inbox.try_recv().is_err(), "somebody is asked");
}

/// Where one question is refused, the call fails, and the others are withdrawn.
#[tokio::test(start_paused = true)]
async fn questions_end_with_their_call() {
    let (upstream, _events, mut server) = modern().await;
    let mut inbox = upstream.asks.listen(Object::default(), Nobody);
    let call = ask(&upstream, "tools/call");
    answers(&mut server, &forms(2)).await;
    let (Some(Asked::Request(one)), Some(Asked::Request(other))) =
        (inbox.recv().await, inbox.recv().await)
    else {
        panic!("no questions");
    };
    assert_eq!(
        (one.key.as_deref(), other.key.as_deref()),
        (Some("k0"), Some("k1"))
    );
    assert!(!other.cancel.is_cancelled());
    drop(one);
    let error = call.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("nobody answers this here"), "{error}");
    assert!(other.cancel.is_cancelled());
}

/// So many questions wait at once, of all calls together; what was answered waits no more.
#[tokio::test(start_paused = true)]
async fn questions_of_calls_are_bounded() {
    let (upstream, _events, mut server) = modern().await;
    let mut inbox = upstream.asks.listen(Object::default(), Nobody);
    let mut waiting = Vec::new();
    for _ in 0..2 {
        waiting.push(ask(&upstream, "tools/call"));
        answers(&mut server, &forms(16)).await;
    }
    let mut held = Vec::new();
    while held.len() < 32 {
        held.push(inbox.recv().await.unwrap());
    }
    let call = ask(&upstream, "tools/call");
    answers(&mut server, &forms(1)).await;
    let error = call.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("requests at once"), "{error}");
    held.clear();
    let _next = ask(&upstream, "tools/call");
    answers(&mut server, &forms(1)).await;
    assert!(inbox.recv().await.is_some());
}

/// A server that refuses the revision and names it all the same is asked once more.
#[tokio::test(start_paused = true)]
async fn a_revision_that_is_refused_and_spoken_is_asked_for_again() {
    let (upstream, _events, mut server) = connect();
    let greeting = upstream.clone();
    let greet = tokio::spawn(async move { greeting.greet(CLIENT, Known::Nothing, LIMIT).await });
    let asked = json(&server.line().await);
    let id = asked.get("id").unwrap();
    let refused = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"no","data":{{"supported":["2026-07-28"]}}}}}}"#
    );
    server.say(&refused).await;
    answers(&mut server, FOUND).await;
    assert_eq!(greet.await.unwrap().unwrap().era, Era::Modern);
}
