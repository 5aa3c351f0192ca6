//! `creance dry-run`: what would be decided, without doing it.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use creance::{Error, ErrorKind, Forecast, PolicyFiles, PolicyOutcome};
use serde_json::Value;

use super::decided::words;
use super::recorded::{self, Session};
use super::servers::{self, OnChange};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

/// Shows what would be decided about each configured server, its grants and its tools, about one
/// request, or about a recorded session. Uses the policies, pins and answers in force, and changes
/// nothing.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  creance dry-run\n  creance dry-run start user/files\n  creance \
                  dry-run connect user/files api.example.com\n  creance \
                  dry-run call user/files read_text_file '{\"path\": \"docs/a.md\"}'\n  creance dry-run \
                  --candidate acme/ --fail-on-change\n  creance dry-run --audit \
                  session.jsonl --candidate acme/\n\
                  Exit code for one request: 0 allowed, 3 denied, 4 needs an answer; for all servers \
                  and for a session 0."
)]
pub(crate) struct DryRunArgs {
    #[command(subcommand)]
    subject: Option<Subject>,
    /// Policies or a bundle to compare with: shows what they would decide otherwise
    #[arg(long, global = true, value_name = "PATH")]
    candidate: Option<PathBuf>,
    /// Exit code 1 when the candidate, or a bundle in shadow, would decide anything otherwise, or
    /// that cannot be told; with --audit alone, when anything would not be decided as recorded
    #[arg(long, global = true)]
    fail_on_change: bool,
    /// A recorded session, an audit log: decides its requests again
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// With --audit: only this run (its id, or the start of it)
    #[arg(long, requires = "audit", value_name = "ID")]
    run: Option<String>,
    #[command(flatten)]
    form: Form,
}

/// One request.
#[derive(Debug, Subcommand)]
pub(crate) enum Subject {
    /// Starting a configured server
    Start {
        /// The server (`user/files`, or its bare name where only one has it)
        server: String,
    },
    /// Connecting a configured server to a host
    Connect {
        /// The server
        server: String,
        /// The host, with a port other than 443 behind a colon
        #[arg(value_name = "HOST[:PORT]")]
        host: String,
    },
    /// Calling a tool of a configured server
    Call {
        /// The server
        server: String,
        /// The tool's own name
        tool: String,
        /// The arguments, a JSON object
        #[arg(default_value = "{}")]
        arguments: String,
    },
}

/// The arguments of a call, as typed.
pub(crate) fn arguments(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text)
        .map_err(|error| Error::message(ErrorKind::Usage, &format!("the arguments: {error}")))
}

pub(crate) async fn run(args: DryRunArgs) -> Outcome {
    let mut workspace = out::workspace()?;
    if let Some(candidate) = &args.candidate {
        workspace.compare_with(&PolicyFiles::of(candidate)?)?;
    }
    let on_change = if args.fail_on_change {
        OnChange::Fail
    } else {
        OnChange::Go
    };
    if let Some(file) = &args.audit {
        if args.subject.is_some() {
            let text = "a recorded session (--audit) and one request are two dry runs";
            return Err(Error::message(ErrorKind::Usage, text));
        }
        let run = args.run.as_deref();
        let session = Session { file, run };
        return recorded::run(&workspace, &session, (args.form, on_change));
    }
    let agent = workspace.cli_agent();
    let forecast = match &args.subject {
        None => return servers::run(&workspace, args.form, on_change),
        Some(Subject::Start { server }) => workspace.forecast_start(server, &agent)?,
        Some(Subject::Connect { server, host }) => {
            workspace.forecast_connect((server, host), &agent)?
        }
        Some(Subject::Call {
            server,
            tool,
            arguments: text,
        }) => workspace.forecast_call((server, tool), &arguments(text)?, &agent)?,
    };
    if args.form.is_json() {
        out::json(&forecast);
    } else {
        print(&forecast);
    }
    if args.fail_on_change && forecast.shadow.is_some() {
        return Ok(Exit::Failed);
    }
    Ok(match forecast.outcome {
        PolicyOutcome::Allow => Exit::Done,
        PolicyOutcome::Ask(_) => Exit::NeedsAnswer,
        PolicyOutcome::Deny => Exit::Denied,
    })
}

fn print(forecast: &Forecast) {
    out::folded(&format!(
        "{}: {}",
        forecast.resource,
        words(forecast.outcome)
    ));
    if forecast.parts.len() > 1 {
        for (what, outcome, _) in &forecast.parts {
            out::folded(&format!("    {:26} {what}", words(*outcome)));
        }
    }
    for part in &forecast.because {
        out::folded(&format!("  because of {}: {}", part.policy, part.reason));
    }
    if let Some(shadow) = &forecast.shadow {
        out::folded(&format!("  the other store: {}", words(shadow.outcome)));
        let parts = shadow.parts.iter().zip(&forecast.parts);
        for ((what, outcome, _), _) in parts.filter(|(other, now)| other.1 != now.1) {
            out::folded(&format!("    {:26} {what}", words(*outcome)));
        }
        for part in &shadow.because {
            out::folded(&format!("    because of {}: {}", part.policy, part.reason));
        }
    }
    for note in &forecast.notes {
        out::folded(&format!("  note: {note}"));
    }
}
