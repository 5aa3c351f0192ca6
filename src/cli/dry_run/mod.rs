//! `creance dry-run`: what would be decided, without doing it.

mod command;
mod decided;
mod matrix;
mod recorded;
mod servers;

pub(super) use command::arguments;
pub(super) use command::{DryRunArgs, Subject, run};
