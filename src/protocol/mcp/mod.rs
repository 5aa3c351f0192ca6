//! The Model Context Protocol over JSON-RPC: revisions of both eras, the handshake, calls and lists, as
//! views on trees that lose nothing.

mod call;
pub(crate) mod era;
mod hello;
mod page;
mod prompt;
mod revision;
pub(crate) mod template;

pub(crate) use call::{ToolCall, progress_token};
pub(crate) use era::{Envelope, Era, LogLevel};
pub(crate) use hello::{ClientHello, agreed_revision};
pub(crate) use page::{Listing, Page, Pages};
pub(crate) use prompt::PromptCall;
pub(crate) use revision::Revision;

#[cfg(test)]
mod tests;
