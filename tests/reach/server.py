"""An MCP server whose tools fetch URLs and hold connections open."""

import http.client
import json
import sys
import urllib.request


def fetch(arguments):
    try:
        with urllib.request.urlopen(arguments["url"], timeout=arguments.get("s", 20)) as reply:
            return reply.read().decode(), False
    except OSError as error:
        return f"failed: {error}", True


def hold(arguments):
    """Until the other side ends it."""
    try:
        with urllib.request.urlopen(arguments["url"], timeout=20) as reply:
            reply.read(2)
            print("held", file=sys.stderr, flush=True)
            reply.read()
            return "ended", False
    except (OSError, http.client.HTTPException) as error:
        return f"broken: {error}", False


TOOLS = {"fetch": fetch, "hold": hold}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, result = message["method"], {}
    if method == "initialize":
        result = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    elif method == "tools/call":
        params = message["params"]
        text, failed = TOOLS[params["name"]](params["arguments"])
        result = {"content": [{"type": "text", "text": text}], "isError": failed}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
