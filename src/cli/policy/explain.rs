//! `creance policy explain`: why, clause by clause.

use clap::Args;
use creance::Explanation;

use crate::cli::dry_run::{Subject, arguments};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

/// What is explained.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(subcommand)]
    subject: Subject,
    #[command(flatten)]
    form: Form,
}

pub(super) fn run(args: &ExplainArgs) -> Outcome {
    let workspace = out::workspace()?;
    let agent = workspace.cli_agent();
    let explanation: Explanation = match &args.subject {
        Subject::Start { server } => workspace.explain_start(server, &agent)?,
        Subject::Connect { server, host } => workspace.explain_connect((server, host), &agent)?,
        Subject::Call {
            server,
            tool,
            arguments: text,
        } => workspace.explain_call((server, tool), &arguments(text)?, &agent)?,
    };
    if args.form.is_json() {
        out::json(&explanation);
    } else {
        out::line(&explanation.to_string());
    }
    Ok(Exit::Done)
}
