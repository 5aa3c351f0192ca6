//! JSON-RPC and the Model Context Protocol as data: messages, framing, names, schemas. No I/O.

pub(crate) mod json;
pub(crate) mod mcp;
pub(crate) mod rpc;
pub(crate) mod tools;
