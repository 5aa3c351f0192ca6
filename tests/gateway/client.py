"""The official Python client, driven by a script of steps: JSON on stdin, JSON on stdout.

{"server": {"command", "args", "env", "cwd"}, "mode": "auto" (the newest era) or "legacy",
 "answers": [{"contains": "text of the question", "say": "once"}]   absent: no elicitation offered
 "steps": [{"list": "name to wait for" or null, "within_s": 30}, {"call": "tool", "args": {}},
           {"prompts": null}, {"prompt": "name", "args": {}}, {"resources": null}, {"read_first": null},
           {"complete": "prompt", "argument": "name", "value": "text"}]}

gives {"version" (Python only), "server", "instructions", "results": [one per step], "asked": [messages]}.
"""

import json
import sys

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters


def choose(schema, say):
    """The form content that says `say`: by the field that offers it, alone or with what it covers
    (`session: this call`), else by a yes-or-no field."""
    for name, field in schema.get("properties", {}).items():
        offered = field.get("enum") or [one.get("const") for one in field.get("oneOf", [])]
        for one in offered:
            if one == say or str(one).startswith(say + ":"):
                return {name: one}
    for name, field in schema.get("properties", {}).items():
        if field.get("type") == "boolean":
            return {name: say != "no"}
    return {}


def reached(server):
    """The way to a server: over pipes, or over HTTP (`{"url", "token"}`)."""
    if "url" not in server:
        return StdioServerParameters(**server)
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    fields = {"Authorization": f"Bearer {server['token']}"}
    return streamable_http_client(server["url"], http_client=create_mcp_http_client(headers=fields))


async def main():
    script = json.load(sys.stdin)
    asked, changed = [], anyio.Event()

    async def elicit(_context, params):
        asked.append(params.message)
        for answer in script["answers"]:
            if answer["contains"] in params.message:
                if answer["say"] in ("decline", "cancel"):
                    return types.ElicitResult(action=answer["say"])
                schema = json.loads(json.dumps(params.requested_schema))
                return types.ElicitResult(action="accept", content=choose(schema, answer["say"]))
        return types.ElicitResult(action="decline")

    async def heard(message):
        nonlocal changed
        if isinstance(message, types.ToolListChangedNotification):
            changed.set()
            changed = anyio.Event()

    async def listed(wanted, within_s):
        names = []
        with anyio.move_on_after(within_s):
            while True:
                news = changed
                found = await client.list_tools()
                names = [tool.name for tool in found.tools]
                if wanted is None or wanted in names:
                    return {"tools": names}
                await news.wait()
        return {"tools": names, "missing": wanted}

    async def called(tool, args):
        try:
            result = await client.call_tool(tool, args)
        except MCPError as error:
            return {"error": str(error)}
        text = "\n".join(part.text for part in result.content if part.type == "text")
        return {"is_error": bool(result.is_error), "text": text, "structured": result.structured_content}

    server = reached(script["server"])
    offered = elicit if "answers" in script else None
    async with Client(server, elicitation_callback=offered, message_handler=heard,
                      mode=script.get("mode", "auto")) as client:
        results = []
        for step in script["steps"]:
            if "call" in step:
                results.append(await called(step["call"], step.get("args", {})))
            elif "prompts" in step:
                results.append([prompt.name for prompt in (await client.list_prompts()).prompts])
            elif "prompt" in step:
                got = await client.get_prompt(step["prompt"], step.get("args", {}))
                results.append([message.content.text for message in got.messages])
            elif "resources" in step:
                results.append([str(one.uri) for one in (await client.list_resources()).resources])
            elif "read_first" in step:
                first = (await client.list_resources()).resources[0]
                results.append(len((await client.read_resource(str(first.uri))).contents))
            elif "complete" in step:
                of = types.PromptReference(type="ref/prompt", name=step["complete"])
                argument = {"name": step["argument"], "value": step["value"]}
                results.append((await client.complete(of, argument)).completion.values)
            else:
                results.append(await listed(step["list"], step.get("within_s", 30)))
        print(json.dumps({
            "version": client.protocol_version,
            "server": client.server_info.name if client.server_info else None,
            "instructions": client.instructions,
            "results": results,
            "asked": asked,
        }))


anyio.run(main)
