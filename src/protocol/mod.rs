//! JSON-RPC and the Model Context Protocol as data: messages, framing, names, schemas. No I/O.

pub(crate) mod asks;
pub(crate) mod bench;
pub(crate) mod json;
pub(crate) mod mcp;
pub(crate) mod names;
pub(crate) mod rpc;
pub(crate) mod schema;
pub(crate) mod tools;
