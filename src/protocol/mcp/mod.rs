//! The Model Context Protocol over JSON-RPC: revisions, the handshake and calls of tools, as views
//! on trees that lose nothing.

mod call;
mod hello;
mod page;
mod revision;

pub(crate) use call::ToolCall;
pub(crate) use hello::{ClientHello, agreed_revision};
pub(crate) use page::ToolsPage;
pub(crate) use revision::Revision;

#[cfg(test)]
mod tests;
