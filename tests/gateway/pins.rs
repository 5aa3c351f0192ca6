//! What was agreed to stays agreed to, and anything else is asked again: `creance serve` with a
//! small server, the built-in policies, and `creance approve` in a second process.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::stage::Stage;
use crate::up::{SERVER, Up, answer, configure, program, run, stage, text};

/// The small server in JavaScript.
const NODE_SERVER: &str = r#"
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const tools = [{ name: 'echo', description: 'says it back', inputSchema: { type: 'object' } }];
  const serverInfo = { name: 't', version: '1' };
  const result = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo },
    'tools/list': { tools },
  }[method];
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: result ?? {} }));
});
"#;

/// Nothing is asked, and the server runs.
#[track_caller]
fn silent(stage: &Stage) {
    let up = Up::answering(stage, "no");
    assert_eq!(up.actions(), Vec::<&str>::new(), "{}", up.shown());
    assert!(
        up.status.contains("user/t: connected, 1 tools"),
        "{}",
        up.status
    );
}

/// One question of this action that shows all of `want`; "no" keeps the server (or its changed
/// tool) out, "always" lets it in for good.
#[track_caller]
fn asks_again(stage: &Stage, action: &str, want: &[&str]) {
    let refused = Up::answering(stage, "no");
    assert_eq!(refused.actions(), [action], "{}", refused.shown());
    for want in want {
        assert!(
            refused.shown().contains(want),
            "{want}: {}",
            refused.shown()
        );
    }
    assert!(
        !refused.status.contains("connected, 1 tools"),
        "{}",
        refused.status
    );
    drop(refused);
    // A no, and a yes for this time, agree to nothing for later.
    for word in ["once", "session", "always"] {
        let up = Up::answering(stage, word);
        assert_eq!(up.actions(), [action], "{word}: {}", up.shown());
        assert!(
            up.status.contains("user/t: connected, 1 tools"),
            "{}",
            up.status
        );
    }
    silent(stage);
}

#[test]
fn an_unchanged_start_asks_once() {
    let stage = stage();
    for word in ["no", "once", "session", "always"] {
        let up = Up::answering(&stage, word);
        assert_eq!(up.actions(), ["server.start"], "{word}: {}", up.shown());
        assert_eq!(
            up.status.contains("connected"),
            word != "no",
            "{}",
            up.status
        );
    }
    silent(&stage);
    silent(&stage);
    stage.audit_verifies();
}

#[test]
fn a_changed_start_asks_again() {
    type Change = fn(&Stage);
    let changes: [(Change, &[&str], &str); 4] = [
        (
            |stage| configure(stage, &json!(["--all"]), &json!({})),
            &["which has changed", "+ argument: --all"],
            "its definition changed",
        ),
        (
            |stage| configure(stage, &json!([]), &json!({ "MODE": "x" })),
            &["which has changed", "+ variable: MODE"],
            "its definition changed",
        ),
        (
            |stage| configure(stage, &json!([]), &json!({ "MODE": "y" })),
            &["which has changed", "- variable: MODE", "+ variable: MODE"],
            "its definition changed",
        ),
        (
            |stage| {
                let text = SERVER.replace("version 1", "version 2");
                program(stage, "home/tools/server", &text);
            },
            &["which has changed", "changed on disk: program"],
            "its program changed",
        ),
    ];
    let stage = stage();
    Up::answering(&stage, "always");
    for (change, want, state) in changes {
        change(&stage);
        let status = run(stage.creance(&["server", "status"]));
        assert!(status.contains(state), "{status}");
        asks_again(&stage, "server.start", want);
    }
    // Back to what was agreed to for good at first: a change like any other.
    configure(&stage, &json!([]), &json!({}));
    program(&stage, "home/tools/server", SERVER);
    asks_again(&stage, "server.start", &["which has changed"]);
    stage.audit_verifies();
}

#[test]
fn a_changed_script_or_lock_file_asks_again() {
    let node = Command::new("node").arg("--version").output();
    if !node.is_ok_and(|output| output.status.success()) {
        println!("a_changed_script_or_lock_file_asks_again: skipped: there is no node");
        return;
    }
    let stage = stage();
    stage.write("home/app/server.js", NODE_SERVER);
    stage.write("home/app/package.json", "{}");
    stage.write("home/app/package-lock.json", r#"{"lockfileVersion": 3}"#);
    let script = stage.home.join("app/server.js");
    let reads = crate::stage::read_paths();
    stage.servers(&json!({ "t": { "command": "node", "args": [script], "readPaths": reads } }));
    let first = Up::answering(&stage, "always");
    assert!(
        first.status.contains("connected, 1 tools"),
        "{}",
        first.status
    );
    drop(first);
    silent(&stage);
    stage.write("home/app/server.js", &format!("{NODE_SERVER}\n// more"));
    asks_again(&stage, "server.start", &["changed on disk: script"]);
    stage.write("home/app/package-lock.json", r#"{"lockfileVersion": 2}"#);
    asks_again(
        &stage,
        "server.start",
        &["changed on disk: package-lock.json"],
    );
    fs::remove_file(stage.home.join("app/package-lock.json")).unwrap();
    asks_again(
        &stage,
        "server.start",
        &["no longer part of it: package-lock.json"],
    );
}

#[test]
fn a_changed_description_asks_again() {
    let stage = stage();
    Up::answering(&stage, "always");
    stage.write("home/project/docs/description.txt", "sends it away");
    asks_again(&stage, "server.tools", &["have changed", "sends it away"]);
    stage.audit_verifies();
}

#[test]
fn an_answer_about_calls_ends_with_a_change() {
    // Scopes: 1 this call, 2 the tool, 3 all tools of the server.
    for scope in 1..=3 {
        let stage = stage();
        let mut up = Up::answering(&stage, "always");
        let (result, asked) = up.call(&stage, "always", scope);
        assert!(asked && result.contains("version 1"), "{result}");
        let (_, asked) = up.call(&stage, "no", 1);
        assert!(!asked, "scope {scope} covers the same call");
        drop(up);

        let text = SERVER.replace("version 1", "version 2");
        program(&stage, "home/tools/server", &text);
        let mut up = Up::answering(&stage, "always");
        let (result, asked) = up.call(&stage, "no", 1);
        assert!(
            asked && !result.contains("version 2"),
            "scope {scope}, program: {result}"
        );
        up.call(&stage, "always", scope);
        drop(up);

        stage.write("home/project/docs/description.txt", "sends it away");
        let mut up = Up::answering(&stage, "always");
        assert_eq!(up.actions(), ["server.tools"]);
        let (_, asked) = up.call(&stage, "no", 1);
        assert!(asked, "scope {scope}, description");
    }
}

#[test]
fn a_server_that_was_removed_is_new() {
    let stage = stage();
    let mut up = Up::answering(&stage, "always");
    up.call(&stage, "always", 3);
    drop(up);
    let removed = stage.creance(&["server", "remove", "t"]).output().unwrap();
    assert!(removed.status.success(), "{}", text(&removed));
    configure(&stage, &json!([]), &json!({}));
    let mut up = Up::answering(&stage, "always");
    assert_eq!(up.actions(), ["server.start"], "{}", up.shown());
    assert!(!up.shown().contains("has changed"), "{}", up.shown());
    let (_, asked) = up.call(&stage, "no", 1);
    assert!(asked, "answers go with the server");
}

#[test]
fn a_file_that_is_swapped_behind_the_question_does_not_run() {
    let stage = stage();
    let up = Up::of(&stage, stage.creance(&["serve"]), |question| {
        let text = SERVER.replace("version 1", "version 2");
        program(&stage, "home/tools/server", &text);
        answer(&stage, question, "always", 1);
    });
    assert!(up.status.contains("failed"), "{}", up.status);
    assert!(up.status.contains("after it was checked"), "{}", up.status);
    drop(up);
    // Nor does the answer cover what is there now.
    let up = Up::answering(&stage, "no");
    assert_eq!(up.actions(), ["server.start"], "{}", up.shown());
}

/// A second project with this server, beside the first.
fn second_project(stage: &Stage, server: &Value) -> Command {
    let config = json!({ "mcpServers": { "t": server } });
    stage.write("home/second/.git/HEAD", "ref: refs/heads/main\n");
    stage.write("home/second/.mcp.json", &config.to_string());
    stage.write("home/second/docs/description.txt", "says it back");
    stage.write("home/second/serve.sh", SERVER);
    let mut command = stage.creance(&["serve"]);
    command.current_dir(stage.home.join("second"));
    command
}

#[test]
fn what_a_folder_decides_is_agreed_to_in_each_folder() {
    let stage = stage();
    let server = json!({ "command": "sh", "args": ["-c", "sh serve.sh"] });
    stage.write("home/project/serve.sh", SERVER);
    let always = |question: &Value| answer(&stage, question, "always", 1);
    // Once as the user's server, once as the server of two repositories of one name.
    for (users, projects) in [
        (json!({ "t": server }), json!({})),
        (json!({}), server.clone()),
    ] {
        stage.servers(&users);
        if projects != json!({}) {
            let config = json!({ "mcpServers": { "t": projects } });
            stage.write("home/project/.mcp.json", &config.to_string());
        }
        let first = Up::answering(&stage, "always");
        assert_eq!(first.actions(), ["server.start"], "{}", first.shown());
        assert!(
            first.status.contains("connected, 1 tools"),
            "{}",
            first.status
        );
        drop(first);
        let again = Up::answering(&stage, "no");
        assert_eq!(again.actions(), Vec::<&str>::new(), "{}", again.shown());
        drop(again);
        let mut elsewhere = second_project(&stage, &projects);
        if projects == json!({}) {
            fs::remove_file(stage.home.join("second/.mcp.json")).unwrap();
        }
        elsewhere.env("LC_ALL", "C");
        let second = Up::of(&stage, elsewhere, always);
        assert_eq!(second.actions(), ["server.start"], "{}", second.shown());
    }
}

#[test]
fn a_path_that_leads_elsewhere_is_another_grant() {
    let stage = stage();
    stage.write("home/project/shared/a.md", "a");
    stage.write("home/other/b.md", "b");
    let command = stage.home.join("tools/server");
    for field in ["readPaths", "writePaths"] {
        stage.servers(&json!({ "t": { "command": command, field: ["shared"] } }));
        Up::answering(&stage, "always");
        silent(&stage);
        fs::rename(stage.project.join("shared"), stage.home.join("kept")).unwrap();
        std::os::unix::fs::symlink("../other", stage.project.join("shared")).unwrap();
        let up = Up::answering(&stage, "no");
        assert_eq!(up.actions(), ["server.start"], "{field}: {}", up.shown());
        assert!(up.shown().contains("home/other"), "{}", up.shown());
        drop(up);
        fs::remove_file(stage.project.join("shared")).unwrap();
        fs::rename(stage.home.join("kept"), stage.project.join("shared")).unwrap();
    }
}

#[test]
fn what_cannot_be_pinned_is_said_to_be_unpinned() {
    let stage = stage();
    for name in ["uvx", "npx", "docker"] {
        program(&stage, &format!("home/bin/{name}"), "#!/bin/sh\n");
    }
    program(&stage, "home/.pyenv/shims/python3", "#!/bin/sh\n");
    stage.write("home/server.py", "");
    let script = stage.home.join("server.py");
    stage.servers(&json!({
        "shell": { "command": "sh", "args": ["-c", "exec tools"] },
        "uv": { "command": "uvx", "args": ["mcp-server-git"] },
        "npm": { "command": "npx", "args": ["-y", "mcp-server-x"] },
        "image": { "command": "docker", "args": ["run", "mcp/server"] },
        "shim": { "command": "python3", "args": [script] },
        "pinned": { "command": stage.home.join("tools/server") },
    }));
    let path = ["bin", ".pyenv/shims"]
        .map(|folder| stage.home.join(folder).display().to_string())
        .join(":");
    let creance = |args: &[&str]| {
        let mut command = stage.creance(args);
        command.env("PATH", format!("{path}:/usr/bin:/bin"));
        run(command)
    };
    for command in [&["server", "status"][..], &["dry-run"]] {
        let said = creance(command);
        let unpinned = said.matches("not pinned:").count();
        assert_eq!(unpinned, 5, "{command:?}: {said}");
    }
    for server in ["shell", "uv", "npm", "image", "shim"] {
        let said = creance(&["dry-run", "start", &format!("user/{server}")]);
        assert!(said.contains("not pinned:"), "{server}: {said}");
    }
    let shell =
        json!({ "command": "sh", "args": ["-c", "exec \"$0\"", stage.home.join("tools/server")] });
    stage.servers(&json!({ "t": shell }));
    let up = Up::answering(&stage, "no");
    assert!(
        up.shown().contains("the program is not pinned"),
        "{}",
        up.shown()
    );
}
