//! The gateway: one MCP server in front of all configured servers. It answers the client at once,
//! starts servers beside it, and says when tools come and go.

mod catalogue;
mod client;
mod elicit;
mod member;
mod pipeline;
mod recall;
mod review;
mod serve;
mod starting;
mod status;
mod watch;

pub(crate) use client::Client;
pub(crate) use elicit::Elicitation;
pub(crate) use member::Member;
pub(crate) use serve::{Gateway, PolicyFiles, Settings};
