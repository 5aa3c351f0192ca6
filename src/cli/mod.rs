//! The command line: one file per command.

mod approve;
mod paint;
