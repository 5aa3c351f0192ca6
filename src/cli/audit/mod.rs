//! `creance audit`: the audit log.

mod command;
mod export;
mod key;
mod replay;
mod show;
mod stats;
mod verify;
mod which;

pub(crate) use command::{AuditCommand, run};
pub(crate) use which::failed;
