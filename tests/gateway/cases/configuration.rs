//! Configuration files as people write them.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::desk::{Desk, PERMIT_ALL, script, text, tool};

const TOKEN: &str = "s3cr3t-${HOME}";

#[test]
fn mcp_09_documented_forms_expand_once_and_a_missing_variable_costs_one_server() {
    let Some(mut desk) = Desk::new("mcp_09") else {
        return;
    };
    desk.plays("demo", &script(&json!([tool("hello")])));
    let tools = desk.stage.project.join("tools");
    desk.stage.write(
        "home/project/tools/run",
        "#!/usr/bin/env python3\nimport json, os, sys\n\
         names = ('API_TOKEN', 'EMPTY')\n\
         seen = {'args': sys.argv[1:], 'env': {n: os.environ.get(n) for n in names}}\n\
         json.dump(seen, open('case/seen.json', 'w'))\n\
         sys.argv = ['x', 'case/demo.jsonl']\nexec(open('case/fake_server.py').read())\n",
    );
    let made = Command::new("chmod")
        .arg("755")
        .arg(tools.join("run"))
        .status();
    assert!(made.unwrap().success());
    desk.stage.write(
        "home/project/.mcp.json",
        include_str!("../../cases/MCP-09.mcp.json"),
    );
    desk.stage.policy(PERMIT_ALL);
    desk.say("Start the MCP server project/a?", "once");
    let mut command = desk.stage.creance(&["serve"]);
    command.env("TOOLS", &tools).env("TOKEN", TOKEN);
    if std::path::Path::new("/usr/bin/python3").exists() {
        command.env("PATH", "/usr/bin:/bin");
    }
    desk.open_as(command);
    desk.wait_for("a__hello");
    let seen = fs::read_to_string(desk.stage.project.join("case/seen.json")).unwrap();
    let seen: Value = serde_json::from_str(&seen).unwrap();
    let want: Value = serde_json::from_str(include_str!("../../cases/MCP-09.expect.json")).unwrap();
    assert_eq!(seen["args"], want["a"]["args"]);
    assert_eq!(seen["env"], want["a"]["env"]);
    let status = desk.status();
    let asked = desk.asked.join("");
    desk.close();
    for said in [status, asked, desk.stderr()] {
        assert!(!said.contains("s3cr3t"), "{said}");
    }
    let output = desk
        .stage
        .creance(&["config", "check"])
        .env("TOKEN", TOKEN)
        .output()
        .unwrap();
    assert!(!output.status.success());
    let check = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        check.contains("mcpServers.b.env.KEY") && check.contains("NOT_SET"),
        "{check}"
    );
    assert!(!check.contains("s3cr3t"));
    let log = desk
        .records()
        .iter()
        .map(Value::to_string)
        .collect::<String>();
    assert!(!log.contains("s3cr3t"));
}

/// Servers that cannot be used are none that are not there.
#[test]
fn no_usable_server_is_not_no_server() {
    let Some(desk) = Desk::new("no_usable_server") else {
        return;
    };
    let list = |command: &[&str]| {
        let output = desk.stage.creance(command).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let commands: [&[&str]; 2] = [&["server", "list"], &["dry-run"]];
    for command in commands {
        let said = list(command);
        assert!(said.contains("no servers are configured"), "{said}");
    }
    let entry = json!({ "command": "true", "env": { "KEY": "${NOT_SET_ANYWHERE}" } });
    desk.stage.servers(&json!({ "a": entry }));
    for command in commands {
        let said = list(command);
        assert!(
            said.contains("none of the configured servers can be used"),
            "{said}"
        );
    }
}

#[test]
fn mcp_10_comments_and_commas_cost_nothing_and_real_errors_are_placed() {
    let Some(mut desk) = Desk::new("mcp_10") else {
        return;
    };
    let config = include_str!("../../cases/MCP-10.mcp.json");
    desk.stage.write("home/project/.mcp.json", config);
    let output = desk
        .stage
        .creance(&["server", "list", "--json"])
        .output()
        .unwrap();
    let servers: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(servers[0]["id"], "project/web", "{servers}");
    assert_eq!(servers[0]["command"], "https://mcp.example.test/mcp");
    assert_eq!(servers[0]["network"], "remote (http)");
    assert_eq!(servers[1]["id"], "project/fs", "{servers}");
    assert_eq!(
        servers[1]["command"],
        "fs-server --note a, } // not a comment /* either */"
    );

    // With another file's server beside it, a real error costs only its file.
    let good = desk.plays("demo", &script(&json!([tool("hello")])));
    desk.stage.servers(&json!({ "demo": good }));
    desk.stage.policy(PERMIT_ALL);
    let broken = config.replace("\"fs-server\",", "\"fs-server\"");
    desk.stage.write("home/project/.mcp.json", &broken);
    desk.open();
    desk.wait_for("demo__hello");
    assert_eq!(text(&desk.call("demo__hello", &json!({}))), "ok");
    let check = desk.stage.creance(&["config", "check"]).output().unwrap();
    let check = String::from_utf8_lossy(&check.stdout).into_owned();
    let (at, line) = (1..)
        .zip(broken.lines())
        .find(|(_, line)| line.contains("\"command\""))
        .unwrap();
    let place = format!(
        ".mcp.json:{at}:{}: not JSON: expected comma",
        line.len() + 1
    );
    assert!(check.contains(&place), "{place}\n{check}");
    let after = fs::read_to_string(desk.stage.project.join(".mcp.json")).unwrap();
    assert_eq!(after, broken, "the file is left as it is");
}
