//! MCP connections over pipes: one lossless JSON-RPC peer, and a server seen through it.
