//! `creance policy`: check, explain and list policies.

use std::path::PathBuf;

use clap::Subcommand;
use creance::{Explanation, PolicyEffect, PolicySet, Workspace};

use super::dry_run::{Subject, arguments};
use super::exit::{Exit, Outcome};
use super::out::{self, Form};

/// The policies.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check policies: syntax, schema, layers, and the rules that make them fail closed
    #[command(
        after_help = "Examples:\n  creance policy check              what is in force here\n  \
                            creance policy check my-policies/\nExit code 1 when they cannot be used."
    )]
    Check {
        /// A folder of `.cedar` files, checked as the user's layer
        folder: Option<PathBuf>,
        #[command(flatten)]
        form: Form,
    },
    /// Show how a request would be decided, policy by policy and clause by clause
    #[command(
        after_help = "Examples:\n  creance policy explain start user/files\n  creance policy \
                            explain call user/files write_file '{\"path\": \"docs/a.md\"}'"
    )]
    Explain {
        #[command(subcommand)]
        subject: Subject,
        #[command(flatten)]
        form: Form,
    },
    /// List the policies in force, by layer
    #[command(after_help = "Example: creance policy list --text")]
    List {
        /// With their text
        #[arg(long)]
        text: bool,
        #[command(flatten)]
        form: Form,
    },
}

pub(crate) fn run(command: PolicyCommand) -> Outcome {
    match command {
        PolicyCommand::Check { folder, form } => check(folder.as_ref(), form),
        PolicyCommand::Explain { subject, form } => explain(&subject, form),
        PolicyCommand::List { text, form } => {
            list(if text { Depth::Texts } else { Depth::Names }, form)
        }
    }
}

fn check(folder: Option<&PathBuf>, form: Form) -> Outcome {
    let policies = match folder {
        Some(folder) => creance::Policies::of_folder(folder)?,
        None => Workspace::open()?.policies().clone(),
    };
    if form.is_json() {
        let notices: Vec<_> = policies
            .notices
            .iter()
            .map(|notice| serde_json::json!({"fatal": notice.fatal, "text": notice.text}))
            .collect();
        out::json(&serde_json::json!({
            "usable": policies.whole,
            "digest": policies.store.digest(),
            "files": policies.files,
            "notices": notices,
        }));
    } else {
        for notice in &policies.notices {
            let kind = if notice.fatal { "error" } else { "note" };
            out::line(&format!("{kind}: {notice}"));
        }
        out::line(&format!(
            "{} files, {} policies in force, digest {}",
            policies.files.len(),
            policies.store.list().len(),
            policies.store.digest().short()
        ));
    }
    if policies.whole {
        return Ok(Exit::Done);
    }
    if !form.is_json() {
        out::line("they cannot be used: everything is denied until that is mended");
    }
    Ok(Exit::Failed)
}

fn explain(subject: &Subject, form: Form) -> Outcome {
    let workspace = out::workspace()?;
    let agent = workspace.cli_agent();
    let explanation: Explanation = match subject {
        Subject::Start { server } => workspace.explain_start(server, &agent)?,
        Subject::Connect { server, host } => workspace.explain_connect((server, host), &agent)?,
        Subject::Call {
            server,
            tool,
            arguments: text,
        } => workspace.explain_call((server, tool), &arguments(text)?, &agent)?,
    };
    if form.is_json() {
        out::json(&explanation);
    } else {
        out::line(&explanation.to_string());
    }
    Ok(Exit::Done)
}

/// How much of each policy is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Names,
    Texts,
}

fn list(depth: Depth, form: Form) -> Outcome {
    let workspace = out::workspace()?;
    let store: &PolicySet = &workspace.policies().store;
    let policies = store.list();
    if form.is_json() {
        out::json(&policies);
        return Ok(Exit::Done);
    }
    for policy in policies {
        let effect = match policy.effect {
            PolicyEffect::Permit => "permit",
            PolicyEffect::Forbid => "forbid",
        };
        out::line(&format!(
            "{effect:6} {}  ({}:{})",
            policy.id, policy.file, policy.line
        ));
        out::line(&format!("       {}", policy.reason));
        if depth == Depth::Texts {
            for line in policy.text.lines() {
                out::line(&format!("       | {line}"));
            }
        }
    }
    Ok(Exit::Done)
}
