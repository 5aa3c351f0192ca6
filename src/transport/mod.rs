//! MCP connections over pipes: one lossless JSON-RPC peer, a server seen through it (`Upstream`)
//! and the client that started us (`Downstream`). Nothing here judges or knows policy.

mod asks;
mod calls;
mod downstream;
mod error;
mod events;
mod handshake;
mod holds;
mod lines;
mod outbox;
mod receive;
#[cfg(unix)]
mod socket;
mod stdio;
mod tail;
mod tasks;
mod timer;
mod upstream;

pub(crate) use asks::{Account, Ask, Asked, AsksInbox, Origin};
pub(crate) use calls::{CallOptions, Progress, Report};
pub(crate) use downstream::{Downstream, Inbox, Incoming};
pub(crate) use error::CallError;
pub(crate) use events::{UpstreamEvent, UpstreamEvents};
pub(crate) use handshake::{ClientInfo, Known, ServerHello};
pub(crate) use holds::Holds;
pub(crate) use stdio::{stdin, stdout};
pub(crate) use timer::Cancel;
pub(crate) use upstream::{CloseHook, ServerTools, Upstream};

#[cfg(test)]
mod tests;
