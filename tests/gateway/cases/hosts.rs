//! Questions about hosts while a server works: the limits of its calls are about the server, and not
//! about the person who thinks.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::desk::{Desk, failed, text};

const POLICY: &str = r#"
@id("ours")
@reason("The test's own server.")
permit (principal, action in [Action::"start", Action::"tool.call"], resource);

@id("listed")
@reason("What its entry names.")
permit (principal, action == Action::"sandbox.network", resource == Host::"listed.test");
"#;

/// How long this server may take for an answer.
const LIMIT: Duration = Duration::from_millis(1_500);

/// Asks the proxy for a host, and prints what it says.
const WANTS: &str = r#"
import socket
def wants(host):
    with socket.create_connection(("127.0.0.1", 61128)) as proxy:
        proxy.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
        return proxy.recv(12).decode()
"#;

const SERVER: &str = include_str!("../../cases/tools/probe_server.py");

/// A server that wants a host at its start, before it answers, and one in each call.
fn server(desk: &Desk) -> Value {
    let probe = format!("{WANTS}\nprint(wants('called.test'))\n");
    desk.stage.write("home/project/case/probe.py", &probe);
    let late = format!("{WANTS}\nwants('started.test')\n{SERVER}");
    desk.stage.write("home/project/case/server.py", &late);
    let mut server = desk.python(&["case/server.py", "case/probe.py"]);
    server["network"] = json!(["listed.test"]);
    for limit in ["timeoutMs", "startTimeoutMs"] {
        server[limit] = json!(LIMIT.as_millis());
    }
    server
}

/// Says no to a question, after more time than the server has.
fn thinks(desk: &mut Desk, host: &str) {
    let question = desk.wait_for_question(&format!("connect to {host}:443"));
    let asked = Instant::now();
    while asked.elapsed() < 2 * LIMIT {
        assert!(!desk.waiting().is_empty(), "nobody waits any more");
    }
    assert!(desk.approve(&question, "no"));
}

/// A person thinks longer than the server may take, at its start and in a call.
#[test]
fn a_servers_time_stands_while_a_person_is_asked_about_a_host() {
    let Some(mut desk) = Desk::new("hosts") else {
        return;
    };
    let server = server(&desk);
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(POLICY);
    desk.open();
    let (_, report) = desk.stage.json(&["doctor", "--json"]);
    if !report.to_string().contains("linux-ns") {
        println!("skipped: no backend here decides hosts one by one");
        return;
    }
    thinks(&mut desk, "started.test");
    desk.wait_for("demo__probe");
    let params = json!({ "name": "demo__probe", "arguments": {} });
    let id = desk.raw().ask("tools/call", &params);
    thinks(&mut desk, "called.test");
    let result = desk.answer(id)["result"].clone();
    assert!(!failed(&result), "{result}");
    assert_eq!(text(&result).trim(), "HTTP/1.1 403");
}
