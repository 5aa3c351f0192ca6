//! MCP over HTTP, as a stream of JSON-RPC lines in and one out: Streamable HTTP of all revisions, and
//! HTTP+SSE of 2024-11-05. Messages pass as they are; whatever goes wrong on the way is an answer to the
//! request that it concerns, never silence.

mod connection;
mod events;
mod exchange;
mod fields;
mod lines;
mod shared;
mod streams;

#[cfg(test)]
pub(crate) use connection::Open;
pub(crate) use connection::{Connection, Endpoint, Kind, Signs, open};
