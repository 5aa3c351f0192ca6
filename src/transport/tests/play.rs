//! Starts scripted servers of `tests/cases`.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::super::*;
use crate::protocol::json::{Json, Object, read};
use crate::protocol::mcp::{Era, Revision};

pub(super) const CLIENT: ClientInfo = ClientInfo {
    name: "creance",
    version: "0",
};
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// A scripted server under test.
pub(super) struct Played {
    pub(super) upstream: Upstream,
    pub(super) events: UpstreamEvents,
}

/// Starts a script; `None`, and said so, where there is no python3.
pub(super) fn play(script: &str) -> Option<Played> {
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

pub(super) async fn started(script: &str) -> Option<Played> {
    let played = play(script)?;
    let hello = played.upstream.initialize(CLIENT, LIMIT).await.unwrap();
    assert_eq!(hello.era, Era::Legacy(Revision::V2025_06_18));
    Some(played)
}

pub(super) fn params(text: &str) -> Option<Object> {
    match read(text.as_bytes()).unwrap().json {
        Json::Object(params) => Some(params),
        _ => None,
    }
}

impl Played {
    pub(super) async fn call(&self, name: &str, arguments: &str) -> Result<Json, CallError> {
        let params = params(&format!(r#"{{"name":"{name}","arguments":{arguments}}}"#));
        let options = CallOptions::within(LIMIT);
        self.upstream.request("tools/call", params, options).await
    }

    pub(super) async fn names(&self) -> Vec<String> {
        let tools = self.upstream.list_tools(LIMIT).await.unwrap();
        assert_eq!(tools.fault, None);
        tools.list.offered().map(|t| t.name.clone()).collect()
    }
}

pub(super) fn text(result: &Json) -> &str {
    let block = result.get("content").and_then(Json::as_array).unwrap();
    block[0].get("text").and_then(Json::as_str).unwrap()
}
