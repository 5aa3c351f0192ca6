//! A server that asks back, and a client that answers it.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cases::desk::{Desk, text};
use crate::raw::Raw;

/// A server that asks back.
const SERVER: &str = include_str!("../../cases/tools/ask_server.py");

/// Tools may be used, and nothing else is said.
pub(super) const PERMIT_USE: &str = r#"
@id("use")
@reason("The test's own servers.")
permit (principal, action in [Action::"start", Action::"sandbox", Action::"tool"], resource);
"#;

pub(super) const LIMIT: Duration = Duration::from_secs(40);

/// A client that answers what servers ask.
pub(super) struct Talk {
    pub(super) desk: Desk,
    pub(super) raw: Raw,
    /// What came from the gateway unasked.
    pub(super) seen: Vec<Value>,
    answer: fn(&Value) -> Option<Value>,
}

#[track_caller]
pub(super) fn desk(test: &str, policy: &str) -> Option<Desk> {
    desk_of(test, policy, &["case/ask_server.py"])
}

/// The same with a server of 2026-07-28.
#[track_caller]
pub(super) fn modern_desk(test: &str, policy: &str) -> Option<Desk> {
    desk_of(test, policy, &["case/ask_server.py", "--modern"])
}

fn desk_of(test: &str, policy: &str, command: &[&str]) -> Option<Desk> {
    let desk = Desk::new(test)?;
    desk.stage.write("home/project/case/ask_server.py", SERVER);
    let server = desk.python(command);
    desk.stage.servers(&json!({ "asks": server }));
    desk.stage.policy(policy);
    Some(desk)
}

impl Talk {
    pub(super) fn open(
        desk: Desk,
        capabilities: &Value,
        answer: fn(&Value) -> Option<Value>,
    ) -> Self {
        Self::listed(desk, (capabilities, answer), "asks__ask")
    }

    /// The same, once a tool is listed.
    pub(super) fn listed(
        desk: Desk,
        (capabilities, answer): (&Value, fn(&Value) -> Option<Value>),
        tool: &str,
    ) -> Self {
        let command = desk.stage.creance(&["serve"]);
        let stderr = fs::File::create(desk.stage.home.with_file_name("stderr.txt")).unwrap();
        let raw = Raw::start_with(command, stderr.into());
        let mut talk = Self {
            desk,
            raw,
            seen: Vec::new(),
            answer,
        };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": { "name": "creance-asks", "version": "1" },
        });
        let id = talk.raw.ask("initialize", &params);
        talk.wait(id);
        talk.raw.notify("notifications/initialized", &json!({}));
        let end = Instant::now() + LIMIT;
        loop {
            let id = talk.raw.ask("tools/list", &json!({}));
            let listed = talk.wait(id).to_string();
            if listed.contains(tool) {
                return talk;
            }
            assert!(Instant::now() < end, "{listed}\n{}", talk.stderr());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(super) fn stderr(&self) -> String {
        fs::read_to_string(self.desk.stage.home.with_file_name("stderr.txt")).unwrap_or_default()
    }

    /// Waits for one answer, and answers on the way.
    #[track_caller]
    pub(super) fn wait(&mut self, id: u64) -> Value {
        let end = Instant::now() + LIMIT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Some(message) = self.raw.next_within(left) else {
                panic!("no answer\n{}", self.stderr());
            };
            if message["id"] == json!(id) && message.get("method").is_none() {
                return message;
            }
            self.heed(message);
        }
    }

    /// Answers on the way until something holds.
    #[track_caller]
    pub(super) fn until(&mut self, holds: impl Fn(&Self) -> bool) {
        let end = Instant::now() + LIMIT;
        while !holds(self) {
            assert!(Instant::now() < end, "{:#?}\n{}", self.seen, self.stderr());
            if let Some(message) = self.raw.next_within(Duration::from_millis(100)) {
                self.heed(message);
            }
        }
    }

    pub(super) fn heed(&mut self, message: Value) {
        if message.get("id").is_some()
            && message.get("method").is_some()
            && let Some(result) = (self.answer)(&message)
        {
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            self.raw.line(&answer.to_string());
        }
        self.seen.push(message);
    }

    /// Has the server ask; what it was answered.
    #[track_caller]
    pub(super) fn asks(&mut self, method: &str, params: &Value) -> Value {
        // In a file: arguments of calls are judged and on record themselves.
        let requests = json!([{ "method": method, "params": params }]);
        let stage = &self.desk.stage;
        stage.write("home/project/case/asked.json", &requests.to_string());
        let said = self.call("asks__ask", &json!({ "file": "case/asked.json" }));
        said[0].clone()
    }

    #[track_caller]
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.raw.ask(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        );
        let answer = self.wait(id);
        let said = text(&answer["result"]);
        serde_json::from_str(&said).unwrap_or(answer)
    }

    /// What of a method came from the gateway.
    pub(super) fn came(&self, method: &str) -> Vec<&Value> {
        let seen = self.seen.iter();
        seen.filter(|message| message["method"] == method).collect()
    }

    pub(super) fn records(&self, action: &str) -> Vec<Value> {
        let mut records = self.desk.records();
        records.retain(|record| record["event"]["action"] == action || record["action"] == action);
        records
    }
}

pub(super) fn form(message: &str, properties: &Value) -> Value {
    json!({ "message": message, "requestedSchema": { "type": "object", "properties": properties } })
}

pub(super) fn branch() -> Value {
    form("Which branch?", &json!({ "branch": { "type": "string" } }))
}

pub(super) fn page(url: &str) -> Value {
    json!({ "mode": "url", "message": "Please sign in", "url": url, "elicitationId": "e-1" })
}

pub(super) fn prompt() -> Value {
    json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": "Say \u{200b}hi" } }],
        "systemPrompt": "Be brief", "maxTokens": 50, "includeContext": "allServers",
    })
}

/// Fills in `main`, opens pages, answers as a model.
pub(super) fn agreeable(message: &Value) -> Option<Value> {
    let params = &message["params"];
    Some(match message["method"].as_str().unwrap() {
        "elicitation/create" if params["mode"] == "url" => json!({ "action": "accept" }),
        "elicitation/create"
            if params["requestedSchema"]["properties"]
                .get("answer")
                .is_some() =>
        {
            json!({ "action": "accept", "content": { "answer": "once" } })
        }
        "elicitation/create" => {
            json!({ "action": "accept", "content": { "branch": "main" }, "later": 1.50 })
        }
        "sampling/createMessage" => json!({
            "role": "assistant", "model": "m", "stopReason": "endTurn",
            "content": { "type": "text", "text": "hi\u{1b}[2K, ghp_0123456789abcdefghijABCDEFGHIJ012345" },
        }),
        _ => return None,
    })
}

pub(super) fn all() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {}, "context": {} }, "roots": {} })
}
