//! The guarded client and the transports of MCP against servers that mean no good.

mod client;
mod mcp;
mod played;
