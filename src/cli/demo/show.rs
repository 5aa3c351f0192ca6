//! Plays the demonstration: what is tried, what happened, by which policy or guarantee.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use creance::{
    Answer, Approver, AuditLog, Channel, Error, ErrorKind, Guarantee, Question, Reply,
    RunningServer, ServerSpec, Session, Tone, Trigger, Workspace, WorkspaceOptions,
};
use serde::Serialize;
use serde_json::json;

use super::attempts::THROUGH;
use super::scene::{Scene, absent};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out;
use crate::cli::paint::{Paint, Table};

/// One row of the result.
#[derive(Clone, Debug, Serialize)]
struct Row {
    tried: String,
    happened: String,
    by: String,
    /// Whether it came out as it should.
    good: bool,
}

impl Row {
    fn new(tried: &str, happened: impl Into<String>, by: impl Into<String>, good: Good) -> Self {
        Self {
            tried: tried.to_owned(),
            happened: happened.into(),
            by: by.into(),
            good: good == Good::Yes,
        }
    }
}

/// Whether a row came out as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Good {
    Yes,
    No,
}

impl From<bool> for Good {
    fn from(good: bool) -> Self {
        if good { Self::Yes } else { Self::No }
    }
}

/// Answers the demonstration's questions, and says so.
#[derive(Debug, Default)]
struct Player {
    asked: Mutex<Vec<String>>,
}

impl Player {
    fn answer(&self, question: &Question) -> Reply {
        let text = format!("asked: {}", question.asked.title);
        // A tool list that changed behind the user's back is refused; everything else is agreed to.
        let answer = if question.action == "server.tools" {
            Answer::None
        } else {
            Answer::Once
        };
        let said = format!("{text} The demo answers: {}.", answer.word());
        out::note(&said);
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(said);
        Reply {
            answer,
            scope: 0,
            channel: Channel::Demo,
        }
    }

    fn count(&self) -> usize {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

impl Approver for Player {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'a>> {
        Box::pin(std::future::ready(Some(self.answer(question))))
    }

    fn attended(&self) -> bool {
        true
    }
}

pub(super) async fn run(json: bool) -> Outcome {
    let scene = Scene::build().map_err(|e| io("the stage", &e))?;
    let options = WorkspaceOptions::apart(scene.home(), scene.project());
    let workspace = Workspace::open_with(&options)?;
    let player = Arc::new(Player::default());
    let session = workspace.session(Arc::clone(&player) as Arc<dyn Approver>, Trigger::Agent)?;
    out::note("starting a small MCP server of the demonstration's own in the sandbox");
    let (rows, weakened) = match start(&session).await {
        Ok(server) => (play(&scene, &server, &player).await?, weak(&server)),
        Err(error) if error.kind() == ErrorKind::Denied => (vec![refused(&error)], Vec::new()),
        Err(error) => return Err(error),
    };
    finish(&workspace, rows, &weakened, json)
}

fn io(what: &str, error: &std::io::Error) -> Error {
    Error::message(ErrorKind::Io, &format!("{what}: {error}"))
}

async fn start(session: &Session) -> Result<RunningServer, Error> {
    let program = std::env::current_exe().map_err(|e| io("this program", &e))?;
    let program = program.to_string_lossy().into_owned();
    let spec = ServerSpec::stdio("demo", program.clone())
        .arg("demo")
        .arg("--server")
        .read_path(program);
    session.start(spec).await
}

/// The machine offers only a weakened sandbox, and policy refused to start in it.
fn refused(error: &Error) -> Row {
    Row::new(
        "start a server in the sandbox of this machine",
        format!("not started: {error}"),
        "builtin policy on a weakened sandbox",
        Good::Yes,
    )
}

/// Guarantees that do not hold fully here, each with its level.
fn weak(server: &RunningServer) -> Vec<String> {
    let confinement = server.confinement();
    [
        Guarantee::Writes,
        Guarantee::ProtectedPaths,
        Guarantee::Secrets,
        Guarantee::Network,
        Guarantee::Limits,
        Guarantee::TreeKill,
    ]
    .into_iter()
    .filter(|guarantee| !confinement.enforces(*guarantee))
    .map(|guarantee| format!("{} {}", guarantee.name(), confinement.level(guarantee)))
    .collect()
}

async fn play(scene: &Scene, server: &RunningServer, player: &Player) -> Result<Vec<Row>, Error> {
    let mut rows = vec![
        allowed(server).await,
        asked(server, player).await,
        forbidden(server).await,
    ];
    rows.push(rug_pull(server).await?);
    rows.extend(attacks(scene, server).await);
    Ok(rows)
}

async fn allowed(server: &RunningServer) -> Row {
    let reply = server.call("note_add", json!({"text": "hello"})).await;
    let (happened, good) = match reply {
        Ok(reply) => (format!("done: {}", reply.text()), Good::Yes),
        Err(error) => (first_line(&error), Good::No),
    };
    Row::new(
        "call note_add",
        happened,
        "policy user/demo/add-notes",
        good,
    )
}

async fn asked(server: &RunningServer, player: &Player) -> Row {
    let before = player.count();
    let reply = server.call("note_publish", json!({})).await;
    let was_asked = player.count() > before;
    let (happened, good) = match reply {
        Ok(reply) if was_asked => (format!("asked, then done: {}", reply.text()), Good::Yes),
        Ok(_) => ("done without a question".to_owned(), Good::No),
        Err(error) => (first_line(&error), Good::No),
    };
    Row::new(
        "call note_publish",
        happened,
        "policy builtin/defaults/ask",
        good,
    )
}

async fn forbidden(server: &RunningServer) -> Row {
    let (happened, by, good) = match server.call("note_delete", json!({})).await {
        Ok(_) => ("done".to_owned(), String::new(), Good::No),
        Err(error) => (
            first_line(&error),
            policies(&error),
            error.is_denied().into(),
        ),
    };
    Row::new("call note_delete", happened, by, good)
}

async fn rug_pull(server: &RunningServer) -> Result<Row, Error> {
    server.call("turn", json!({})).await?;
    let tried = "call a tool whose description changed since it was agreed to";
    Ok(match server.call("note_add", json!({"text": "x"})).await {
        Ok(_) => Row::new(tried, "done", "", Good::No),
        Err(error) => Row::new(tried, first_line(&error), "pin of the tool list", Good::Yes),
    })
}

async fn attacks(scene: &Scene, server: &RunningServer) -> Vec<Row> {
    let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    let mut rows = Vec::new();
    let (happened, good) = attempt(server, "write", &text(scene.outside())).await;
    let good = good && absent(&scene.outside());
    rows.push(Row::new(
        "write a file outside the project",
        happened,
        "guarantee writes",
        good.into(),
    ));
    let (happened, good) = attempt(server, "hook-by-rename", &text(scene.project())).await;
    let good = good && absent(&scene.hook());
    rows.push(Row::new(
        "plant a git hook, also by renaming .git",
        happened,
        "guarantee protected-paths",
        good.into(),
    ));
    let (happened, good) = attempt(server, "read", &text(scene.secret())).await;
    rows.push(Row::new(
        "read ~/.ssh/id_ed25519",
        happened,
        "guarantee secrets",
        good.into(),
    ));
    let (happened, good) = attempt(server, "connect", scene.address()).await;
    let good = good && scene.connections() == 0;
    rows.push(Row::new(
        "connect out",
        happened,
        "guarantee network",
        good.into(),
    ));
    let (happened, good) = attempt(server, "fork-bomb", "").await;
    rows.push(Row::new(
        "fork bomb",
        happened,
        "guarantee limits",
        good.into(),
    ));
    rows
}

/// What the hostile tool says that it got, and whether it was stopped.
async fn attempt(server: &RunningServer, what: &str, on: &str) -> (String, bool) {
    match server
        .call("attempt", json!({"what": what, "on": on}))
        .await
    {
        Ok(reply) => {
            let text = reply.text();
            let stopped = !text.starts_with(THROUGH);
            (text, stopped)
        }
        Err(error) => (first_line(&error), false),
    }
}

fn first_line(error: &Error) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn policies(error: &Error) -> String {
    let Some(denial) = error.denial() else {
        return String::new();
    };
    let names: Vec<&str> = denial
        .policies()
        .iter()
        .map(|p| p.policy.as_str())
        .collect();
    format!("policy {}", names.join(", "))
}

fn finish(workspace: &Workspace, rows: Vec<Row>, weakened: &[String], json: bool) -> Outcome {
    let report = AuditLog::verify(workspace.audit_log(), None)
        .map_err(|e| Error::message(ErrorKind::Audit, &e.to_string()))?;
    let good = rows.iter().all(|row| row.good) && report.ok;
    if json {
        out::json(&json!({
            "rows": rows,
            "weakened": weakened,
            "audit": report,
            "held": good,
        }));
    } else {
        let paint = Paint::for_stdout();
        let mut table = Table::new(["tried", "what happened", "by"]);
        for row in &rows {
            let tone = if row.good { Tone::Plain } else { Tone::Warning };
            table.row([
                (tone, row.tried.as_str()),
                (tone, row.happened.as_str()),
                (Tone::Quiet, row.by.as_str()),
            ]);
        }
        out::line("");
        out::line(paint.text(&table.lines(paint.width)).trim_end());
        out::line("");
        for weak in weakened {
            out::line(&format!(
                "weakened on this machine: {weak} (`creance doctor` says why)"
            ));
        }
        out::line(report.to_string().trim_end());
        let verdict = if good {
            "nothing got through"
        } else {
            "SOMETHING GOT THROUGH"
        };
        out::line(verdict);
    }
    Ok(if good { Exit::Done } else { Exit::Failed })
}
