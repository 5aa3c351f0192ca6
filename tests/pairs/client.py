"""The Python client in one era (`client.py auto|legacy`), driven as client.mjs says."""

import json
import sys

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters


async def agree(_context, params):
    """Says yes for this session to what Creance asks."""
    field = params.requested_schema["properties"]["answer"]
    offered = field.get("enum") or [one["const"] for one in field["oneOf"]]
    answer = next((word for word in offered if word.startswith("session")), offered[0])
    return types.ElicitResult(action="accept", content={"answer": answer})


async def main():
    script = json.load(sys.stdin)
    server = StdioServerParameters(**{key: script[key] for key in ("command", "args", "env", "cwd")})
    async with Client(server, mode=sys.argv[1], elicitation_callback=agree) as client:
        tools = []
        with anyio.move_on_after(30):
            while script["call"]["name"] not in tools:
                tools = [tool.name for tool in (await client.list_tools()).tools]
                # A question to a client of 2026-07-28 rides on its calls.
                await client.call_tool("creance_status", {})
                await anyio.sleep(0.1)
        result = await client.call_tool(script["call"]["name"], script["call"]["arguments"])
        version = getattr(client, "protocol_version", None)
        told = {"content": [block.model_dump(mode="json") for block in result.content], "isError": bool(result.is_error)}
        print(json.dumps({"version": version, "tools": tools, "result": told}))


anyio.run(main)
