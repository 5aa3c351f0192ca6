//! A stage with scripted servers, and a client of the gateway that answers questions.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::raw::Raw;
use crate::real::{need, path_text};
use crate::stage::Stage;

/// Permits everything that a policy can permit.
pub(crate) const PERMIT_ALL: &str = r#"
@id("all")
@reason("The test permits what can be permitted.")
permit (principal, action, resource);
"#;

/// Permits that servers start, and nothing else.
pub(crate) const PERMIT_START: &str = r#"
@id("start")
@reason("The test's own servers.")
permit (principal, action in [Action::"start", Action::"sandbox"], resource);
"#;

/// Player of scripts.
const PLAYER: &str = include_str!("../../cases/tools/fake_server.py");

/// How long something that must come may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(40);

/// The python that plays the servers, and what it must read.
struct Python {
    program: String,
    read: Vec<String>,
}

fn python() -> &'static Result<Python, String> {
    static PYTHON: OnceLock<Result<Python, String>> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let system = Path::new("/usr/bin/python3");
        if system.exists() {
            return Ok(Python {
                program: path_text(system),
                read: Vec::new(),
            });
        }
        let code = "import sys; print(sys.executable); print(sys.base_prefix)";
        let output = Command::new("python3").args(["-c", code]).output();
        let output = output.map_err(|error| format!("no python3: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines().map(str::to_owned);
        let program = lines.next().ok_or("python3 does not say where it is")?;
        Ok(Python {
            program,
            read: lines.collect(),
        })
    })
}

/// A stage and the client of its gateway.
pub(crate) struct Desk {
    pub(crate) stage: Stage,
    raw: Option<Raw>,
    answers: Vec<(String, String)>,
    /// The questions that came by elicitation, as text.
    pub(crate) asked: Vec<String>,
    /// How much the gateway tells on standard error.
    pub(crate) level: &'static str,
}

impl Desk {
    /// A desk; `None` after saying why the test is skipped.
    #[track_caller]
    pub(crate) fn new(test: &str) -> Option<Self> {
        if !cfg!(target_os = "linux") {
            println!("skipped: {test}: servers start in a sandbox of Linux");
            return None;
        }
        need(python(), test)?;
        let stage = Stage::new();
        stage.write("home/project/case/fake_server.py", PLAYER);
        Some(Self {
            stage,
            raw: None,
            answers: Vec::new(),
            asked: Vec::new(),
            level: "info",
        })
    }

    /// Writes a script, and gives the definition of the server that plays it.
    pub(crate) fn plays(&self, name: &str, script: &str) -> Value {
        let script = script.trim_end();
        self.stage
            .write(&format!("home/project/case/{name}.jsonl"), script);
        self.python(&[
            "case/fake_server.py",
            &format!("case/{name}.jsonl"),
            "--note",
            &format!("case/{name}.notes"),
        ])
    }

    /// The definition of a server in Python.
    pub(crate) fn python(&self, args: &[&str]) -> Value {
        let python = python().as_ref().unwrap();
        json!({ "command": python.program, "args": args, "readPaths": python.read })
    }

    /// What a server noted.
    pub(crate) fn notes(&self, name: &str) -> Vec<String> {
        let file = self.stage.project.join(format!("case/{name}.notes"));
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Questions whose text holds `part` are answered with `word`; the first that fits counts.
    pub(crate) fn say(&mut self, part: &str, word: &str) {
        self.answers.push((part.to_owned(), word.to_owned()));
    }

    /// Forgets how questions are answered.
    pub(crate) fn say_nothing(&mut self) {
        self.answers.clear();
    }

    /// Starts the gateway. The client offers elicitation when it has answers.
    #[track_caller]
    pub(crate) fn open(&mut self) {
        let command = self.stage.creance(&["serve"]);
        self.open_as(command);
    }

    /// Starts the gateway by a command of its own.
    #[track_caller]
    pub(crate) fn open_as(&mut self, command: Command) {
        self.start(command);
        let elicitation = match self.answers.is_empty() {
            true => json!({}),
            false => json!({ "elicitation": {} }),
        };
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": elicitation,
            "clientInfo": { "name": "creance-cases", "version": "1" },
        });
        let answer = self.request("initialize", &params);
        assert!(answer["result"].is_object(), "{answer}");
        self.raw().notify("notifications/initialized", &json!({}));
    }

    /// Starts the gateway, and says nothing to it.
    pub(crate) fn start(&mut self, mut command: Command) {
        command.env("CREANCE_LOG", self.level);
        let stderr = File::create(self.stderr_file()).unwrap();
        self.raw = Some(Raw::start_with(command, stderr.into()));
    }

    pub(crate) fn raw(&mut self) -> &mut Raw {
        self.raw.as_mut().unwrap()
    }

    fn stderr_file(&self) -> PathBuf {
        self.stage.home.with_file_name("stderr.txt")
    }

    /// What the gateway wrote to standard error.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.stderr_file()).unwrap()).into_owned()
    }

    /// Closes the gateway's input and waits for its end.
    #[track_caller]
    pub(crate) fn close(&mut self) -> ExitStatus {
        let mut raw = self.raw.take().unwrap();
        raw.leave();
        let end = Instant::now() + LIMIT;
        loop {
            if let Some(status) = raw.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "the gateway does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a request and waits for its answer; questions are answered on the way.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.raw().ask(method, params);
        self.answer(id)
    }

    /// Waits for the answer to a request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        let unasked = &mut self.raw.as_mut().unwrap().unasked;
        if let Some(at) = unasked.iter().position(|m| is_answer(m, id)) {
            return unasked.remove(at);
        }
        let end = Instant::now() + LIMIT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.raw().next_within(left);
            let message = message.unwrap_or_else(|| panic!("no answer in time\n{}", self.stderr()));
            if is_answer(&message, id) {
                return message;
            }
            self.heed(message);
        }
    }

    /// Answers a question, or keeps the message for later.
    fn heed(&mut self, message: Value) {
        if message["method"] != "elicitation/create" {
            self.raw().unasked.push(message);
            return;
        }
        let text = message["params"]["message"].as_str().unwrap().to_owned();
        let said = self.answers.iter().find(|(part, _)| text.contains(part));
        let said = said.map(|(_, word)| word.clone());
        self.asked.push(text);
        let result = match said.as_deref() {
            Some("(wait)") => return,
            Some(word) => json!({ "action": "accept", "content": { "answer": word } }),
            None => json!({ "action": "decline" }),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        self.raw().line(&answer.to_string());
    }

    /// The tools, as listed now.
    #[track_caller]
    pub(crate) fn tools(&mut self) -> Vec<Value> {
        let answer = self.request("tools/list", &json!({}));
        answer["result"]["tools"].as_array().unwrap().clone()
    }

    /// Waits until a tool is listed, and gives its item.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, tool: &str) -> Value {
        self.wait_until(&format!("the tool {tool}"), |desk| {
            desk.tools().into_iter().find(|item| item["name"] == tool)
        })
    }

    /// Waits until the status holds a text, and gives the whole status.
    #[track_caller]
    pub(crate) fn wait_for_status(&mut self, part: &str) -> String {
        self.wait_until(part, |desk| {
            Some(desk.status()).filter(|status| status.contains(part))
        })
    }

    /// Looks again at each message that comes, and now and then without one.
    #[track_caller]
    pub(crate) fn wait_until<T>(
        &mut self,
        what: &str,
        mut look: impl FnMut(&mut Self) -> Option<T>,
    ) -> T {
        let end = Instant::now() + LIMIT;
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            if Instant::now() > end {
                let status = self.status();
                panic!("{what} did not come\n{status}\n{}", self.stderr());
            }
            if let Some(message) = self.raw().next_within(Duration::from_millis(200)) {
                self.heed(message);
            }
        }
    }

    /// Calls a tool; the result, or the whole answer when it is an error.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", &params);
        match answer.get("result") {
            Some(result) => result.clone(),
            None => answer,
        }
    }

    /// What `creance_status` says.
    #[track_caller]
    pub(crate) fn status(&mut self) -> String {
        text(&self.call("creance_status", &json!({})))
    }

    /// The records of the audit log; without one that is just being written.
    pub(crate) fn records(&self) -> Vec<Value> {
        let file = self.stage.home.join(".local/state/creance/audit.jsonl");
        let text = fs::read_to_string(file).unwrap();
        text.split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The questions that wait, as `creance approve` lists them.
    pub(crate) fn waiting(&self) -> Vec<Value> {
        let output = self
            .stage
            .creance(&["approve", "--list", "--json"])
            .output();
        String::from_utf8(output.unwrap().stdout)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Waits for a question that holds a text.
    #[track_caller]
    pub(crate) fn wait_for_question(&mut self, part: &str) -> Value {
        self.wait_until(&format!("a question with {part:?}"), |desk| {
            let mut waiting = desk.waiting().into_iter();
            waiting.find(|one| one.to_string().contains(part))
        })
    }

    /// Answers a waiting question in another terminal; whether it was taken.
    pub(crate) fn approve(&self, question: &Value, word: &str) -> bool {
        let id = question["question"]["id"].as_str().unwrap();
        let args = ["approve", "--answer", word, "--id", id];
        self.stage.creance(&args).output().unwrap().status.success()
    }
}

fn is_answer(message: &Value, id: u64) -> bool {
    message["id"] == json!(id) && message.get("method").is_none()
}

/// The text blocks of a result.
pub(crate) fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().cloned().unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(|b| b["text"].as_str()).collect();
    texts.join("\n")
}

/// Whether a result says that the tool failed.
pub(crate) fn failed(result: &Value) -> bool {
    result["isError"] == true
}

/// A script of one server with these tools, which all answer "ok".
pub(crate) fn script(tools: &Value) -> String {
    let hello = json!({
        "on": "initialize",
        "reply": {
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "demo", "version": "1" },
        },
    });
    let list = json!({ "on": "tools/list", "reply": { "tools": tools } });
    let ok = json!({ "type": "text", "text": "ok" });
    let call = json!({ "on": "tools/call", "note": "called", "reply": { "content": [ok] } });
    format!("{hello}\n{list}\n{call}\n")
}

/// A tool that takes anything.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "Says hello.", "inputSchema": { "type": "object" } })
}
