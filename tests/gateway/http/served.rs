//! A gateway that serves over HTTP, and a raw client of it: exact bytes, in the order of the test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stage::Stage;

/// How long an answer may take.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// Permits everything that a policy can permit.
const PERMIT_ALL: &str = r#"
@id("all")
@reason("The test permits what can be permitted.")
permit (principal, action, resource);
"#;

/// A server of one tool that answers, one that takes long, and says on a file that it was cancelled.
pub(super) const SERVER: &str = r#"
import json, sys, threading, time, os
out = threading.Lock()
cancelled = set()
def send(message):
    with out:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()
def tool(name):
    return {"name": name, "description": name, "inputSchema": {"type": "object"}}
def call(id, params):
    name, arguments = params["name"], params.get("arguments", {})
    if name == "slow":
        token = (params.get("_meta") or {}).get("progressToken")
        for step in range(600):
            if id in cancelled:
                open("cancelled.txt", "w").write("yes")
                return
            if token is not None:
                send({"method": "notifications/progress", "params": {"progressToken": token, "progress": step}})
            time.sleep(0.05)
            if step >= arguments.get("steps", 1000):
                break
    text = arguments.get("text", "") * arguments.get("times", 1)
    send({"id": id, "result": {"content": [{"type": "text", "text": text}]}})
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        send({"id": m["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}})
    elif m.get("method") == "tools/list":
        send({"id": m["id"], "result": {"tools": [tool("echo"), tool("slow")]}})
    elif m.get("method") == "tools/call":
        threading.Thread(target=call, args=(m["id"], m["params"]), daemon=True).start()
    elif m.get("method") == "notifications/cancelled":
        cancelled.add(m["params"]["requestId"])
"#;

/// A gateway that serves over HTTP. Killed when dropped.
#[derive(Debug)]
pub(super) struct Served {
    child: Child,
    pub(super) address: String,
    pub(super) token: String,
}

impl Served {
    /// Serves the stage on a free port, with the tokens `own` and `other`.
    pub(super) fn start(stage: &Stage, more: &[&str]) -> Self {
        let own = "a".repeat(40);
        let other = "b".repeat(40);
        let tokens = stage.home.join("tokens");
        std::fs::write(&tokens, format!("own {own}\nother {other}\n")).unwrap();
        private(&tokens);
        let tokens = tokens.to_string_lossy().into_owned();
        let mut args = vec!["serve", "--http", "127.0.0.1:0"];
        if !more.contains(&"--no-token") {
            args.extend(["--token-file", &tokens]);
        }
        args.extend(more);
        let mut command = stage.creance(&args);
        let mut child = command
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut address = None;
        let mut all = String::new();
        while address.is_none() {
            let mut line = String::new();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended: {all}");
            let found = line.split("http://").nth(1);
            address = found.and_then(|rest| Some(rest.split_once("/mcp")?.0.to_owned()));
            all.push_str(&line);
        }
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let address = address.unwrap();
        Self {
            child,
            address,
            token: own,
        }
    }

    /// One with the server above.
    pub(super) fn with_server(stage: &Stage) -> Self {
        stage.write("home/project/server.py", SERVER);
        let system = std::path::Path::new("/usr/bin/python3");
        let python = if system.exists() {
            "/usr/bin/python3"
        } else {
            "python3"
        };
        let read = crate::stage::read_paths();
        let server = json!({ "command": python, "args": ["server.py"], "writePaths": ["."], "readPaths": read });
        stage.servers(&json!({ "s": server }));
        stage.policy(PERMIT_ALL);
        Self::start(stage, &[])
    }

    pub(super) fn other(&self) -> String {
        "b".repeat(40)
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }

    /// Sends bytes, ends nothing, and reads one response.
    pub(super) fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // It may be cut off while it writes: the answer counts.
        let _ = stream.write_all(bytes);
        Answer::read(stream)
    }

    /// A request with these fields beside `Host`.
    pub(super) fn send(&self, method: &str, fields: &[(&str, &str)], body: &str) -> Answer {
        self.raw(self.head(method, fields, body).as_bytes())
    }

    fn head(&self, method: &str, fields: &[(&str, &str)], body: &str) -> String {
        let mut head = format!("{method} /mcp HTTP/1.1\r\n");
        if !fields.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
    }

    /// A POST as clients make it.
    pub(super) fn post(&self, more: &[(&str, &str)], body: &Value) -> Answer {
        self.post_as(&self.token, more, body)
    }

    pub(super) fn post_as(&self, token: &str, more: &[(&str, &str)], body: &Value) -> Answer {
        let bearer = format!("Bearer {token}");
        let fields = standing(&bearer, more);
        self.send("POST", &fields, &body.to_string())
    }

    /// Opens a session; its id.
    pub(super) fn session(&self, revision: &str) -> String {
        let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "raw", "version": "1" } });
        let answer = self.post(&[], &request(1, "initialize", &params));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["result"]["protocolVersion"], revision);
        let id = answer.field("mcp-session-id").unwrap().to_owned();
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(&[("Mcp-Session-Id", &id)], &note).status, 202);
        id
    }

    /// Waits until the server's tools are there.
    pub(super) fn ready(&self, session: &str) {
        let begun = Instant::now();
        loop {
            let list = self.post(
                &[("Mcp-Session-Id", session)],
                &request(2, "tools/list", &json!({})),
            );
            if list.body.contains("s__echo") {
                return;
            }
            assert!(begun.elapsed() < LIMIT, "{list:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A call whose response is not read.
    pub(super) fn leave_open(&self, session: &str, body: &Value) -> TcpStream {
        let bearer = format!("Bearer {}", self.token);
        let fields = standing(&bearer, &[("Mcp-Session-Id", session)]);
        let mut stream = self.connect();
        let text = self.head("POST", &fields, &body.to_string());
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }
}

pub(super) fn standing<'a>(
    bearer: &'a str,
    more: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let mut fields = vec![
        ("Authorization", bearer),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    fields.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
    fields.extend(more.iter().filter(|(_, value)| !value.is_empty()));
    fields
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn private(path: &std::path::Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// One response.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    /// Reads a response to its end, whichever way that is said.
    pub(super) fn read(stream: TcpStream) -> Self {
        let mut from = BufReader::new(stream);
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if !matches!(from.read_line(&mut line), Ok(1..)) || line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let mut answer = Self {
            status: status.unwrap_or(0),
            head,
            body: String::new(),
        };
        let mut body = Vec::new();
        if answer.field("transfer-encoding").is_some() {
            chunks(&mut from, &mut body);
        } else if let Some(length) = answer.field("content-length") {
            body = vec![0; length.parse().unwrap()];
            from.read_exact(&mut body).unwrap();
        }
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The messages of a stream.
    pub(super) fn events(&self) -> Vec<Value> {
        let data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        let messages = data.filter(|text| !text.trim().is_empty());
        messages
            .map(|text| serde_json::from_str(text).unwrap())
            .collect()
    }
}

fn chunks(from: &mut BufReader<TcpStream>, body: &mut Vec<u8>) {
    loop {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        let length = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
        let mut chunk = vec![0; length + 2];
        if length == 0 || from.read_exact(&mut chunk).is_err() {
            return;
        }
        body.extend_from_slice(&chunk[..length]);
    }
}
