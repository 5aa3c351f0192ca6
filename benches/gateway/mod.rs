//! A gateway of its own for a bench: an empty home, a project, and servers that are the bench program
//! itself, started with `--echo-server`.

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
/// The one tool of the echo server.
pub(crate) const TOOL: &str = "echo";

/// Permits what the bench does, so that nothing is asked and everything is decided and recorded.
const POLICY: &str = r#"
@id("start")
@reason("The bench's own server.")
permit (principal, action in [Action::"start", Action::"sandbox"], resource);

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
                "properties": { "path": { "type": "string" }, "text": { "type": "string" } },
                "required": ["text"],
            },
        }] }),
        Some("tools/call") => json!({ "content": [
            { "type": "text", "text": message["params"]["arguments"]["text"] },
        ] }),
        _ => json!({}),
    };
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
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
        let stage = Self {
            folder: TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?,
            runtime: TempDir::new()?,
        };
        let command = std::env::current_exe()?;
        let servers: BTreeMap<String, Value> = (0..servers)
            .map(|at| {
                let server = json!({ "command": command, "args": [FLAG], "timeoutMs": 60_000 });
                (format!("s{at}"), server)
            })
            .collect();
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
        client.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "bench", "version": "1" },
            }),
        )?;
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

    /// Asks, and waits for the answer; whatever else comes is passed over.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Outcome<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the server ended".into());
            }
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                return Ok(message);
            }
        }
    }

    /// Calls the echo tool and checks what comes back; how long it took.
    pub(crate) fn call(&mut self, name: &str, text: &str) -> Outcome<Duration> {
        let arguments = json!({ "path": "docs/guide.md", "text": text });
        let params = json!({ "name": name, "arguments": arguments });
        let begun = Instant::now();
        let answer = self.request("tools/call", &params)?;
        let took = begun.elapsed();
        if answer["result"]["content"][0]["text"] == text {
            Ok(took)
        } else {
            Err(format!("the echo is another: {answer}").into())
        }
    }

    /// Waits until this many echo tools are listed; their names.
    pub(crate) fn tools(&mut self, count: usize) -> Outcome<Vec<String>> {
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

impl Drop for Client {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
