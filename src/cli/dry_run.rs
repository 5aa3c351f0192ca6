//! `creance dry-run`: what would be decided, without doing it.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use creance::{Answer, Error, ErrorKind, Forecast, PolicyFiles, PolicyOutcome, Workspace};
use serde_json::Value;

use super::exit::{Exit, Outcome};
use super::out::{self, Form};

/// Shows what would be decided: for each configured server and each of its grants, or for one
/// request. Uses the policies, pins and answers in force, and changes nothing.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  creance dry-run\n  creance dry-run start user/files\n  creance \
                  dry-run connect user/files api.example.com\n  creance \
                  dry-run call user/files read_text_file '{\"path\": \"docs/a.md\"}'\n  creance dry-run \
                  --candidate acme/ --fail-on-change\n\
                  Exit code for one request: 0 allowed, 3 denied, 4 needs an answer."
)]
pub(crate) struct DryRunArgs {
    #[command(subcommand)]
    subject: Option<Subject>,
    /// Policies or a bundle to compare with: shows what they would decide otherwise
    #[arg(long, global = true, value_name = "PATH")]
    candidate: Option<PathBuf>,
    /// Exit code 1 when the candidate, or a bundle in shadow, would decide anything otherwise
    #[arg(long, global = true)]
    fail_on_change: bool,
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
    let agent = workspace.cli_agent();
    let forecast = match &args.subject {
        None => return all(&workspace, &args),
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

fn all(workspace: &Workspace, args: &DryRunArgs) -> Outcome {
    let (agent, form) = (workspace.cli_agent(), args.form);
    let mut forecasts = Vec::new();
    let mut changed = false;
    for id in workspace.server_ids() {
        let forecast = workspace.forecast_start(&id, &agent);
        changed |= forecast
            .as_ref()
            .is_ok_and(|forecast| forecast.shadow.is_some());
        match forecast {
            Ok(forecast) if form.is_json() => forecasts.push(serde_json::json!(forecast)),
            Ok(forecast) => print(&forecast),
            Err(error) if form.is_json() => {
                forecasts.push(serde_json::json!({"resource": id, "error": error.to_string()}));
            }
            Err(error) => out::line(&format!("{id}: cannot start: {error}")),
        }
    }
    if form.is_json() {
        out::json(&forecasts);
    } else if workspace.server_ids().is_empty() {
        out::line("no servers are configured: `creance server add` adds one");
    }
    Ok(if changed && args.fail_on_change {
        Exit::Failed
    } else {
        Exit::Done
    })
}

fn word(outcome: PolicyOutcome) -> String {
    match outcome {
        PolicyOutcome::Allow => "allow".to_owned(),
        PolicyOutcome::Deny => "deny".to_owned(),
        PolicyOutcome::Ask(longest) => {
            let accepted: Vec<&str> = Answer::LADDER
                .into_iter()
                .filter(|answer| *answer >= longest)
                .map(Answer::word)
                .collect();
            format!("ask ({})", accepted.join(", "))
        }
    }
}

fn print(forecast: &Forecast) {
    out::line(&format!(
        "{}: {}",
        forecast.resource,
        word(forecast.outcome)
    ));
    if forecast.parts.len() > 1 {
        for (what, outcome, _) in &forecast.parts {
            out::line(&format!("    {:26} {what}", word(*outcome)));
        }
    }
    for part in &forecast.because {
        out::line(&format!("  because of {}: {}", part.policy, part.reason));
    }
    if let Some(shadow) = &forecast.shadow {
        out::line(&format!("  the other store: {}", word(shadow.outcome)));
        for part in &shadow.because {
            out::line(&format!("    because of {}: {}", part.policy, part.reason));
        }
    }
    for note in &forecast.notes {
        out::line(&format!("  note: {note}"));
    }
}
