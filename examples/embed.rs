//! An agent that starts an MCP server in the sandbox and calls its tools. The server is this program
//! again, so that the example needs nothing else: `cargo run --example embed`.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use creance::{Agent, AuditLog, Error, Policies, Runner, ServerSpec, WorkspaceOptions};
use serde_json::json;

fn main() -> Result<(), Error> {
    // The first line of `main`: the sandbox's helper is this very program, started again.
    creance::helper::run_if_requested();
    if std::env::args().nth(1).as_deref() == Some("--notes") {
        return Ok(notes::serve()?);
    }
    tokio::runtime::Runtime::new()?.block_on(review())
}

async fn review() -> Result<(), Error> {
    // A home and a project of the example's own; leave the options out for those of this process.
    let stage = tempfile::tempdir()?;
    let (home, project) = (stage.path().join("home"), stage.path().join("project"));
    std::fs::create_dir_all(&project)?;
    let options = WorkspaceOptions::apart(home, project);
    let policies = Policies::of_folder("examples/policies")?.into_store()?;
    let log = stage.path().join("log/audit.jsonl");
    let runner = Runner::new(policies, AuditLog::file(&log)?).with_options(options);
    let agent = runner.session(Agent::new("reviewer", "me"))?;

    let program = std::env::current_exe()?.display().to_string();
    let spec = ServerSpec::stdio("notes", program).arg("--notes");
    match agent.start(spec).await {
        Ok(server) => {
            println!("confined: {}", server.confinement());
            for (tool, arguments) in [("read", json!({"name": "plan"})), ("delete", json!({}))] {
                match server.call(tool, arguments).await {
                    Ok(reply) => println!("{tool}: {}", reply.text()),
                    Err(error) if error.is_denied() => println!("{tool}: {error}"),
                    Err(error) => return Err(error),
                }
            }
            server.shutdown().await?;
        }
        // The sandbox of this machine does not hold what the policies ask for.
        Err(error) if error.is_denied() => println!("not started: {error}"),
        Err(error) => return Err(error),
    }
    agent.end()?;
    println!("{}", AuditLog::verify(&log, None)?);
    Ok(())
}

/// A small MCP server, in place of yours.
mod notes {
    use std::io::{BufRead, Write};

    use serde_json::{Value, json};

    /// Serves on standard input and output until the input closes.
    pub(crate) fn serve() -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        for line in std::io::stdin().lock().lines() {
            let message: Value = serde_json::from_str(&line?)?;
            let result = match message.get("method").and_then(Value::as_str) {
                Some("initialize") => json!({
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "notes", "version": "1"},
                }),
                Some("tools/list") => json!({"tools": [
                    {"name": "read", "description": "Reads a note.", "inputSchema": {"type": "object"}},
                    {"name": "delete", "description": "Deletes all notes.", "inputSchema": {"type": "object"}},
                ]}),
                Some("tools/call") => json!({"content": [{"type": "text", "text": "ship it"}]}),
                _ => continue,
            };
            writeln!(
                out,
                "{}",
                json!({"jsonrpc": "2.0", "id": message.get("id"), "result": result})
            )?;
            out.flush()?;
        }
        Ok(())
    }
}
