//! `creance policy`: one file per command.

mod bundle;
mod check;
mod command;
mod diff;
mod explain;
mod fmt;
mod init;
mod list;
#[cfg(feature = "prove")]
mod proofs;
#[cfg(feature = "prove")]
mod prove;
mod recorded;
mod sarif;
mod schema;
mod test;

pub(crate) use command::{PolicyCommand, run};
