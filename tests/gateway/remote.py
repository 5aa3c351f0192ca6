"""A remote server of the official Python library: one tool, on the port that PORT names."""

import os

from mcp.server.mcpserver import MCPServer

server = MCPServer("far")


@server.tool()
def echo(message: str) -> str:
    """Says where it is."""
    return f"{message} away"


server.run(transport="streamable-http", port=int(os.environ["PORT"]))
