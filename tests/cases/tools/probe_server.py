"""An MCP server whose one tool runs a program and gives what it printed: probe_server.py PROGRAM ARG.."""
import json, subprocess, sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, result = message["method"], {}
    if method == "initialize":
        result = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "probe", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": [{"name": "probe", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        run = subprocess.run([sys.executable, *sys.argv[1:]], capture_output=True, text=True)
        result = {"content": [{"type": "text", "text": run.stdout + run.stderr}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
