//! The gateway: one MCP server in front of all configured servers.
