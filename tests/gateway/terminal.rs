//! `creance server trust` at a terminal: `script` gives the command one of its own.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::real::{self, need};
use crate::stage::{Stage, node_server};

/// How long the command may be silent.
const LIMIT: Duration = Duration::from_secs(60);

/// A command at a terminal of its own, and the keys that a person presses.
pub(crate) struct Terminal {
    child: Child,
    output: Receiver<Vec<u8>>,
    shown: String,
}

impl Terminal {
    /// `None` where there is no `script` (util-linux).
    fn start(stage: &Stage, args: &str) -> Option<Self> {
        Self::start_with(stage, args, &[])
    }

    /// The same with more variables.
    pub(crate) fn start_with(stage: &Stage, args: &str, more: &[(&str, &str)]) -> Option<Self> {
        let line = format!("'{}' {args}", env!("CARGO_BIN_EXE_creance"));
        let mut command = Command::new("script");
        command
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .current_dir(&stage.project)
            .env_clear()
            .envs(stage.environment())
            .env("TERM", "dumb")
            .envs(more.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let mut stdout = child.stdout.take()?;
        let (send, output) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut bytes) {
                if send.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Some(Self {
            child,
            output,
            shown: String::new(),
        })
    }

    /// Waits until this is shown, and forgets what stood before it.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let end = Instant::now() + LIMIT;
        loop {
            if let Some((before, rest)) = self.shown.split_once(text) {
                let (before, rest) = (before.to_owned(), rest.to_owned());
                self.shown = rest;
                return before;
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("no `{text}` ({error}): {}", self.shown),
            }
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// The rest of the output, and the exit code.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        while let Ok(bytes) = self.output.recv_timeout(LIMIT) {
            self.shown.push_str(&String::from_utf8_lossy(&bytes));
        }
        (self.shown, self.child.wait().unwrap().code())
    }
}

#[test]
fn a_person_agrees_to_a_server_at_the_terminal() {
    const TEST: &str = "a_person_agrees_to_a_server_at_the_terminal";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    let stage = Stage::new();
    stage.servers(&json!({ "memory": node_server(node, "memory", &[]) }));
    let state = || stage.json(&["server", "status", "--json"]).1[0]["state"].clone();
    // (keys, exit code, what is on file afterwards)
    for (keys, want, on_file) in [
        ("n\r", 3, "never agreed to"),
        ("\u{3}", 3, "never agreed to"),
        ("a\r", 0, "agreed"),
    ] {
        let Some(mut terminal) = Terminal::start(&stage, "server trust memory") else {
            println!("skipped: {TEST}: `script` is not there");
            return;
        };
        let question = terminal.wait_for("[N]o:");
        assert!(
            question.contains("Start the MCP server user/memory?"),
            "{question}"
        );
        assert!(
            question.contains("server-memory/dist/index.js"),
            "{question}"
        );
        terminal.press(keys);
        let (said, code) = terminal.end();
        assert_eq!(code, Some(want), "{keys:?}: {said}");
        assert_eq!(state(), on_file, "{keys:?}: {said}");
    }
    // Agreed to for good: nothing is asked, and there need be no terminal.
    let (code, said) = stage.says(&["server", "trust", "memory"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("is agreed to, with 9 tools"), "{said}");
    stage.audit_verifies();
}

/// Without a terminal nobody can be asked, and the exit code says that an answer is needed.
#[test]
fn without_a_terminal_trust_needs_an_answer() {
    const TEST: &str = "without_a_terminal_trust_needs_an_answer";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    let stage = Stage::new();
    stage.servers(&json!({ "memory": node_server(node, "memory", &[]) }));
    let mut command = Command::new("setsid");
    let line = stage.creance(&["server", "trust", "memory"]);
    command
        .arg("--wait")
        .arg(line.get_program())
        .args(line.get_args())
        .current_dir(&stage.project)
        .env_clear()
        .envs(stage.environment())
        .stdin(Stdio::null());
    let Ok(output) = command.output() else {
        println!("skipped: {TEST}: `setsid` is not there");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("nobody can be asked"), "{said}");
}
