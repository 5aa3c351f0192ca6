//! Runs one of the official clients through a script of steps.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::real::{self, need, path_text};

/// Long enough for slow machines, short enough to name the test that hangs.
const LIMIT: Duration = Duration::from_secs(180);

/// An official client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Client {
    Python,
    TypeScript,
}

impl Client {
    pub(crate) const ALL: [Self; 2] = [Self::Python, Self::TypeScript];

    fn command(self, test: &str) -> Option<Command> {
        let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gateway");
        match self {
            Self::Python => {
                let python = need(real::python_client(), test)?;
                let mut command = Command::new(python.program("python"));
                command.arg(format!("{scripts}/client.py"));
                Some(command)
            }
            Self::TypeScript => {
                let node = need(real::node(), test)?;
                let mut command = Command::new(&node.program);
                command
                    .arg(format!("{scripts}/client.mjs"))
                    .arg(path_text(&node.packages));
                Some(command)
            }
        }
    }

    /// Runs the steps against a server; `None` when the client is not to be had here.
    ///
    /// `server` is `{command, args, env, cwd}`. Without `answers` the client offers no elicitation.
    #[track_caller]
    pub(crate) fn run(
        self,
        test: &str,
        server: &Value,
        answers: Option<Value>,
        steps: Value,
    ) -> Option<Value> {
        let mut script = json!({ "server": server, "steps": steps });
        if let Some(answers) = answers {
            script["answers"] = answers;
        }
        self.play(test, &script)
    }

    /// The same in one era of the Python client: `auto` is the newest, `legacy` shakes hands.
    #[track_caller]
    pub(crate) fn run_as(
        self,
        test: &str,
        mode: &str,
        server: &Value,
        steps: Value,
    ) -> Option<Value> {
        self.play(
            test,
            &json!({ "server": server, "steps": steps, "mode": mode }),
        )
    }

    #[track_caller]
    fn play(self, test: &str, script: &Value) -> Option<Value> {
        let mut command = self.command(&format!("{test} ({self:?})"))?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(script.to_string().as_bytes())
            .unwrap();
        let (mut stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (send, ended) = mpsc::channel();
        let reader = thread::spawn(move || {
            let mut text = String::new();
            let read = stdout.read_to_string(&mut text);
            let _gone = send.send(());
            read.map(|_| text)
        });
        // A server that outlives its client may hold standard error open: nobody waits for its end.
        let words = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&words);
        thread::spawn(move || {
            let lines = BufReader::new(stderr).lines().map_while(Result::ok);
            lines.for_each(|line| heard.lock().unwrap().push_str(&(line + "\n")));
        });
        let late = ended.recv_timeout(LIMIT).is_err();
        if late {
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        let (text, words) = (
            reader.join().unwrap().unwrap(),
            words.lock().unwrap().clone(),
        );
        let result = serde_json::from_str(&text)
            .ok()
            .filter(|_| status.success() && !late);
        Some(
            result.unwrap_or_else(|| {
                panic!("{self:?} client: {status}, late: {late}\n{text}\n{words}")
            }),
        )
    }
}
