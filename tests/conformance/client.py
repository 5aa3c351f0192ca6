#!/usr/bin/env python3
"""The client of the conformance suite's client scenarios: the gateway, between a plain client over standard streams
and the suite's server over HTTP. The suite names the server as the last argument, and the scenario and its revision in
the environment. CREANCE names the program to test."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

URL = sys.argv[-1]
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
MODERN = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-11-25") > "2026"
CREANCE = os.environ["CREANCE"]
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "conformance", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}
# A browser of somebody who agrees to everything: it goes where it is sent.
BROWSER = """#!/usr/bin/env python3
import sys, urllib.request
urllib.request.urlopen(sys.argv[-1], timeout=20).read()
"""
PERMIT = """@id("conformance-all")
@reason("The suite's own server may do what its scenarios ask for.")
permit (principal, action, resource);
"""


def stage(home):
    """A home with the suite's server in it, the project, and the browser."""
    config = home / ".config/creance"
    (config / "policies").mkdir(parents=True)
    (config / "policies/policy.cedar").write_text(PERMIT)
    # Sign-in servers that read documents about clients know it by this one.
    server = {"url": URL, "oauth": {"clientMetadataUrl": "https://conformance-test.local/client-metadata.json"}}
    if "client_id" in CONTEXT:
        server["oauth"] = {"clientId": CONTEXT["client_id"]}
        if "client_secret" in CONTEXT:
            server["oauth"]["clientSecret"] = CONTEXT["client_secret"]
    settings = {"toolNames": "plain", "mcpServers": {"suite": server}}
    (config / "config.json").write_text(json.dumps(settings))
    (home / "project").mkdir()
    browser = home / "browser"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    return {
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "BROWSER": str(browser),
        "CREANCE_LOG": os.environ.get("CREANCE_LOG", "info"),
    }


class Client:
    """A plain client, which answers what it is asked by agreeing."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.last = 0

    def send(self, message):
        self.gateway.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.gateway.stdin.flush()

    def request(self, method, **params):
        if MODERN:
            params = {**params, "_meta": META}
        self.last += 1
        own = self.last
        self.send({"id": own, "method": method, "params": params})
        for line in self.gateway.stdout:
            message = json.loads(line)
            if message.get("id") == own and "method" not in message:
                print(line[:500], flush=True)
                return message
            if "id" in message and "method" in message:
                self.send({"id": message["id"], "result": agree(message["params"])})
        raise SystemExit("the gateway ended")

    def call(self, name, arguments):
        for _ in range(4):
            answer = self.request("tools/call", name=name, arguments=arguments)
            # A refused call fails at once; it is made again when somebody has signed in.
            if "sign-in" not in answer.get("error", {}).get("message", ""):
                break
            threading.Event().wait(1)
        result = answer.get("result", {})
        if result.get("resultType") == "input_required":
            agreed = {key: agree(asked["params"]) for key, asked in result["inputRequests"].items()}
            state = {"requestState": result["requestState"]}
            self.request("tools/call", name=name, arguments=arguments, inputResponses=agreed, **state)


def agree(params):
    fields = params.get("requestedSchema", {}).get("properties", {})
    return {"action": "accept", "content": {name: fit(schema) for name, schema in fields.items()}}


def fit(schema):
    """A value that fits a schema."""
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    kinds = {"integer": 3, "number": 4, "boolean": True, "array": [], "object": {}}
    return kinds.get(schema.get("type"), "words")


def arguments(tool):
    schema = tool["inputSchema"]
    wanted = schema.get("required", [])
    return {name: fit(schema["properties"][name]) for name in wanted if name in schema.get("properties", {})}


def converse(environment, project):
    """One run of the gateway: every tool is called once. What its status says where there is no tool."""
    gateway = subprocess.Popen(
        [CREANCE, "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=project,
    )
    late = threading.Timer(25, gateway.kill)
    late.start()
    client = Client(gateway)
    if not MODERN:
        capabilities = {"elicitation": {}}
        about = {"name": "conformance", "version": "1"}
        client.request("initialize", protocolVersion="2025-11-25", capabilities=capabilities, clientInfo=about)
        client.send({"method": "notifications/initialized"})
    status, settled = "", 0
    # A legacy client hears when there are tools; this one looks again, as long as that may help.
    for _ in range(200):
        listed = client.request("tools/list")["result"]["tools"]
        tools = [tool for tool in listed if tool["name"] != "creance_status"]
        if tools:
            break
        status = json.dumps(client.request("tools/call", name="creance_status", arguments={}))
        settled += "connected" in status
        if settled > 10 or not any(word in status for word in ["starting", "waiting", "connected"]):
            break
        threading.Event().wait(0.1)
    calls = CONTEXT.get("toolCalls") or [{"name": tool["name"], "arguments": arguments(tool)} for tool in tools]
    for one in calls:
        client.call(one["name"], one.get("arguments") or {})
    gateway.stdin.close()
    gateway.wait(10)
    late.cancel()
    return "" if tools else status


def main(home):
    environment, project = stage(home), home / "project"
    status = converse(environment, project)
    if "needs a sign-in" in status:
        # What somebody does who reads that: the sign-in server is another one now.
        login = [CREANCE, "server", "login", "suite"]
        subprocess.run(login, env=environment, cwd=project, stdin=subprocess.DEVNULL, timeout=25)
        status = converse(environment, project)
    if status:
        raise SystemExit("there are no tools: " + status)


with tempfile.TemporaryDirectory(prefix="c") as folder:
    main(Path(folder))
