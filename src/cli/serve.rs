//! `creance serve`: the gateway on standard input and output.

use clap::Args;

use super::exit::{Exit, Outcome};
use super::out;

/// One MCP server in front of all configured servers. Point your MCP client at it.
///
/// Questions reach you through the client, where it offers elicitation, and through
/// `creance approve` in another terminal. Servers come from ~/.config/creance/config.json, from
/// /etc/creance/config.json, and from .mcp.json and .creance/config.json of the project.
#[derive(Debug, Args)]
#[command(after_help = "\
Example, for Claude Code:
  claude mcp add creance -- creance serve
The variable CREANCE_LOG (error, warn, info, debug) says how much is told on standard error.
Exit code 1 when records of the audit log could not be written.")]
pub(crate) struct ServeArgs {}

pub(crate) async fn run(_args: ServeArgs) -> Outcome {
    out::workspace()?.serve().await?;
    Ok(Exit::Done)
}
