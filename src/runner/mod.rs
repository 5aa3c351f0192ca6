//! The public handles; wires the floors together. `Runner` is for programs that embed Creance,
//! `Workspace` is what the command line works with: everything found on this machine.

mod answers;
mod beginning;
mod bundle_info;
mod effect;
mod error;
mod export;
mod follow;
mod forecast;
mod import;
mod manage;
mod notice;
mod organisation;
mod outlook;
mod policies;
mod policy_files;
mod posture;
#[cfg(feature = "prove")]
mod prove;
mod reach;
mod release;
#[expect(
    clippy::module_inception,
    reason = "the runner is the noun of this floor and of this file"
)]
mod runner;
mod serve;
#[cfg(feature = "http")]
mod serve_http;
mod server;
mod session;
#[cfg_attr(not(feature = "http"), path = "sign_in_absent.rs")]
mod sign_in;
mod spec;
#[cfg(unix)]
#[cfg(test)]
mod tests;
mod typed_tools;
mod workspace;

pub use bundle_info::BundleInfo;
pub use effect::Effect;
pub use error::{Error, ErrorKind};
pub use export::{Changed, ExportReport, Leaving, RollbackReport};
pub use forecast::{Forecast, Shadow};
pub use import::{ImportOptions, ImportPlan, ImportReport, PolicyImport, ServerImport};
pub use manage::ServerReport;
pub use notice::{NoticePlace, PolicyNotice};
pub use outlook::{Outlook, ToolOutlook};
pub use policies::Policies;
pub use policy_files::PolicyFiles;
pub use posture::Posture;
#[cfg(feature = "prove")]
pub use prove::{Proof, ProofStep, Proved, Solver};
pub use reach::Reach;
pub use release::{Draft, read_bundle, replace_file, verify_bundle, write_file};
pub use runner::Runner;
#[cfg(feature = "http")]
pub use serve_http::{HttpOptions, HttpServer};
pub use server::{RunningServer, ToolReply, ToolSummary};
pub use session::Session;
pub use spec::{CommandExit, CommandSpec, ServerSpec};
pub use typed_tools::{Relocked, TypedTool, Untyped};
pub use workspace::{Workspace, WorkspaceOptions};
