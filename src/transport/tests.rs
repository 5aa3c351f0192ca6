//! The relay against scripted servers that misbehave as real ones were seen to.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use super::*;
use crate::protocol::json::{Json, Object, read};

const CLIENT: ClientInfo = ClientInfo {
    name: "creance",
    version: "0",
};
const LIMIT: Duration = Duration::from_secs(20);

/// A scripted server under test.
struct Played {
    upstream: Upstream,
    events: UpstreamEvents,
    _child: Option<Child>,
}

/// Starts a script; `None`, and said so, where there is no python3.
fn play(script: &str) -> Option<Played> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    #[expect(
        clippy::disallowed_methods,
        reason = "the relay is tested without a sandbox"
    )]
    let command = std::process::Command::new("python3");
    let mut child = match Command::from(command)
        .arg(cases.join("tools/fake_server.py"))
        .arg(cases.join(script))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
    {
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
    Some(Played {
        upstream,
        events,
        _child: None,
    })
}

async fn started(script: &str) -> Option<Played> {
    let played = play(script)?;
    played.upstream.initialize(CLIENT, LIMIT).await.unwrap();
    Some(played)
}

fn call(name: &str) -> Option<Object> {
    let text = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
    match read(text.as_bytes()).unwrap().json {
        Json::Object(params) => Some(params),
        _ => None,
    }
}

impl Played {
    async fn call(&self, name: &str) -> Result<Json, CallError> {
        let options = CallOptions::within(LIMIT);
        self.upstream
            .request("tools/call", call(name), options)
            .await
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
    let tools = played.upstream.list_tools(LIMIT).await.unwrap();
    assert_eq!(tools.list.tools().len(), 1);
    assert_eq!(text(&played.call("hello").await.unwrap()), "hi");
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
