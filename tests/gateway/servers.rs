//! Real servers behind `creance serve`: both official clients list and call their tools, and the
//! sandbox holds although the servers themselves would do anything.

use std::fs;

use serde_json::{Value, json};

use crate::client::Client;
use crate::raw::Raw;
use crate::real::{self, need, path_text};
use crate::stage::{SECRET, Stage, node_server, read_paths};

/// Permits everything that can be permitted: what still fails is held by a guard rail or by the
/// sandbox.
const PERMIT_ALL: &str = r#"
@id("all")
@reason("The test permits what can be permitted.")
permit (principal, action, resource);
"#;

/// The text of one result, whichever way it failed.
fn text(result: &Value) -> String {
    ["text", "error"]
        .iter()
        .filter_map(|key| result[key].as_str())
        .collect()
}

fn failed(result: &Value) -> bool {
    result["is_error"] == true || result["error"].is_string()
}

#[test]
fn npm_servers_answer_through_the_gateway() {
    const TEST: &str = "npm_servers_answer_through_the_gateway";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    for client in Client::ALL {
        let stage = Stage::new();
        let graph = path_text(&stage.project.join("graph.json"));
        let mut memory = node_server(node, "memory", &[]);
        memory["env"] = json!({ "MEMORY_FILE_PATH": graph });
        stage.servers(
            &json!({ "everything": node_server(node, "everything", &[]), "memory": memory }),
        );
        stage.policy(PERMIT_ALL);
        let entity = json!({ "name": "hawk", "entityType": "bird", "observations": ["flies"] });
        let steps = json!([
            { "list": "everything__echo" },
            { "list": "memory__create_entities" },
            { "call": "everything__echo", "args": { "message": "hello" } },
            { "call": "everything__get-sum", "args": { "a": 2, "b": 40 } },
            { "call": "memory__create_entities", "args": { "entities": [entity] } },
            { "call": "memory__read_graph" },
        ]);
        let Some(got) = client.run(TEST, &stage.gateway(), None, steps) else {
            continue;
        };
        let result = |n: usize| &got["results"][n];
        assert!(result(1)["missing"].is_null(), "{got}");
        assert!(text(result(2)).contains("hello"), "{got}");
        assert!(text(result(3)).contains("42"), "{got}");
        assert!(text(result(5)).contains("hawk"), "{got}");
        assert!(fs::read_to_string(&graph).unwrap().contains("hawk"));
        stage.audit_verifies();
    }
}

#[test]
fn git_server_answers_through_the_gateway() {
    const TEST: &str = "git_server_answers_through_the_gateway";
    let Some(git) = need(real::python_git(), TEST) else {
        return;
    };
    for client in Client::ALL {
        let stage = Stage::new();
        let project = path_text(&stage.project);
        let server = json!({
            "command": path_text(&git.program("mcp-server-git")),
            "args": ["--repository", project],
            "readPaths": read_paths(),
        });
        stage.servers(&json!({ "git": server }));
        stage.policy(PERMIT_ALL);
        let steps = json!([
            { "list": "git__git_log" },
            { "call": "git__git_log", "args": { "repo_path": project, "max_count": 1 } },
        ]);
        let Some(got) = client.run(TEST, &stage.gateway(), None, steps) else {
            continue;
        };
        assert!(text(&got["results"][1]).contains("first"), "{got}");
        stage.audit_verifies();
    }
}

#[test]
fn npx_server_starts_from_a_warm_cache() {
    const TEST: &str = "npx_server_starts_from_a_warm_cache";
    let Some(cache) = need(real::npx_cache(), TEST) else {
        return;
    };
    let stage = Stage::new();
    copy(cache, &stage.home.join(".npm"));
    let args = ["-y", real::MEMORY];
    let graph = path_text(&stage.project.join("graph.json"));
    let env = json!({ "MEMORY_FILE_PATH": graph });
    let server = json!({ "command": "npx", "args": args, "env": env, "readPaths": read_paths() });
    stage.servers(&json!({ "memory": server }));
    stage.policy(PERMIT_ALL);
    let entity = json!({ "name": "hawk", "entityType": "bird", "observations": ["flies"] });
    let steps = json!([
        { "list": "memory__read_graph" },
        { "call": "memory__create_entities", "args": { "entities": [entity] } },
        { "call": "memory__read_graph" },
    ]);
    for client in Client::ALL {
        let Some(got) = client.run(TEST, &stage.gateway(), None, steps.clone()) else {
            continue;
        };
        assert!(!failed(&got["results"][1]), "{got}");
        assert!(text(&got["results"][2]).contains("hawk"), "{got}");
    }
    let (_, servers) = stage.json(&["server", "status", "--json"]);
    assert_eq!(servers[0]["state"], "agreed", "{servers}");
    assert_eq!(servers[0]["unpinned"], json!(null), "{servers}");
    // What runs is what was hashed: a changed file of the cached package asks again.
    let package = "_npx/*/node_modules/@modelcontextprotocol/server-memory/dist/index.js";
    plant(&stage.home.join(".npm"), package);
    let (_, servers) = stage.json(&["server", "status", "--json"]);
    assert_eq!(
        servers[0]["state"], "its program changed since it was agreed to",
        "{servers}"
    );
}

/// Appends a line to the one file below a folder that this pattern, with one `*`, names.
fn plant(folder: &std::path::Path, pattern: &str) {
    let (head, tail) = pattern.split_once("*/").unwrap();
    let inner = fs::read_dir(folder.join(head)).unwrap().next().unwrap();
    let file = inner.unwrap().path().join(tail);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text + "\n// planted\n").unwrap();
}

/// A folder with everything in it; links stay links.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    let status = std::process::Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(to)
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn filesystem_server_is_held_by_the_sandbox() {
    const TEST: &str = "filesystem_server_is_held_by_the_sandbox";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    for client in Client::ALL {
        let stage = Stage::new();
        // The server is told that it may touch everything: only the line holds it.
        stage.servers(&json!({ "files": node_server(node, "filesystem", &["/"]) }));
        stage.policy(PERMIT_ALL);
        let at = |below: &str| path_text(&stage.project.join(below));
        let home = |below: &str| path_text(&stage.home.join(below));
        let write = |path: String| json!({ "call": "files__write_file", "args": { "path": path, "content": "planted" } });
        let moved = |from: String, to: String| json!({ "call": "files__move_file", "args": { "source": from, "destination": to } });
        let steps = json!([
            { "list": "files__write_file" },
            write(at("new.txt")),
            write(at(".git/hooks/pre-commit")),
            moved(at(".git"), at("git-away")),
            write(home("outside.txt")),
            { "call": "files__read_text_file", "args": { "path": home(".ssh/id_ed25519") } },
            { "call": "files__read_text_file", "args": { "path": home("private.txt") } },
            { "call": "files__directory_tree", "args": { "path": home("") } },
        ]);
        // Paths that look like credentials are asked about even so; the person agrees to everything,
        // and the sandbox still holds.
        let answers = json!([{ "contains": "", "say": "once" }]);
        let Some(got) = client.run(TEST, &stage.gateway(), Some(answers), steps) else {
            continue;
        };
        let result = |n: usize| &got["results"][n];
        assert!(!failed(result(1)), "{got}");
        assert_eq!(fs::read_to_string(at("new.txt")).unwrap(), "planted");
        for n in [2, 3, 4, 5, 6] {
            assert!(failed(result(n)), "step {n}: {got}");
        }
        assert!(!stage.project.join(".git/hooks/pre-commit").exists());
        assert!(stage.project.join(".git/HEAD").exists());
        assert!(!stage.home.join("outside.txt").exists());
        let all = got.to_string();
        assert!(!all.contains(SECRET), "a secret came through: {all}");
        let listed = text(result(7));
        assert!(!failed(result(7)) && listed.contains("notes.txt"), "{got}");
        for hidden in [".ssh", "private.txt", ".config"] {
            assert!(!listed.contains(hidden), "{hidden} is listed: {listed}");
        }
        stage.audit_verifies();
    }
}

#[test]
fn the_gateway_speaks_every_revision_and_leaves_with_its_client() {
    let revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
    for version in revisions {
        let stage = Stage::new();
        stage.servers(&json!({}));
        let mut raw = Raw::start(stage.creance(&["serve"]));
        // Newer clients ask this first; one that does not say who it is may still shake hands.
        let discovered = raw.request("server/discover", &json!({}));
        assert_eq!(discovered["error"]["code"], -32602, "{discovered}");
        let meta = crate::eras::meta(&json!({}));
        let discovered = raw.request("server/discover", &json!({ "_meta": meta }));
        assert_eq!(
            discovered["result"]["resultType"], "complete",
            "{discovered}"
        );
        let answer = raw.initialize(version);
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        assert_eq!(
            answer["result"]["capabilities"]["tools"]["listChanged"], true,
            "{answer}"
        );
        let listed = raw.request("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, [&json!("creance_status")], "{listed}");
        let status = json!({ "name": "creance_status", "arguments": {} });
        let said = raw.request("tools/call", &status);
        let text = said["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("no servers are configured"), "{said}");
        raw.leave();
        assert!(raw.child.wait().unwrap().success());
    }
}

#[test]
fn a_request_with_a_key_twice_is_refused() {
    let stage = Stage::new();
    stage.servers(&json!({}));
    let mut raw = Raw::start(stage.creance(&["serve"]));
    raw.initialize("2025-11-25");
    // Two readers of `name` may see two tools: what is judged must be what is used.
    raw.line(r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"a__b","name":"c__d","arguments":{}}}"#);
    let answer = raw.next();
    assert!(answer["error"]["code"].is_i64(), "{answer}");
}
