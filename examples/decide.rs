//! An agent with tools of its own: it asks first, acts itself, and says what became of it.
//! `cargo run --example decide`
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use creance::{Agent, AuditLog, Decision, Error, Policies, Runner, Session, WorkspaceOptions};
use serde_json::json;

fn main() -> Result<(), Error> {
    creance::helper::run_if_requested();
    tokio::runtime::Runtime::new()?.block_on(work())
}

async fn work() -> Result<(), Error> {
    let stage = tempfile::tempdir()?;
    let (home, project) = (stage.path().join("home"), stage.path().join("project"));
    std::fs::create_dir_all(project.join("docs"))?;
    std::fs::write(project.join("docs/guide.md"), "a guide")?;
    std::fs::write(project.join("notes.txt"), "not for agents")?;
    let options = WorkspaceOptions::apart(home, project);
    let policies = Policies::of_folder("examples/policies")?.into_store()?;
    let log = stage.path().join("log/audit.jsonl");
    let runner = Runner::new(policies, AuditLog::file(&log)?).with_options(options);
    let agent = runner.session(Agent::new("reviewer", "me"))?;
    for path in ["docs/guide.md", "docs/../notes.txt"] {
        println!("{}", read_file(&agent, path).await?);
    }
    agent.end()?;
    println!("{}", AuditLog::verify(&log, None)?);
    Ok(())
}

/// The agent's own tool. It reads the path that was judged, links and `..` resolved.
async fn read_file(agent: &Session, path: &str) -> Result<String, Error> {
    let call = agent.own_call(("own", "read_file"), json!({ "path": path }))?;
    match agent.decide_call(call).await? {
        Decision::Deny(denial) => Ok(format!("denied: {denial}")),
        Decision::Allow(permit) => {
            let effect = agent.spend(permit)?;
            let judged = effect
                .action()
                .paths
                .iter()
                .find_map(|arg| arg.path.as_ref());
            let path = judged.map(|path| path.text.clone()).unwrap_or_default();
            let read = std::fs::read_to_string(path);
            effect.ended(read.as_ref().map(|_| "read").map_err(|_| "not-read"))?;
            Ok(read?)
        }
    }
}
