//! The public handles; wires the floors together. `Runner` is for programs that embed Creance,
//! `Workspace` is what the command line works with: everything found on this machine.

mod answers;
mod effect;
mod error;
mod follow;
mod forecast;
mod manage;
mod policies;
mod reach;
#[expect(
    clippy::module_inception,
    reason = "the runner is the noun of this floor and of this file"
)]
mod runner;
mod serve;
mod server;
mod session;
mod spec;
mod workspace;

pub use effect::Effect;
pub use error::{Error, ErrorKind};
pub use forecast::Forecast;
pub use manage::ServerReport;
pub use policies::{Policies, PolicyNotice};
pub use reach::Reach;
pub use runner::Runner;
pub use server::{RunningServer, ToolReply, ToolSummary};
pub use session::Session;
pub use spec::{CommandExit, CommandSpec, ServerSpec};
pub use workspace::{Workspace, WorkspaceOptions};
