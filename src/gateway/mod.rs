//! The gateway: one MCP server in front of all configured servers. It answers the client at once,
//! starts servers beside it, and says when tools come and go.

mod asks;
mod catalogue;
mod client;
mod dispatch;
mod elicit;
mod fetch;
mod follow;
mod greet;
mod logs;
mod member;
mod news;
mod pipeline;
mod recall;
mod review;
mod rounds;
mod serve;
mod shelves;
mod starting;
mod status;
mod subscribe;
mod turn;
mod watch;

pub(crate) use client::Client;
pub(crate) use elicit::Elicitation;
pub(crate) use member::Member;
pub(crate) use serve::{Gateway, PolicyFiles, Settings};
