//! Text to validated settings: server definitions, variables, warnings. Reads no file.

mod audit;
mod command;
mod definition;
mod entry;
mod environment;
mod export;
mod fields;
pub(crate) mod import;
mod interpreters;
mod oauth;
mod organisation;
mod package;
mod parse;
mod problem;
mod remote;
mod scan;
mod secrets;
mod settings;
mod shell;
#[cfg(test)]
mod tests;
mod variables;
mod warnings;
mod wrappers;

pub(crate) use command::{Started, command_name, started};
pub(crate) use definition::{ServerDefinition, difference};
pub(crate) use environment::run_environment;
pub(crate) use export::{GATEWAY, exported, input};
pub(crate) use fields::{FILE_MAX, SYNTAX};
pub(crate) use interpreters::Code;
pub(crate) use organisation::Organisation;
pub(crate) use package::Package;
pub(crate) use parse::{Parsed, SERVERS, parse};
pub(crate) use problem::{ConfigProblem, Origin};
#[cfg(feature = "http")]
pub(crate) use remote::Protocol;
pub(crate) use remote::Remote;
pub(crate) use secrets::looks_secret;
pub(crate) use settings::{AuditSync, Settings, ToolNames};
pub(crate) use variables::Text;
pub(crate) use warnings::{command_warnings, warnings};
