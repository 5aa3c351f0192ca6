//! Signing in to remote servers with OAuth: discovery, registration, the callback, tokens. The only
//! home of the MCP SDK, whose flow stands behind our own HTTP client, stores, callback and checks.
//! Decides nothing: what is asked for comes from here, and goes on with a permit (`enforce/sign_in.rs`).

mod answer;
mod browser;
mod callback;
mod discover;
mod endpoint;
mod entry;
mod error;
mod flow;
mod known;
mod query;
mod sdk;
mod tokens;
mod web;
mod wire;

pub(crate) use browser::{Browser, SystemBrowser};
pub(crate) use endpoint::{Ground, is_local, target_of};
pub(crate) use entry::Client;
pub(crate) use error::SignInError;
pub(crate) use flow::{Prospect, Wanted, prospect};
pub(crate) use tokens::{Refusal, Tokens, forget};
pub(crate) use web::{BODY_MAX, Method, Web, WebFuture, WebReply, WebRequest};

#[cfg(test)]
mod tests;
