//! `creance config`: the configuration files.

use clap::Subcommand;

use super::exit::{Exit, Outcome};
use super::out;

/// The configuration files.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Read all configuration files and say what is wrong with them
    #[command(after_help = "Example: creance config check\nExit code 1 when something is wrong.")]
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: ConfigCommand) -> Outcome {
    let ConfigCommand::Check { json } = command;
    let workspace = creance::Workspace::open()?;
    if json {
        out::json(&serde_json::json!({
            "servers": workspace.server_ids(),
            "problems": workspace.problems(),
        }));
    } else {
        for problem in workspace.problems() {
            out::line(problem);
        }
        out::line(&format!("{} servers", workspace.server_ids().len()));
        for id in workspace.server_ids() {
            out::line(&format!("  {id}"));
        }
    }
    let good = workspace.problems().is_empty();
    Ok(if good { Exit::Done } else { Exit::Failed })
}
