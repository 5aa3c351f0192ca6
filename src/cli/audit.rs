//! `creance audit`: show and verify the audit log.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use clap::Subcommand;
use creance::{AuditLog, Error, ErrorKind, Filter, Head, OutcomeKind, Shape, Workspace};

use super::exit::{Exit, Outcome};
use super::out;
use super::paint::{Paint, audit_paint};

/// The audit log.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Show records
    #[command(after_help = "Examples:\n  creance audit show --last 20\n  \
                            creance audit show --outcome deny --since 2h\n  \
                            creance audit show --server user/files --json")]
    Show(ShowArgs),
    /// Check the chain: edits, deletions, insertions and reorderings are found
    #[command(
        after_help = "The chain cannot tell that its end was cut off: note the head that is \
                            printed elsewhere and give it with --head.\nExit code 1 when the log \
                            does not hold.\nExample: creance audit verify --head 41:9f86…"
    )]
    Verify(VerifyArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// Another log than this user's
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Only the last N records
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Only records younger than this (`90s`, `2h`, `3d`)
    #[arg(long, value_name = "TIME")]
    since: Option<humantime::Duration>,
    /// Only this action (`tool.call`)
    #[arg(long)]
    action: Option<String>,
    /// Only this server (`user/files`)
    #[arg(long)]
    server: Option<String>,
    /// Only decisions with this outcome
    #[arg(long, value_parser = ["allow", "deny"])]
    outcome: Option<String>,
    /// Several lines a record, with all facts
    #[arg(long)]
    full: bool,
    /// Print the records as JSON Lines
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// Another log than this user's
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// A head that was noted before (`SEQ:DIGEST`): finds a log whose end was cut off
    #[arg(long)]
    head: Option<Head>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: AuditCommand) -> Outcome {
    match command {
        AuditCommand::Show(args) => show(&args),
        AuditCommand::Verify(args) => verify(&args),
    }
}

fn log(file: Option<&PathBuf>) -> Result<PathBuf, Error> {
    match file {
        Some(file) => Ok(file.clone()),
        None => Ok(Workspace::open()?.audit_log()),
    }
}

#[expect(clippy::disallowed_methods, reason = "`--since` counts back from now")]
fn now_ms() -> i64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn show(args: &ShowArgs) -> Outcome {
    let since_ms = args.since.map(|since| {
        let back = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        now_ms().saturating_sub(back)
    });
    let outcome = args.outcome.as_deref().map(|word| match word {
        "allow" => OutcomeKind::Allow,
        _ => OutcomeKind::Deny,
    });
    let filter = Filter {
        since_ms,
        action: args.action.clone(),
        server: args.server.clone(),
        outcome,
        last: args.last,
        ..Filter::default()
    };
    let file = log(args.file.as_ref())?;
    let (records, unread) =
        AuditLog::pick(&file, &filter).map_err(|error| failed(&error.to_string()))?;
    let paint = audit_paint(Paint::for_stdout());
    let shape = if args.full { Shape::Full } else { Shape::Line };
    for record in records {
        if args.json {
            match serde_json::to_string(&record) {
                Ok(text) => out::line(&text),
                Err(error) => out::error_line(&error.to_string()),
            }
        } else {
            out::line(&record.view(shape, paint));
        }
    }
    if unread > 0 {
        out::note(&format!(
            "{unread} lines are no records of this version; `creance audit verify` says more"
        ));
    }
    Ok(Exit::Done)
}

fn verify(args: &VerifyArgs) -> Outcome {
    let file = log(args.file.as_ref())?;
    let report = AuditLog::verify(&file, args.head).map_err(|error| failed(&error.to_string()))?;
    if args.json {
        out::json(&report);
    } else {
        out::line(&report.to_string());
    }
    Ok(if report.ok { Exit::Done } else { Exit::Failed })
}

fn failed(text: &str) -> Error {
    Error::message(ErrorKind::Audit, text)
}
