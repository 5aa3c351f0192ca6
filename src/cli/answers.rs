//! `creance answers`: what people agreed to for good.

use std::time::{Duration, SystemTime};

use clap::Subcommand;
use creance::Entry;
use serde_json::json;

use super::exit::{Exit, Outcome};
use super::out::{self, Form};

/// Lasting answers.
#[derive(Debug, Subcommand)]
pub(crate) enum AnswersCommand {
    /// List what was answered with "always", and until when it holds
    #[command(after_help = "Example: creance answers list --json")]
    List {
        #[command(flatten)]
        form: Form,
    },
    /// Take answers back: the next request asks again
    #[command(
        after_help = "Example: creance answers revoke 3f9a1c\nA server with all its answers: creance server forget user/files"
    )]
    Revoke {
        /// The answers, by their ids or the first digits of them
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Show an answer as a policy, or write it into your policies
    #[command(
        after_help = "Examples:\n  creance answers rule 3f9a1c           show it\n  creance answers rule 3f9a1c --write   add it to your policies"
    )]
    Rule {
        /// The answer, by its id or the first digits of it
        id: String,
        /// Add it to `answers.cedar` in your policy folder
        #[arg(long)]
        write: bool,
    },
}

pub(crate) fn run(command: &AnswersCommand) -> Outcome {
    let workspace = out::workspace()?;
    match command {
        AnswersCommand::List { form } => list(&workspace.answers()?, *form),
        AnswersCommand::Revoke { ids } => {
            for id in ids {
                let entry = workspace.revoke_answer(id)?;
                out::line(&format!("revoked {}: {}", entry.id(), entry.scope));
            }
        }
        AnswersCommand::Rule { id, write: false } => {
            out::line(workspace.answer_rule(id)?.trim_end());
        }
        AnswersCommand::Rule { id, write: true } => {
            let file = workspace.write_answer_rule(id)?;
            out::line(&format!("added a policy to {}", file.display()));
        }
    }
    Ok(Exit::Done)
}

fn list(entries: &[Entry], form: Form) {
    if form.is_json() {
        out::json(&entries.iter().map(report).collect::<Vec<_>>());
        return;
    }
    for entry in entries {
        out::folded(&format!(
            "{}  {} for {}",
            entry.id(),
            entry.action,
            entry.resource
        ));
        out::folded(&format!("  covers   {}", entry.scope));
        let agent = match entry.principal.as_str() {
            "*" => "any agent",
            agent => agent,
        };
        out::folded(&format!("  for      {agent}"));
        out::folded(&format!(
            "  given    {} by {}",
            day(entry.at_ms),
            entry.channel
        ));
        let until = entry.until_ms.map_or("revoked".to_owned(), day);
        out::folded(&format!(
            "  until    {until}, or until what it is about changes"
        ));
    }
    if entries.is_empty() {
        out::folded("no lasting answers: \"always\" at a question makes one");
    }
}

fn report(entry: &Entry) -> serde_json::Value {
    json!({
        "id": entry.id(),
        "action": entry.action,
        "principal": entry.principal,
        "resource": entry.resource,
        "scope": entry.scope,
        "channel": entry.channel,
        "atMs": entry.at_ms,
        "untilMs": entry.until_ms,
    })
}

/// A day in UTC.
fn day(at_ms: i64) -> String {
    let since = u64::try_from(at_ms).ok().map(Duration::from_millis);
    let at = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
    let text = at.map(|at| humantime::format_rfc3339_seconds(at).to_string());
    text.and_then(|text| text.split_once('T').map(|(day, _)| day.to_owned()))
        .unwrap_or_else(|| format!("{at_ms} ms"))
}
