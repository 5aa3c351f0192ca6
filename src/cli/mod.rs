//! The command line: one file per command. Sees only the public API.

mod answers;
mod approve;
mod args;
mod audit;
mod config;
mod demo;
mod doctor;
mod dry_run;
mod exit;
mod export;
mod import;
mod imported;
mod log;
mod out;
mod paint;
mod policy;
mod run;
mod serve;
mod server;
mod signals;

pub(crate) use args::main;
