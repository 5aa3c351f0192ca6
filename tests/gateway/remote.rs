//! Remote servers on the loopback address: real ones over each transport, between an official client and
//! the gateway; what is decided, recorded and said about them.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Client;
use crate::real::{self, need};
use crate::stage::Stage;

const ALL: &str = r#"@id("all") @reason("A test.") permit (principal, action, resource);"#;

/// A server that listens, and ends with the test.
pub(crate) struct Listening {
    child: Child,
    port: u16,
}

impl Listening {
    /// Starts a server that takes its port from `PORT`.
    fn start(command: &mut Command) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let quiet = command.env("PORT", port.to_string()).stdin(Stdio::null());
        let child = quiet.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let server = Self {
            child: child.unwrap(),
            port,
        };
        let until = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "the server does not listen");
            sleep(Duration::from_millis(50));
        }
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The reference server, over one of its transports.
pub(crate) fn everything(node: &real::Node, transport: &str) -> Listening {
    let mut command = Command::new(&node.program);
    Listening::start(command.arg(node.server("everything")).arg(transport))
}

fn call(stage: &Stage, name: &str) -> Option<Value> {
    let echo = format!("{name}__echo");
    let steps = json!([
        { "list": echo },
        { "call": echo, "args": { "message": "far" } },
    ]);
    let got = Client::Python.run("remote", &stage.gateway(), None, steps)?;
    assert!(got["results"][0]["missing"].is_null(), "{got}");
    Some(got)
}

fn records(stage: &Stage) -> Vec<Value> {
    let (_, text) = stage.says(&["audit", "show", "--json"]);
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines.collect()
}

#[test]
fn a_real_server_is_reached_over_each_transport() {
    let test = "a_real_server_is_reached_over_each_transport";
    let (Some(node), Some(_)) = (need(real::node(), test), need(real::python_client(), test))
    else {
        return;
    };
    let (new, old) = (everything(node, "streamableHttp"), everything(node, "sse"));
    let entries = [
        json!({ "url": new.url("/mcp") }),
        json!({ "url": new.url("/mcp"), "type": "http" }),
        // The older transport is found out by itself.
        json!({ "url": old.url("/sse") }),
        json!({ "url": old.url("/sse"), "type": "sse" }),
    ];
    for entry in entries {
        let stage = Stage::new();
        stage.servers(&json!({ "far": entry }));
        stage.policy(ALL);
        let got = call(&stage, "far").unwrap();
        assert_eq!(got["results"][1]["text"], "Echo: far", "{entry}: {got}");
        let records = records(&stage);
        let connect = records
            .iter()
            .find(|record| record["action"] == "server.connect");
        let connect = connect.unwrap_or_else(|| panic!("{records:?}"));
        let facts = &connect["facts"][0]["facts"];
        assert_eq!(facts["ip"], "127.0.0.1", "{connect}");
        assert_eq!(facts["ip_class"], "loopback", "{connect}");
        assert_eq!(facts["scheme"], "http", "{connect}");
        assert_eq!(facts["first_time"], true, "{connect}");
        stage.audit_verifies();
        let (code, replayed) = stage.says(&["audit", "replay"]);
        assert_eq!(code, Some(0), "{replayed}");
    }
}

/// The newest client asks once which tools there are, and does not listen for others.
#[test]
fn one_list_of_a_modern_client_has_a_remote_servers_tools() {
    let test = "one_list_of_a_modern_client_has_a_remote_servers_tools";
    let (Some(node), Some(_)) = (need(real::node(), test), need(real::python_client(), test))
    else {
        return;
    };
    let server = everything(node, "streamableHttp");
    let stage = Stage::new();
    stage.servers(&json!({ "far": { "url": server.url("/mcp") } }));
    stage.policy(ALL);
    let steps = json!([{ "list": null }, { "call": "far__echo", "args": { "message": "far" } }]);
    let got = Client::Python.run_as(test, "auto", &stage.gateway(), steps);
    let got = got.unwrap();
    let listed = got["results"][0]["tools"].as_array().unwrap();
    assert!(listed.contains(&json!("far__echo")), "{got}");
    assert_eq!(got["results"][1]["text"], "Echo: far", "{got}");
}

/// A server of the official Python library, which speaks both eras.
#[test]
fn a_python_server_is_reached() {
    let test = "a_python_server_is_reached";
    let Some(python) = need(real::python_client(), test) else {
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gateway/remote.py");
    let server = Listening::start(Command::new(python.program("python")).arg(script));
    let stage = Stage::new();
    stage.servers(&json!({ "far": { "url": server.url("/mcp") } }));
    stage.policy(ALL);
    let got = call(&stage, "far").unwrap();
    assert_eq!(got["results"][1]["text"], "far away", "{got}");
}

#[test]
fn a_remote_server_is_told_of_before_it_is_connected_to() {
    let stage = Stage::new();
    let added = stage.says(&[
        "server",
        "add",
        "far",
        "--url",
        "http://127.0.0.1:47999/mcp?key=hidden-in-the-query",
        "--header",
        "Authorization=Bearer ${TOKEN:-t0ken}",
    ]);
    assert_eq!(added.0, Some(0), "{}", added.1);
    let (_, list) = stage.json(&["server", "list", "--json"]);
    assert_eq!(list[0]["id"], "user/far", "{list}");
    assert_eq!(list[0]["state"], "never agreed to", "{list}");
    let (_, seen) = stage.json(&["dry-run", "--json"]);
    assert_eq!(seen[0]["action"], "server.connect", "{seen}");
    assert_eq!(
        seen[0]["because"][0]["policy"], "builtin/defaults/ask",
        "{seen}"
    );
    stage.policy(ALL);
    // Nothing listens there: of the address only the origin is said.
    let (code, said) = stage.says(&["server", "trust", "far"]);
    assert_ne!(code, Some(0), "{said}");
    assert!(
        said.contains("http://127.0.0.1:47999: no connection"),
        "{said}"
    );
    let log = records(&stage);
    let log = json!(log).to_string();
    for secret in ["t0ken", "hidden-in-the-query"] {
        assert!(
            !said.contains(secret) && !log.contains(secret),
            "{said}\n{log}"
        );
    }
    assert!(log.contains("not-connected"), "{log}");
}

#[test]
fn a_repositorys_server_is_never_inside() {
    let stage = Stage::new();
    stage.policy(ALL);
    let servers = json!({
        "here": { "url": "https://127.0.0.1/mcp" },
        "decimal": { "url": "https://2130706433/mcp" },
        "named": { "url": "https://localhost/mcp" },
        "metadata": { "url": "https://169.254.169.254/latest" },
        "plain": { "url": "http://mcp.example.com/mcp" },
        "taken": { "url": "https://${HOME}.example.com/mcp" },
        "smuggled": { "url": "https://mcp.example.com/mcp", "headers": { "X": "a\r\nHost: b" } },
        "host": { "url": "https://mcp.example.com/mcp", "headers": { "Host": "b" } },
        "user": { "url": "https://me:pw@mcp.example.com/mcp" },
        "both": { "url": "https://mcp.example.com/mcp", "command": "x" },
    });
    stage.write(
        "home/project/.mcp.json",
        &json!({ "mcpServers": servers }).to_string(),
    );
    let (_, said) = stage.says(&["config", "check"]);
    for (name, why) in [
        ("here", "leads to this machine"),
        ("decimal", "leads to this machine"),
        ("named", "leads to this machine"),
        ("metadata", "private network"),
        ("plain", "is not https"),
        ("taken", "takes its host from your environment"),
        ("smuggled", "line break"),
        ("host", "HTTP or MCP fills itself"),
        ("user", "user name or password"),
        ("both", "either started or connected to"),
    ] {
        let told = said
            .lines()
            .any(|line| line.contains(name) && line.contains(why));
        assert!(told, "{name}: {why}\n{said}");
    }
    assert!(!said.contains("me:pw"), "{said}");
}
