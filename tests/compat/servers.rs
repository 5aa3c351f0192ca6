//! Real MCP servers of npm and PyPI behind `creance run --mcp`: they start, list and work.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::raw::Raw;
use crate::real::{self, need, path_text};
use crate::stage::{Stage, tools};
use crate::tools::{GIT, NODE, PYTHON, Tool, User, server_git};

/// How long a server may take until its tools are listed.
const LIMIT: Duration = Duration::from_secs(60);

/// A server, and a call of it.
struct Server {
    name: &'static str,
    needs: &'static [Tool],
    read: String,
    command: Vec<String>,
    call: (&'static str, Value),
    says: &'static str,
}

#[track_caller]
fn check(user: User, server: &Server) {
    let Some(found) = tools(server.name, server.needs, user) else {
        return;
    };
    let stage = Stage::new(user, found);
    stage.outside("command -v git >/dev/null && git init -q . || true");
    let mut args = vec!["run", "--mcp", "--read", &server.read, "--"];
    args.extend(server.command.iter().map(String::as_str));
    let mut raw = Raw::start(stage.creance(&args));
    raw.initialize("2025-11-25");
    let what = format!("{} as {user:?}", server.name);
    let (tool, arguments) = &server.call;
    let end = Instant::now() + LIMIT;
    loop {
        let listed = raw.request("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        if tools.iter().any(|listed| listed["name"] == *tool) {
            break;
        }
        assert!(
            Instant::now() < end,
            "{what}: {tool} is not listed: {listed}"
        );
        while !raw.next().to_string().contains("list_changed") {}
    }
    let params = json!({ "name": tool, "arguments": arguments });
    let answer = raw.request("tools/call", &params).to_string();
    assert!(answer.contains(server.says), "{what}: {answer}");
    raw.leave();
    raw.hangs_up(LIMIT);
}

#[test]
fn of_npm() {
    const TEST: &str = "servers of npm";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    for user in User::all() {
        let Ok(program) = NODE.find(user) else {
            println!("skipped: {TEST} as {user:?}: no node");
            continue;
        };
        let start = |name| vec![path_text(&program.program), node.server(name)];
        let read = path_text(&node.packages);
        check(
            user,
            &Server {
                name: "server-memory",
                needs: &[NODE],
                read: read.clone(),
                command: start("memory"),
                call: ("read_graph", json!({})),
                says: "entities",
            },
        );
        let mut command = start("filesystem");
        command.push(".".to_owned());
        check(
            user,
            &Server {
                name: "server-filesystem",
                needs: &[NODE],
                read,
                command,
                call: ("read_text_file", json!({ "path": "readme.txt" })),
                says: "a project",
            },
        );
    }
}

#[test]
fn of_pypi() {
    const TEST: &str = "a server of PyPI";
    for user in User::all() {
        let Some(found) = tools(TEST, &[PYTHON, GIT], user) else {
            continue;
        };
        let python: &Path = &found[0].program;
        let Some(packages) = need(server_git(python), TEST) else {
            continue;
        };
        check(
            user,
            &Server {
                name: "mcp-server-git",
                needs: &[PYTHON, GIT],
                read: path_text(&packages.folder),
                command: vec![path_text(&packages.program("mcp-server-git"))],
                call: ("git_status", json!({ "repo_path": "." })),
                says: "readme.txt",
            },
        );
    }
}
