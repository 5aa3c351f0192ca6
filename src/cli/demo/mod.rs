//! `creance demo`: the whole product in one minute, with nothing but this binary.

mod acts;
mod attempts;
mod player;
mod row;
mod scene;
mod server;
mod show;

use clap::Args;

use super::exit::{Exit, Outcome};
use super::out::Form;

/// Starts a small MCP server in the sandbox, lets it do its work and then everything a hostile
/// server would try, and shows what happened by which policy or guarantee.
#[derive(Debug, Args)]
#[command(after_help = "Example: creance demo\nExit code 1 if anything got through.")]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    form: Form,
    /// Serve as the demonstration's server (used by the demonstration itself)
    #[arg(long, hide = true)]
    server: bool,
    /// Wait for the end of standard input (used by the fork bomb)
    #[arg(long, hide = true)]
    sleeper: bool,
}

pub(crate) async fn run(args: DemoArgs) -> Outcome {
    if args.sleeper {
        attempts::sleep();
        return Ok(Exit::Done);
    }
    if args.server {
        let _ = server::serve();
        return Ok(Exit::Done);
    }
    show::run(args.form).await
}
