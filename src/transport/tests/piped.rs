//! The relay against streams in memory, with a clock that jumps.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};

use super::super::*;
use crate::protocol::json::{Json, MESSAGE_MAX, Object, read};

/// The server's side of the pipes.
pub(super) struct Server {
    reads: BufReader<DuplexStream>,
    writes: DuplexStream,
}

impl Server {
    /// The next line that the relay sends.
    pub(super) async fn line(&mut self) -> String {
        let mut line = String::new();
        self.reads.read_line(&mut line).await.unwrap();
        line
    }

    pub(super) async fn say(&mut self, line: &str) {
        self.writes.write_all(line.as_bytes()).await.unwrap();
        self.writes.write_all(b"\n").await.unwrap();
    }
}

pub(super) fn connect() -> (Upstream, UpstreamEvents, Server) {
    let (stdin, reads) = duplex(1 << 20);
    let (writes, stdout) = duplex(1 << 20);
    let (upstream, events) = Upstream::connect(
        stdin,
        stdout,
        tokio::io::empty(),
        CloseHook::new(async { String::new() }),
    );
    let reads = BufReader::new(reads);
    (upstream, events, Server { reads, writes })
}

pub(super) const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn ask(
    upstream: &Upstream,
    options: CallOptions,
) -> tokio::task::JoinHandle<Result<Json, CallError>> {
    let upstream = upstream.clone();
    tokio::spawn(async move { upstream.request("tools/call", None, options).await })
}

fn json(text: &str) -> Json {
    read(text.as_bytes()).unwrap().json
}

#[track_caller]
pub(super) fn reply(got: &Result<Json, CallError>, want: &str) {
    let got = match got {
        Ok(json) => json.to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(got, want);
}

/// Says a line while one call waits; wants how that call ends.
async fn check(line: &str, want: &str) {
    let (upstream, _events, mut server) = connect();
    let call = ask(&upstream, CallOptions::within(LIMIT));
    server.line().await;
    server.say(line).await;
    reply(&call.await.unwrap(), want);
}

#[tokio::test(start_paused = true)]
async fn answers_in_odd_clothes_never_leave_a_call_hanging() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"b":1.0,"a":1e400}}"#,
        r#"{"b":1.0,"a":1e400}"#,
    )
    .await;
    check(r#"{"jsonrpc":"2.0","id":"1","result":1}"#, "1").await;
    check(
        r#"{"jsonrpc":"2.0","id":1.0,"result":1}"#,
        "the answer cannot be used: `id` must be a string or a whole number",
    )
    .await;
    check(r#"[{"jsonrpc":"2.0","id":1,"result":1}]"#, "1").await;
    check("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\r", "1").await;
    check(
        r#"{"id":1,"result":1}"#,
        "the answer cannot be used: `jsonrpc` must be \"2.0\"",
    )
    .await;
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}"#,
        "the answer cannot be used: only one of `method`, `result` and `error` may be there",
    )
    .await;
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#,
        "the answer cannot be used: the key `a` stands twice in one object (byte 40); send each key once",
    )
    .await;
    check(
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#,
        "the answer cannot be used: `id` must be a string or a whole number",
    )
    .await;
    check(
        r#"{"jsonrpc":"2.0","result":1}"#,
        "the answer cannot be used: `id` must be a string or a whole number",
    )
    .await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{}1{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    check(
        &deep,
        "the answer cannot be used: nested deeper than 128 levels at byte 160",
    )
    .await;
    let huge = |head: &str| format!("{head}{}", "x".repeat(MESSAGE_MAX + 1));
    let too_long = "the answer cannot be used: the message is larger than 16777216 bytes";
    check(&huge(r#"{"jsonrpc":"2.0","id":1,"result":""#), too_long).await;
    check(&huge(r#"{"result":""#), too_long).await;
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m","data":{"u":1}}}"#,
        "error -32042: m",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_pretty_printed_answer_ends_with_the_limit() {
    check(
        "{\n\"jsonrpc\":\"2.0\",\n\"id\":1}",
        "no answer and no progress within 1m",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side() {
    let (upstream, _events, mut server) = connect();
    let calls: Vec<_> = (0..3)
        .map(|_| ask(&upstream, CallOptions::within(LIMIT)))
        .collect();
    for _ in 0..3 {
        server.line().await;
    }
    for id in [3, 1, 2] {
        server
            .say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{id}}}"#))
            .await;
    }
    let mut got = Vec::new();
    for call in calls {
        got.push(call.await.unwrap().unwrap().to_string());
    }
    assert_eq!(got, ["1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_stream_fails_all_calls() {
    let (upstream, mut events, mut server) = connect();
    let calls: Vec<_> = (0..32)
        .map(|_| ask(&upstream, CallOptions::within(LIMIT)))
        .collect();
    server.line().await;
    drop(server);
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        assert!(matches!(error, CallError::Closed(_)), "{error:?}");
    }
    let why = "the server stopped: it closed its output".to_owned();
    assert_eq!(events.next().await, Some(UpstreamEvent::Closed(why)));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_tells_the_server() {
    let (upstream, _events, mut server) = connect();
    let options = CallOptions::within(LIMIT);
    let cancel = options.cancel.clone();
    let call = ask(&upstream, options);
    server.line().await;
    cancel.cancel("the client gave up");
    cancel.cancel("again");
    reply(&call.await.unwrap(), "cancelled: the client gave up");
    let note = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n";
    assert_eq!(server.line().await, note);
    // A dropped call is a cancelled one, and a timed-out one too.
    let call = ask(&upstream, CallOptions::within(LIMIT));
    server.line().await;
    call.abort();
    assert_eq!(server.line().await, note.replace(":1}", ":2}"));
    let call = ask(&upstream, CallOptions::within(LIMIT));
    server.line().await;
    reply(&call.await.unwrap(), "no answer and no progress within 1m");
    assert_eq!(server.line().await, note.replace(":1}", ":3}"));
    // A late answer is nobody's and harms nobody.
    server.say(r#"{"jsonrpc":"2.0","id":3,"result":1}"#).await;
    check(r#"{"jsonrpc":"2.0","id":1,"result":1}"#, "1").await;
}

#[tokio::test(start_paused = true)]
async fn progress_restarts_the_limit_but_not_the_hard_one() {
    let (upstream, _events, mut server) = connect();
    let options = CallOptions {
        hard_max: 3 * LIMIT,
        progress: Progress::Restart,
        ..CallOptions::within(LIMIT)
    };
    let start = tokio::time::Instant::now();
    let call = ask(&upstream, options);
    assert!(
        server
            .line()
            .await
            .contains(r#""params":{"_meta":{"progressToken":1}}"#)
    );
    while !call.is_finished() {
        tokio::time::sleep(LIMIT / 2).await;
        server
            .say(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#)
            .await;
    }
    reply(
        &call.await.unwrap(),
        "still at work after 3m, the longest that a call may take",
    );
    assert!(start.elapsed() >= 3 * LIMIT);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_gets_ping_and_nothing_else() {
    let (_upstream, _events, mut server) = connect();
    server
        .say(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#)
        .await;
    assert_eq!(
        server.line().await,
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}\n"
    );
    for method in ["roots/list", "sampling/createMessage", "elicitation/create"] {
        server
            .say(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#
            ))
            .await;
        assert!(server.line().await.contains("\"code\":-32601"), "{method}");
    }
}

/// A server that never reads must not stop us from reading, nor fill memory.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_holds_up_nobody() {
    let (stdin, _unread) = duplex(64);
    let (writes, stdout) = duplex(1 << 20);
    let (upstream, mut events) = Upstream::connect(
        stdin,
        stdout,
        tokio::io::empty(),
        CloseHook::new(async { String::new() }),
    );
    let mut server = Server {
        reads: BufReader::new(duplex(1).0),
        writes,
    };
    let calls: Vec<_> = (0..300)
        .map(|_| ask(&upstream, CallOptions::within(LIMIT)))
        .collect();
    for _ in 0..2000 {
        server
            .say(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
            .await;
    }
    server
        .say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    server
        .say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    assert_eq!(
        events.next().await,
        Some(UpstreamEvent::Changed(crate::protocol::mcp::Listing::Tools))
    );
    for call in calls {
        reply(&call.await.unwrap(), "no answer and no progress within 1m");
    }
}

#[tokio::test]
async fn a_request_over_the_limit_is_not_sent() {
    let (upstream, _events, _server) = connect();
    let mut params = Object::default();
    params.insert("x", Json::String("x".repeat(MESSAGE_MAX)));
    let options = CallOptions::within(LIMIT);
    let over = upstream.request("tools/call", Some(params), options).await;
    assert!(matches!(over, Err(CallError::TooLarge { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_failing_later_page_is_told() {
    let (upstream, _events, mut server) = connect();
    let tools = tokio::spawn(async move { upstream.list_tools(LIMIT).await });
    assert!(!server.line().await.contains("params"));
    server
        .say(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}},7],"nextCursor":"n"}}"#)
        .await;
    assert!(server.line().await.contains(r#""params":{"cursor":"n"}"#));
    server
        .say(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"broken"}}"#)
        .await;
    let tools = tools.await.unwrap().unwrap();
    assert_eq!(
        tools.fault.as_deref(),
        Some("page 2 of the tool list failed: error -1: broken")
    );
    assert_eq!(tools.list.tools().len(), 2);
    assert_eq!(tools.list.offered().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_leads_in_a_circle_is_refused() {
    let (upstream, _events, mut server) = connect();
    let tools = tokio::spawn(async move { upstream.list_tools(LIMIT).await });
    for id in 1..=2 {
        server.line().await;
        server
            .say(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[],"nextCursor":"n"}}}}"#
            ))
            .await;
    }
    let error = tools.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the answer cannot be used: its tool list leads back to an earlier page"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_revision_is_refused() {
    let (upstream, _events, mut server) = connect();
    let client = ClientInfo {
        name: "creance",
        version: "0",
    };
    let hello = tokio::spawn(async move { upstream.initialize(client, LIMIT).await });
    let asked = json(&server.line().await);
    let params = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"creance","version":"0"}}"#;
    assert_eq!(asked.get("params").unwrap().to_string(), params);
    server
        .say(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1999-01-01"}}"#)
        .await;
    let error = hello.await.unwrap().unwrap_err().to_string();
    assert!(
        error.contains("it speaks protocol revision `1999-01-01`"),
        "{error}"
    );
}

/// Talk without end takes a bounded place, and what was dropped is said.
#[tokio::test(start_paused = true)]
async fn notes_are_bounded() {
    let (_upstream, mut events, mut server) = connect();
    for _ in 0..100 {
        server
            .say(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#)
            .await;
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    let mut notes = 0;
    while let Some(UpstreamEvent::Note(_)) = events.next().await {
        notes += 1;
    }
    assert_eq!(notes, 64);
}

#[tokio::test(start_paused = true)]
async fn events_end_with_the_last_handle() {
    let (upstream, mut events, _server) = connect();
    drop(upstream);
    let gone = "the connection was let go".to_owned();
    assert_eq!(events.next().await, Some(UpstreamEvent::Closed(gone)));
    assert_eq!(events.next().await, None);
}
