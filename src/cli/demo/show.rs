//! Plays the demonstration and shows it: what was tried, what happened, by which policy or guarantee.

use std::collections::BTreeMap;
use std::sync::Arc;

use creance::{
    Approver, AuditLog, Error, ErrorKind, Report, RunningServer, ServerSpec, Session, Tone,
    Trigger, Workspace, WorkspaceOptions,
};
use serde_json::json;

use super::acts::{self, Acts};
use super::player::Player;
use super::row::{Good, Row, denied};
use super::scene::Scene;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};
use crate::cli::paint::{Paint, Table};
use crate::cli::signals;

/// What came out.
struct Played {
    rows: Vec<Row>,
    /// Policy let no server start in the sandbox of this machine.
    refused: bool,
}

/// Plays. An interrupt ends it early; the stage goes either way.
pub(super) async fn run(form: Form) -> Outcome {
    tokio::select! {
        outcome = play(form) => outcome,
        signal = signals::ending() => Ok(Exit::Code(signals::code(signal))),
    }
}

async fn play(form: Form) -> Outcome {
    let scene = Scene::build().map_err(|e| io("the stage", &e))?;
    let options = WorkspaceOptions::apart(scene.home(), scene.project());
    let workspace = Workspace::open_with(&options)?;
    let player: Arc<dyn Approver> = Arc::new(Player);
    let session = workspace.session(player, Trigger::Agent)?;
    out::note("starting a small MCP server of the demonstration's own in the sandbox");
    let played = match start(&session).await {
        Ok(server) => {
            let acts = Acts {
                scene: &scene,
                workspace: &workspace,
                server: &server,
            };
            let rows = acts.play().await?;
            server.shutdown().await?;
            Played {
                rows,
                refused: false,
            }
        }
        Err(error) if error.is_denied() => refused(&scene, &error),
        Err(error) => return Err(error),
    };
    session.end()?;
    finish(&workspace, &played, form)
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

/// Right where the sandbox of this machine is too weak, and nowhere else.
fn refused(scene: &Scene, error: &Error) -> Played {
    let machine = creance::examine();
    let policies = error.denial().map(|denial| {
        let names = denial.policies().iter().map(|b| b.policy.as_str());
        names.collect::<Vec<_>>().join(", ")
    });
    let mut rows = vec![Row::new(
        "start a server",
        denied(error),
        policies.unwrap_or_default(),
        Good::from(!machine.ok()),
    )];
    rows.extend(acts::not_tried(scene, &machine.confinement));
    Played {
        rows,
        refused: true,
    }
}

fn finish(workspace: &Workspace, played: &Played, form: Form) -> Outcome {
    let report = AuditLog::verify(workspace.audit_log(), None)
        .map_err(|e| Error::message(ErrorKind::Audit, &e.to_string()))?;
    let stopped = played.rows.iter().all(|row| row.good) && report.ok;
    // What runs in a weakened sandbox is not held, even if this server did not get through.
    let weakened = played.rows.iter().any(|row| row.weakened.is_some());
    let held = stopped && (played.refused || !weakened);
    if form.is_json() {
        out::json(&json!({
            "rows": played.rows,
            "refused": played.refused,
            "audit": report,
            "held": held,
        }));
    } else {
        table(&played.rows);
        let verdict = match (played.refused, stopped, held) {
            (true, _, true) => "policy refuses to start a server in this sandbox",
            (_, false, _) => "SOMETHING GOT THROUGH",
            (_, true, false) => "nothing got through, but the sandbox of this machine is WEAKENED",
            (_, true, true) => "nothing got through",
        };
        close(&played.rows, &report, verdict);
    }
    Ok(if held { Exit::Done } else { Exit::Failed })
}

fn table(rows: &[Row]) {
    let paint = Paint::for_stdout();
    let mut table = Table::new(["tried", "what happened", "by"]);
    for row in rows {
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
}

fn close(rows: &[Row], report: &Report, verdict: &str) {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows {
        if let Some(why) = &row.weakened {
            reasons.entry(why).or_default().push(&row.tried);
        }
    }
    for (why, tried) in reasons {
        out::line(&format!("weakened here: {}: {why}", tried.join("; ")));
    }
    out::line(&format!("audit log: {}", report.to_string().trim_end()));
    out::line(verdict);
}
