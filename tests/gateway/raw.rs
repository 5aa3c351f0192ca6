//! A raw JSON-RPC client over pipes, for what the official clients hide: exact bytes, wrong
//! messages, order, and what stays open at the end.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A process that speaks JSON-RPC on its standard streams. Killed when dropped.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Messages that answered none of our requests: notifications and requests of the other side.
    pub(crate) unasked: Vec<Value>,
    /// The message that came last, as it was written.
    pub(crate) last: String,
    last_id: u64,
}

impl Raw {
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with(command, Stdio::inherit())
    }

    /// Starts a process whose standard error goes elsewhere.
    pub(crate) fn start_with(mut command: Command, stderr: Stdio) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr);
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| send.send(line))
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            lines,
            unasked: Vec::new(),
            last: String::new(),
            last_id: 0,
        }
    }

    /// Writes one line as it is.
    pub(crate) fn line(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin
            .write_all(text.as_bytes())
            .and_then(|()| stdin.write_all(b"\n"))
            .unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Sends a request and returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.line(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
        );
        id
    }

    /// Waits for the answer to one request; everything else is kept in `unasked`.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        let answers =
            |message: &Value| message["id"] == json!(id) && message.get("method").is_none();
        if let Some(at) = self.unasked.iter().position(answers) {
            return self.unasked.remove(at);
        }
        loop {
            let message = self.next();
            if answers(&message) {
                return message;
            }
            self.unasked.push(message);
        }
    }

    /// The next message. Every line of standard output is one, or the other side is at fault.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(LIMIT).expect("no message in time");
        self.last.clone_from(&line);
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("not JSON ({error}): {line}"))
    }

    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// The handshake, with no capability of the client.
    #[track_caller]
    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let client = json!({ "name": "creance-raw", "version": "1" });
        let params =
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
        let answer = self.request("initialize", &params);
        self.notify("notifications/initialized", &json!({}));
        answer
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Its output ends: nobody waits for it for ever.
    #[track_caller]
    pub(crate) fn hangs_up(&mut self, limit: Duration) {
        let begun = Instant::now();
        while self.lines.recv_timeout(limit).is_ok() {}
        assert!(begun.elapsed() < limit, "its output stays open");
    }

    /// It ends by itself.
    #[track_caller]
    pub(crate) fn ends_within(&mut self, limit: Duration) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < limit, "it does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The next message, if one comes within this time.
    pub(crate) fn next_within(&mut self, limit: Duration) -> Option<Value> {
        let line = self.lines.recv_timeout(limit).ok()?;
        self.last.clone_from(&line);
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Closes standard input, as a client that leaves does.
    pub(crate) fn leave(&mut self) {
        self.stdin = None;
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
