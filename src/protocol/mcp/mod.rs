//! The Model Context Protocol over JSON-RPC: revisions, the handshake and calls of tools, as views
//! on trees that lose nothing.

mod call;
mod hello;
mod page;
mod revision;

pub(crate) use call::ToolCall;
pub(crate) use hello::{ClientHello, ServerHello};
pub(crate) use page::{PageError, ToolsPage};
pub(crate) use revision::Revision;

#[cfg(test)]
mod tests;
