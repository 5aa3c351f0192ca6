//! One file per effect: takes a permit by value, spends it on one mechanism, records the outcome.

pub(crate) mod agreed;
pub(crate) mod arguments;
pub(crate) mod asks;
mod authorised;
#[cfg(feature = "http")]
mod authority;
pub(crate) mod call;
mod code;
pub(crate) mod command;
mod connected;
mod eras;
pub(crate) mod fetch;
pub(crate) mod hints;
pub(crate) mod launch;
mod line;
mod link;
pub(crate) mod prepare;
pub(crate) mod present;
mod private;
pub(crate) mod reach;
pub(crate) mod remote;
pub(crate) mod reply;
mod server;
mod sheet;
mod shelf;
#[cfg(feature = "http")]
pub(crate) mod sign_in;
mod signals;
mod start_error;
mod terms;
mod tool;
pub(crate) mod tools;
#[cfg(feature = "http")]
mod web;

pub(crate) use eras::Eras;
pub(crate) use line::{Ground, Line};
pub(crate) use reach::Outlets;
pub(crate) use server::Server;
pub(crate) use start_error::StartError;
pub(crate) use tool::Tool;
