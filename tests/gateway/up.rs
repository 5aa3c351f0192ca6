//! A gateway with one small server, and a person who answers its questions from a second process.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::raw::Raw;
use crate::stage::Stage;

/// An MCP server in shell: the description of its one tool comes from a file of the project, and a
/// call tells which version of the program answered.
pub(crate) const SERVER: &str = r#"#!/bin/sh
while IFS= read -r line; do
  id=$(printf '%s\n' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}' ;;
    *'"tools/list"'*) r='{"tools":[{"name":"echo","description":"'$(cat docs/description.txt)'","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) r='{"content":[{"type":"text","text":"answered by version 1"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
"#;

/// A stage whose server lies beside the project.
pub(crate) fn stage() -> Stage {
    let stage = Stage::new();
    stage.write("home/project/docs/description.txt", "says it back");
    program(&stage, "home/tools/server", SERVER);
    configure(&stage, &json!([]), &json!({}));
    stage
}

pub(crate) fn program(stage: &Stage, path: &str, text: &str) {
    stage.write(path, text);
    let path = stage.home.parent().unwrap().join(path);
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn configure(stage: &Stage, args: &Value, env: &Value) {
    let command = stage.home.join("tools/server");
    stage.servers(&json!({ "t": { "command": command, "args": args, "env": env } }));
}

/// A gateway, the questions that were answered while its servers came up, and what became of them.
#[derive(Debug)]
pub(crate) struct Up {
    pub(crate) raw: Raw,
    pub(crate) asked: Vec<Value>,
    /// What the gateway's own tool says in the end.
    pub(crate) status: String,
}

pub(crate) fn text(output: &Output) -> String {
    let all = [output.stdout.clone(), output.stderr.clone()].concat();
    String::from_utf8_lossy(&all).into_owned()
}

pub(crate) fn run(mut command: Command) -> String {
    text(&command.output().unwrap())
}

/// The questions that wait in other processes.
pub(crate) fn waiting(stage: &Stage) -> Vec<Value> {
    let output = stage.creance(&["approve", "--json"]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["question"].clone())
        .collect()
}

/// Answers one question from a second process.
#[track_caller]
pub(crate) fn answer(stage: &Stage, question: &Value, word: &str, scope: usize) {
    let id = question["id"].as_str().unwrap();
    let scope = scope.to_string();
    let args = ["approve", "--id", id, "--answer", word, "--scope", &scope];
    let output = stage.creance(&args).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

impl Up {
    /// Starts the gateway in the project and answers every question with this word.
    #[track_caller]
    pub(crate) fn answering(stage: &Stage, word: &str) -> Self {
        Self::of(stage, stage.creance(&["serve"]), |question| {
            answer(stage, question, word, 1);
        })
    }

    #[track_caller]
    pub(crate) fn of(stage: &Stage, command: Command, mut hear: impl FnMut(&Value)) -> Self {
        let mut raw = Raw::start(command);
        raw.initialize("2025-06-18");
        let mut asked: Vec<Value> = Vec::new();
        for _ in 0..500 {
            let status = raw.request("tools/call", &json!({ "name": "creance_status" }));
            let status = status["result"]["content"][0]["text"].as_str().unwrap();
            let going = [": idle", ": starting", ": waiting"];
            if !going.iter().any(|state| status.contains(state)) {
                let status = status.to_owned();
                return Self { raw, asked, status };
            }
            for question in waiting(stage) {
                if asked.iter().all(|known| known["id"] != question["id"]) {
                    hear(&question);
                    asked.push(question);
                }
            }
        }
        panic!("the servers come to no end: {asked:?}");
    }

    /// The actions that were asked about.
    pub(crate) fn actions(&self) -> Vec<&str> {
        self.asked
            .iter()
            .map(|question| question["action"].as_str().unwrap())
            .collect()
    }

    /// Calls the tool; answers the question about it. Gives the result's text and whether a
    /// question came.
    #[track_caller]
    pub(crate) fn call(&mut self, stage: &Stage, word: &str, scope: usize) -> (String, bool) {
        let params = json!({ "name": "t__echo", "arguments": { "text": "hello" } });
        let id = self.raw.ask("tools/call", &params);
        let mut asked = false;
        // The gateway answers in order of readiness, so the pings show that it still works.
        for _ in 0..500 {
            let ping = self.raw.ask("ping", &json!({}));
            let mut done = None;
            loop {
                let message = self.raw.next();
                if message["id"] == json!(id) {
                    done = Some(message["result"].clone());
                } else if message["id"] == json!(ping) {
                    break;
                }
            }
            if let Some(result) = done {
                return (result["content"][0]["text"].to_string(), asked);
            }
            for question in waiting(stage) {
                assert_eq!(question["action"], "tool.call");
                answer(stage, &question, word, scope);
                asked = true;
            }
        }
        panic!("the call has no end");
    }

    /// All that the questions showed.
    pub(crate) fn shown(&self) -> String {
        Value::Array(self.asked.clone()).to_string()
    }
}
