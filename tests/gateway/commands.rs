//! Commands around the gateway: `run`, `run --mcp`, `server`, and `approve` from a second process.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::raw::Raw;
use crate::real::{self, need, path_text};
use crate::stage::{SECRET, Stage, node_server, read_paths};

#[test]
fn run_confines_a_command_and_passes_its_exit_code_on() {
    let stage = Stage::new();
    // (script, exit code)
    for (script, want) in [
        ("echo inside > made.txt", 0),
        ("exit 7", 7),
        ("echo planted > ../outside.txt", 2),
        ("echo planted > .git/hooks/pre-commit", 2),
        ("mv .git git-away", 1),
        ("cat ../.ssh/id_ed25519", 1),
        ("cat ../private.txt", 1),
        ("kill -9 $$", 137),
    ] {
        let (code, said) = stage.says(&["run", "--", "/bin/sh", "-c", script]);
        assert_eq!(code, Some(want), "{script}: {said}");
        assert!(!said.contains(SECRET), "{script}: {said}");
    }
    let made = fs::read_to_string(stage.project.join("made.txt")).unwrap();
    assert_eq!(made, "inside\n");
    assert!(!stage.home.join("outside.txt").exists());
    assert!(!stage.project.join(".git/hooks/pre-commit").exists());
    assert!(stage.project.join(".git/HEAD").exists());
    stage.audit_verifies();
}

/// What policy forbids is not run, and the exit code says so.
#[test]
fn run_is_decided() {
    let stage = Stage::new();
    stage.policy(
        r#"
@id("no-shells")
@reason("No shells today.")
forbid (principal, action == Action::"exec.run", resource);
"#,
    );
    let (code, said) = stage.says(&["run", "--", "/bin/sh", "-c", "echo x > made.txt"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("No shells today."), "{said}");
    assert!(!stage.project.join("made.txt").exists());
}

#[test]
fn one_server_is_proxied_and_its_calls_are_decided() {
    const TEST: &str = "one_server_is_proxied_and_its_calls_are_decided";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    let stage = Stage::new();
    stage.policy(
        r#"
@id("all")
@reason("Everything but sums.")
permit (principal, action, resource);

@id("no-sums")
@reason("No sums here.")
forbid (principal, action == Action::"tool.call", resource == Tool::"user/index.js/get-sum");
"#,
    );
    let folders = read_paths();
    let mut args = vec!["run", "--mcp"];
    for folder in &folders {
        args.extend(["--read", folder]);
    }
    let (program, server) = (path_text(&node.program), node.server("everything"));
    args.extend(["--", &program, &server]);
    let mut raw = Raw::start(stage.creance(&args));
    raw.initialize("2025-11-25");
    wait_for(&mut raw, "echo");
    let echo = json!({ "name": "echo", "arguments": { "message": "hello" } });
    let said = raw.request("tools/call", &echo);
    assert!(said.to_string().contains("Echo: hello"), "{said}");
    let sum = json!({ "name": "get-sum", "arguments": { "a": 1, "b": 2 } });
    let said = raw.request("tools/call", &sum);
    assert_eq!(said["result"]["isError"], true, "{said}");
    assert!(said.to_string().contains("No sums here."), "{said}");
    let listed = raw.request("tools/list", &json!({})).to_string();
    assert!(
        listed.contains("\"echo\"") && !listed.contains("get-sum"),
        "{listed}"
    );
    raw.leave();
    assert!(raw.child.wait().unwrap().success());
    stage.audit_verifies();
}

/// Waits until a tool is listed.
#[track_caller]
fn wait_for(raw: &mut Raw, tool: &str) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let listed = raw.request("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        if tools.iter().any(|listed| listed["name"] == tool) {
            return;
        }
        assert!(Instant::now() < end, "{tool} is not listed: {listed}");
        // The list is asked again once it has changed.
        while !raw.next().to_string().contains("list_changed") {}
    }
}

#[test]
fn servers_are_added_listed_and_removed() {
    let stage = Stage::new();
    stage.servers(&json!({}));
    let add = [
        "server",
        "add",
        "files",
        "--env",
        "MODE=read",
        "--",
        "/bin/cat",
        "-u",
    ];
    let (code, said) = stage.says(&add);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = stage.says(&add);
    assert_eq!(code, Some(1), "a name that is taken: {said}");
    let (_, listed) = stage.json(&["server", "list", "--json"]);
    assert_eq!(listed[0]["id"], "user/files", "{listed}");
    assert_eq!(listed[0]["command"], "/bin/cat -u", "{listed}");
    assert_eq!(listed[0]["state"], "never agreed to", "{listed}");
    let (code, said) = stage.says(&["server", "status"]);
    assert!(
        code == Some(0) && said.contains("never agreed to"),
        "{said}"
    );
    let (code, said) = stage.says(&["server", "remove", "files"]);
    assert_eq!(code, Some(0), "{said}");
    let (_, listed) = stage.json(&["server", "list", "--json"]);
    assert_eq!(listed, json!([]));
    let (code, said) = stage.says(&["server", "trust", "files"]);
    assert!(code == Some(2) && said.contains("there are none"), "{said}");
    let (code, said) = stage.says(&["server", "remove", "files"]);
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("files"), "{said}");
}

/// What is no address says what one looks like.
#[test]
fn an_address_to_serve_on_is_an_address() {
    let stage = Stage::new();
    for wrong in [
        "8377",
        "localhost:8377",
        ":8377",
        "127.0.0.1:99999",
        "127.0.0.1",
    ] {
        let (code, said) = stage.says(&["serve", "--http", wrong]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("as in 127.0.0.1:8377"), "{said}");
    }
}

/// The waiting question about something, as `creance approve --list --json` shows it.
#[track_caller]
fn waiting(stage: &Stage, about: &str) -> Value {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let output = stage.creance(&["approve", "--list", "--json"]).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        let questions = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let found = questions
            .map(|waiting: Value| waiting["question"].clone())
            .find(|question| question["asked"]["title"].as_str().unwrap().contains(about));
        if let Some(question) = found {
            return question;
        }
        assert!(Instant::now() < end, "nothing about {about} waits");
        thread::sleep(Duration::from_millis(50));
    }
}

#[track_caller]
fn answer(stage: &Stage, question: &Value, word: &str) {
    let id = question["id"].as_str().unwrap();
    let (code, said) = stage.says(&["approve", "--answer", word, "--id", id]);
    assert_eq!(code, Some(0), "{said}");
}

fn write(stage: &Stage, file: &str) -> Value {
    let path = path_text(&stage.project.join(file));
    json!({ "name": "files__write_file", "arguments": { "path": path, "content": "written" } })
}

#[test]
fn a_second_process_answers_and_answers_are_kept_until_forgotten() {
    const TEST: &str = "a_second_process_answers_and_answers_are_kept_until_forgotten";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    let stage = Stage::new();
    stage.servers(&json!({ "files": node_server(node, "filesystem", &["/"]) }));
    let mut raw = Raw::start(stage.creance(&["serve"]));
    raw.initialize("2025-11-25");
    let start = waiting(&stage, "Start the MCP server user/files");
    let (code, said) = stage.says(&["approve", "--list"]);
    assert_eq!(code, Some(4), "a question waits: {said}");
    assert!(said.contains("server-filesystem"), "{said}");
    answer(&stage, &start, "always");
    wait_for(&mut raw, "files__write_file");
    for (word, file, written) in [("once", "one.txt", true), ("no", "two.txt", false)] {
        let call = raw.ask("tools/call", &write(&stage, file));
        answer(&stage, &waiting(&stage, "write_file"), word);
        let said = raw.answer(call);
        let failed = said["result"]["isError"] == true;
        assert_eq!(failed, !written, "{said}");
        assert_eq!(stage.project.join(file).exists(), written, "{said}");
    }
    raw.leave();
    assert!(raw.child.wait().unwrap().success());
    let (_, servers) = stage.json(&["server", "status", "--json"]);
    assert_eq!(servers[0]["state"], "agreed", "{servers}");
    assert_eq!(servers[0]["unpinned"], json!(null), "{servers}");
    assert!(servers[0]["tools"].as_u64() > Some(10), "{servers}");

    // What was agreed to for good starts unasked, in another process too.
    let mut raw = Raw::start(stage.creance(&["serve"]));
    raw.initialize("2025-11-25");
    wait_for(&mut raw, "files__write_file");
    raw.leave();
    assert!(raw.child.wait().unwrap().success());

    let (code, said) = stage.says(&["server", "forget", "user/files"]);
    assert_eq!(code, Some(0), "{said}");
    let (_, servers) = stage.json(&["server", "status", "--json"]);
    assert_eq!(servers[0]["state"], "never agreed to", "{servers}");
    let mut raw = Raw::start(stage.creance(&["serve"]));
    raw.initialize("2025-11-25");
    waiting(&stage, "Start the MCP server user/files");
    drop(raw);
    stage.audit_verifies();
}
