//! A gateway of its own for a bench: an empty home, a project, and servers that are the bench program
//! itself, started with `--echo-server` (over its pipes) or `--echo-http` (on loopback).

pub(crate) mod http;

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

const FLAG: &str = "--echo-server";
const HTTP_FLAG: &str = "--echo-http";
/// The one tool of the echo server.
pub(crate) const TOOL: &str = "echo";

/// Permits what the bench does, so that nothing is asked and everything is decided and recorded.
const POLICY: &str = r#"
@id("start")
@reason("The bench's own server.")
permit (principal, action in [Action::"start", Action::"sandbox", Action::"server.connect"], resource);

@id("tools")
@reason("The bench's own server.")
permit (principal, action == Action::"server.tools", resource);

@id("calls")
@reason("The bench's own server.")
permit (principal, action == Action::"tool.call", resource)
when { context.args_valid && !context.secrets_in_args };
"#;

/// Serves MCP with one tool that gives its argument back, when this process was started for that.
pub(crate) fn serve_if_asked() -> io::Result<bool> {
    if std::env::args().any(|arg| arg == HTTP_FLAG) {
        return http::echo().map(|()| true);
    }
    if !std::env::args().any(|arg| arg == FLAG) {
        return Ok(false);
    }
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        let message: Value = serde_json::from_str(&line)?;
        if let Some(id) = message.get("id") {
            let mut answer = reply(&message, id).to_string();
            answer.push('\n');
            output.write_all(answer.as_bytes())?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(true)
}

fn reply(message: &Value, id: &Value) -> Value {
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "echo", "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": [{
            "name": TOOL,
            "description": "Gives its text back.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "path": { "type": "string" },
                    "text": { "type": "string" },
                    "times": { "type": "integer", "description": "How often it is given back." },
                },
                "required": ["text"],
            },
        }] }),
        Some("tools/call") => echoed(&message["params"]["arguments"]),
        _ => json!({}),
    };
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn echoed(arguments: &Value) -> Value {
    let text = arguments["text"].as_str().unwrap_or_default();
    let times = arguments["times"].as_u64().unwrap_or(1);
    let text = text.repeat(usize::try_from(times).unwrap_or(1));
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// One call of the echo tool: a text, and how often it comes back.
#[derive(Clone, Copy)]
pub(crate) struct Echo<'a> {
    pub(crate) text: &'a str,
    pub(crate) times: usize,
}

impl Echo<'_> {
    fn params(self, name: &str) -> Value {
        let arguments = json!({ "path": "docs/guide.md", "text": self.text, "times": self.times });
        json!({ "name": name, "arguments": arguments })
    }

    /// Whether an answer is this echo; of a long one the gateway passes on the beginning, and says so.
    fn check(self, answer: &Value) -> Outcome<()> {
        let content = &answer["result"]["content"];
        let text = content[0]["text"].as_str().unwrap_or_default();
        let cut = content[1]["text"].as_str().unwrap_or_default();
        let whole = text.len() == self.text.len() * self.times || cut.contains("Creance cut");
        if whole && text.starts_with(self.text) {
            return Ok(());
        }
        let told: String = answer.to_string().chars().take(300).collect();
        Err(format!("the echo is another: {told}").into())
    }
}

/// Something to put requests to.
pub(crate) trait Peer {
    /// Sends these requests at once and waits for all their answers, in the order of the requests.
    fn requests(&mut self, method: &str, params: &[Value]) -> Outcome<Vec<Value>>;

    /// Asks, and waits for the answer.
    fn request(&mut self, method: &str, params: &Value) -> Outcome<Value> {
        let answers = self.requests(method, std::slice::from_ref(params))?;
        answers.into_iter().next().ok_or_else(|| "no answer".into())
    }

    /// Puts so many calls of the echo tool at once, and checks what comes back; how long all took.
    fn calls(&mut self, name: &str, echo: Echo<'_>, flight: usize) -> Outcome<Duration> {
        let params = vec![echo.params(name); flight];
        let begun = Instant::now();
        let answers = self.requests("tools/call", &params)?;
        let took = begun.elapsed();
        answers.iter().try_for_each(|answer| echo.check(answer))?;
        Ok(took)
    }

    /// Waits until this many echo tools are listed; their names.
    fn tools(&mut self, count: usize) -> Outcome<Vec<String>> {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let answer = self.request("tools/list", &json!({}))?;
            let listed = answer["result"]["tools"].as_array();
            let names: Vec<String> = listed
                .into_iter()
                .flatten()
                .filter_map(|tool| tool["name"].as_str())
                .filter(|name| name.ends_with(TOOL))
                .map(str::to_owned)
                .collect();
            if names.len() == count {
                return Ok(names);
            }
            if Instant::now() > end {
                let why = self.request("tools/call", &json!({ "name": "creance_status" }))?;
                return Err(format!("{} of {count} servers are there: {why}", names.len()).into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Folders of a gateway; gone with it.
pub(crate) struct Stage {
    folder: TempDir,
    /// Sockets want a short path.
    runtime: TempDir,
}

impl Stage {
    /// A home in which `servers` echo servers are configured.
    pub(crate) fn new(servers: usize) -> Outcome<Self> {
        let command = std::env::current_exe()?;
        let server = json!({ "command": command, "args": [FLAG], "timeoutMs": 60_000 });
        Self::with((0..servers).map(|at| (format!("s{at}"), server.clone())))
    }

    /// A home in which these servers are configured.
    pub(crate) fn with(servers: impl Iterator<Item = (String, Value)>) -> Outcome<Self> {
        let stage = Self {
            folder: TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?,
            runtime: TempDir::new()?,
        };
        let servers: BTreeMap<String, Value> = servers.collect();
        let config = json!({ "mcpServers": servers }).to_string();
        stage.write("home/.config/creance/config.json", &config)?;
        stage.write("home/.config/creance/policies/bench.cedar", POLICY)?;
        stage.write("home/project/docs/guide.md", "a guide")?;
        stage.write("home/project/.git/HEAD", "ref: refs/heads/main\n")?;
        Ok(stage)
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let path = self.folder.path().join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, text)
    }

    fn below(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// One command of the binary, in the project.
    pub(crate) fn creance(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_creance"));
        let path: OsString = std::env::var_os("PATH").unwrap_or_default();
        command
            .args(args)
            .current_dir(self.below("home/project"))
            .env_clear()
            .env("HOME", self.below("home"))
            .env("XDG_RUNTIME_DIR", self.runtime.path())
            .env("PATH", path);
        command
    }
}

fn hello() -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "bench", "version": "1" },
    })
}

/// A client of a server, over pipes.
pub(crate) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl Client {
    /// The echo server without anything between.
    pub(crate) fn direct() -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(FLAG);
        Self::start(command)
    }

    /// Starts a server and shakes hands.
    pub(crate) fn start(mut command: Command) -> Outcome<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let input = child.stdin.take().ok_or_else(gone)?;
        let output = BufReader::new(child.stdout.take().ok_or_else(gone)?);
        let mut client = Self {
            child,
            input,
            output,
            last_id: 0,
        };
        client.request("initialize", &hello())?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let mut line = message.to_string();
        line.push('\n');
        self.input.write_all(line.as_bytes())
    }
}

impl Peer for Client {
    /// Whatever else comes is passed over.
    fn requests(&mut self, method: &str, params: &[Value]) -> Outcome<Vec<Value>> {
        let first = self.last_id + 1;
        let mut lines = String::new();
        for params in params {
            self.last_id += 1;
            let id = self.last_id;
            let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            lines.push_str(&message.to_string());
            lines.push('\n');
        }
        self.input.write_all(lines.as_bytes())?;
        let mut answers = BTreeMap::new();
        let mut line = String::new();
        while answers.len() < params.len() {
            line.clear();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the server ended".into());
            }
            let message: Value = serde_json::from_str(&line)?;
            match message["id"].as_u64() {
                Some(id) if id >= first => answers.insert(id, message),
                _ => None,
            };
        }
        Ok(answers.into_values().collect())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
