//! The relay against scripted servers; each test is named after its case in `tests/cases`.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::process::Command;

use super::super::*;
use crate::protocol::json::{Json, Object, read};
use crate::protocol::mcp::Revision;
use crate::protocol::names::lookalikes;
use crate::protocol::schema::{ResultCheck, Schema};
use crate::protocol::tools::ToolsDiff;

const CLIENT: ClientInfo = ClientInfo {
    name: "creance",
    version: "0",
};
const LIMIT: Duration = Duration::from_secs(20);

/// A scripted server under test.
struct Played {
    upstream: Upstream,
    events: UpstreamEvents,
}

/// Starts a script; `None`, and said so, where there is no python3.
fn play(script: &str) -> Option<Played> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    #[expect(
        clippy::disallowed_methods,
        reason = "the relay is tested without a sandbox around the server"
    )]
    let command = std::process::Command::new("python3");
    let started = Command::from(command)
        .arg(cases.join("tools/fake_server.py"))
        .arg(cases.join(script))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            println!("skipped {script}: python3 does not start: {error}");
            return None;
        }
    };
    let (stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
    let stderr = child.stderr.take()?;
    let hook = CloseHook::new(async move {
        match child.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    });
    let (upstream, events) = Upstream::connect(stdin, stdout, stderr, hook);
    Some(Played { upstream, events })
}

async fn started(script: &str) -> Option<Played> {
    let played = play(script)?;
    let hello = played.upstream.initialize(CLIENT, LIMIT).await.unwrap();
    assert_eq!(hello.revision, Revision::V2025_06_18);
    assert!(hello.claims_tools());
    Some(played)
}

fn params(text: &str) -> Option<Object> {
    match read(text.as_bytes()).unwrap().json {
        Json::Object(params) => Some(params),
        _ => None,
    }
}

impl Played {
    async fn call(&self, name: &str, arguments: &str) -> Result<Json, CallError> {
        let params = params(&format!(r#"{{"name":"{name}","arguments":{arguments}}}"#));
        let options = CallOptions::within(LIMIT);
        self.upstream.request("tools/call", params, options).await
    }

    async fn names(&self) -> Vec<String> {
        let tools = self.upstream.list_tools(LIMIT).await.unwrap();
        assert_eq!(tools.fault, None);
        tools.list.offered().map(|t| t.name.clone()).collect()
    }
}

fn text(result: &Json) -> &str {
    let block = result.get("content").and_then(Json::as_array).unwrap();
    block[0].get("text").and_then(Json::as_str).unwrap()
}

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

/// A server whose grandchild still holds its output can be given up by the one who sees it end.
#[tokio::test]
async fn mcp_07_the_owner_can_end_the_connection() {
    let Some(mut played) = started("MCP-01.server.jsonl").await else {
        return;
    };
    played.upstream.close("it was stopped");
    let want = CallError::Closed("it was stopped".to_owned());
    assert_eq!(played.call("hello", "{}").await, Err(want));
    while let Some(event) = played.events.next().await {
        if event == UpstreamEvent::Closed("it was stopped".to_owned()) {
            return;
        }
    }
    panic!("the end is told");
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

/// One odd schema costs only its tool.
#[tokio::test]
async fn mcp_14_odd_schemas_are_set_aside_by_name() {
    let Some(played) = started("MCP-14.server.jsonl").await else {
        return;
    };
    let tools = played.upstream.list_tools(LIMIT).await.unwrap();
    let offered: Vec<_> = tools.list.offered().map(|t| t.name.as_str()).collect();
    assert_eq!(offered, ["good"]);
    let aside = tools.list.set_aside();
    let aside: Vec<_> = aside
        .map(|t| (t.name.as_str(), t.problem.as_deref().unwrap()))
        .collect();
    let top = "its `inputSchema` does not say `\"type\": \"object\"` at the top";
    assert_eq!(
        aside,
        [
            ("either", top),
            ("plain", top),
            ("nul", "its `inputSchema` is null, not an object"),
            ("none", "it has no `inputSchema`"),
        ]
    );
}

/// Schemas reach the client unchanged, whatever they refer to.
#[tokio::test]
async fn mcp_15_schemas_pass_unchanged() {
    let Some(played) = started("MCP-15.server.jsonl").await else {
        return;
    };
    let tools = played.upstream.list_tools(LIMIT).await.unwrap();
    let raw: Vec<String> = tools.list.offered().map(|t| t.raw.to_string()).collect();
    assert_eq!(raw.len(), 3);
    assert!(raw[0].contains(r##""items":{"$ref":"#/$defs/Node"}"##));
    assert!(raw[1].contains(r#""then":{"properties":{"limit":{"maximum":10}}}"#));
    assert!(raw[2].contains(r#"{"$ref":"http://127.0.0.1:9/schema.json"}"#));
}

/// Results pass as they are; only one that breaks its own schema is told as text.
#[tokio::test]
async fn mcp_18_results_are_checked_and_not_lost() {
    let Some(played) = started("MCP-18.server.jsonl").await else {
        return;
    };
    let tools = played.upstream.list_tools(LIMIT).await.unwrap();
    let schema = tools.list.tools()[0]
        .output_schema()
        .map(Schema::compile)
        .unwrap();
    for how in ["good", "error", "wrong", "text"] {
        let result = played
            .call("push", &format!(r#"{{"how":"{how}"}}"#))
            .await
            .unwrap();
        let pass = schema.check_result(&result) == ResultCheck::Pass;
        assert_eq!(pass, how != "wrong", "{how}");
        assert_eq!(
            result.get("structuredContent").is_some(),
            how != "text",
            "{how}"
        );
    }
}

/// Blocks of all kinds pass in order and unchanged, unknown ones too.
#[tokio::test]
async fn mcp_19_blocks_of_all_kinds_pass() {
    let Some(played) = started("MCP-19.server.jsonl").await else {
        return;
    };
    let result = played.call("mixed", "{}").await.unwrap();
    let blocks = result.get("content").and_then(Json::as_array).unwrap();
    let kinds: Vec<_> = blocks
        .iter()
        .filter_map(|b| b.get("type")?.as_str())
        .collect();
    let want = "text image audio resource resource resource_link resource_link hologram";
    assert_eq!(kinds.join(" "), want);
    assert_eq!(blocks[7].to_string(), r#"{"type":"hologram","data":"?"}"#);
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

/// All pages are one list, in order.
#[tokio::test]
async fn mcp_23_all_pages_are_read() {
    let Some(played) = started("MCP-23.server.jsonl").await else {
        return;
    };
    assert_eq!(played.names().await, ["t1", "t2", "t3", "t4", "t5"]);
}

/// A new description under an old name is another tool.
#[tokio::test]
async fn sec_02_a_swapped_description_changes_the_digest() {
    let mut lists = Vec::new();
    for day in ["SEC-02.day1.server.jsonl", "SEC-02.day2.server.jsonl"] {
        let Some(played) = started(day).await else {
            return;
        };
        lists.push(played.upstream.list_tools(LIMIT).await.unwrap().list);
    }
    let pins = |at: usize| {
        lists[at]
            .tools()
            .iter()
            .map(|t| (t.name.as_str(), t.digest))
    };
    let diff = ToolsDiff::between(pins(0), pins(1));
    assert_eq!(diff.changed, ["send_email"]);
    assert!(diff.added.is_empty() && diff.removed.is_empty());
    assert_ne!(lists[0].digest(), lists[1].digest());
}

/// Hidden letters are still there when the pin is taken, and the relay changes no text.
#[tokio::test]
async fn sec_11_hidden_text_reaches_pin_and_cleaner_raw() {
    let Some(played) = started("SEC-11.server.jsonl").await else {
        return;
    };
    let tools = played.upstream.list_tools(LIMIT).await.unwrap();
    let tool = &tools.list.tools()[0];
    assert!(tool.description().contains('\u{e0072}'));
    let visible: String = tool
        .raw
        .to_string()
        .chars()
        .filter(|c| (*c as u32) < 0xE0000)
        .collect();
    let cleaned = read(visible.as_bytes()).unwrap().json;
    let other = crate::protocol::tools::OfferedTool::from_item(cleaned);
    assert_ne!(tool.digest, other.digest);
    assert!(text(&played.call("weather", "{}").await.unwrap()).contains('\u{e0072}'));
}

/// A look-alike is another tool, and said to be close to the first.
#[tokio::test]
async fn sec_13_a_lookalike_is_another_tool() {
    let Some(played) = started("SEC-13.server.jsonl").await else {
        return;
    };
    let names = played.names().await;
    assert_eq!(names.len(), 2);
    let pairs = lookalikes(names.iter().map(String::as_str));
    assert_eq!(pairs, [("read_file", "re\u{430}d_file")]);
}
