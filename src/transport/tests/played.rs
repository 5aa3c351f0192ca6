//! Connections to scripted servers; each test is named after its case in `tests/cases`.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::super::*;
use super::play::{CLIENT, LIMIT, params, play, started, text};
use crate::protocol::json::{Json, Object, read};

/// Banners, blank lines and JSON that is no JSON-RPC cost nothing but themselves.
#[tokio::test]
async fn mcp_01_stray_lines_are_set_aside_and_counted() {
    let Some(mut played) = started("MCP-01.server.jsonl").await else {
        return;
    };
    assert_eq!(played.names().await, ["hello"]);
    assert_eq!(text(&played.call("hello", "{}").await.unwrap()), "hi");
    let mut strays = 0;
    let mut samples = Vec::new();
    while strays < 6 {
        if let Some(UpstreamEvent::Stray { count, sample }) = played.events.next().await {
            strays += count;
            samples.push(sample);
        }
    }
    // Banner, handshake note, half a list, debug object, null, 42.
    assert_eq!(strays, 6);
    assert_eq!(samples[0], "Demo Server v1.2.3 ready ✅");
}

/// Letters that are cut between two reads arrive whole; a note in another encoding costs itself.
#[tokio::test]
async fn mcp_03_letters_stay_whole() {
    let Some(mut played) = started("MCP-03.server.jsonl").await else {
        return;
    };
    let slow = played.call("slow", "{}").await.unwrap();
    assert_eq!(text(&slow), "naïve — 日本語 🚀 řeka");
    let after = played.call("gbk", "{}").await.unwrap();
    assert_eq!(text(&after), "after");
    assert_eq!(played.events.next().await, Some(UpstreamEvent::Mended(1)));
    let Some(UpstreamEvent::Note(note)) = played.events.next().await else {
        panic!("the mended note is passed on");
    };
    assert_eq!(note.method, "notifications/message");
}

/// A server that logs more than a pipe holds goes on; only the tail of its log is kept.
#[tokio::test]
async fn mcp_04_stderr_is_drained() {
    let Some(played) = started("MCP-04.server.jsonl").await else {
        return;
    };
    for _ in 0..2 {
        assert_eq!(text(&played.call("hello", "{}").await.unwrap()), "ok");
    }
    played.upstream.close_input();
    while !played.upstream.is_closed() {
        tokio::task::yield_now().await;
    }
    let tail = played.upstream.stderr_tail();
    assert!(
        tail.ends_with("\u{1b}[31mred\u{1b}[0m last line\n"),
        "{tail:?}"
    );
    assert!(tail.len() <= 16 * 1024 && tail.lines().count() <= 40);
}

/// A call ends when its server does, with the exit code and the last words; so do later ones.
#[tokio::test]
async fn mcp_05_a_dying_server_fails_its_calls_at_once() {
    let Some(mut played) = started("MCP-05.server.jsonl").await else {
        return;
    };
    let start = Instant::now();
    let want = CallError::Closed("the server stopped: exit status: 9".to_owned());
    assert_eq!(played.call("bye", "{}").await, Err(want.clone()));
    assert_eq!(played.upstream.stderr_tail(), "fatal: out of cheese\n");
    assert_eq!(played.call("bye", "{}").await, Err(want.clone()));
    assert!(start.elapsed() < Duration::from_secs(5));
    let closed = UpstreamEvent::Closed(want.to_string());
    assert_eq!(played.events.next().await, Some(closed));
    assert_eq!(played.events.next().await, None);
}

/// A slow start is a timeout with its limit named, and the connection can still be used.
#[tokio::test]
async fn mcp_08_a_slow_start_times_out_and_is_told() {
    let Some(played) = play("MCP-08.server.jsonl") else {
        return;
    };
    let limit = Duration::from_millis(200);
    let slow = played.upstream.initialize(CLIENT, limit).await;
    assert_eq!(slow, Err(CallError::Timeout(limit)));
    assert!(!played.upstream.is_closed());
}

/// Progress keeps a slow call alive and comes back under the caller's own token, 0 too.
#[tokio::test]
async fn mcp_20_progress_restarts_the_limit() {
    let (zero, text) = tokio::join!(first_report("0"), first_report("\"p\""));
    let want = |token| {
        Some(format!(
            r#"{{"progressToken":{token},"progress":1,"total":6}}"#
        ))
    };
    if zero.is_some() {
        assert_eq!(zero, want("0"));
        assert_eq!(text, want("\"p\""));
    }
}

/// Makes a call that takes twice its limit; the first of its six reports.
async fn first_report(token: &str) -> Option<String> {
    let played = started("MCP-20.server.jsonl").await?;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let report = Report::new(move |params: Object| {
        sink.lock().unwrap().push(Json::Object(params).to_string());
    });
    let options = CallOptions {
        hard_max: LIMIT,
        progress: Progress::Report {
            token: read(token.as_bytes()).unwrap().json,
            report,
        },
        ..CallOptions::within(Duration::from_secs(2))
    };
    let params = params(&format!(
        r#"{{"name":"long","arguments":{{}},"_meta":{{"progressToken":{token},"x":1}}}}"#
    ));
    let result = played.upstream.request("tools/call", params, options).await;
    assert_eq!(text(&result.unwrap()), "done");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 6);
    seen.first().cloned()
}
