#!/usr/bin/env python3
"""A stdio MCP server that asks its client back: ask_server.py [--at-start FILE]

At start, with --at-start, it sends the requests of FILE (a JSON list of {method, params}) between
`initialize` and its answer, and keeps what came back.
Tools:
  ask {"requests":[{method, params}], "notify":[{method, params}], "drop": true}, or {"file": FILE}
      that holds the requests; it sends the requests, then the notifications, waits for all answers (with drop: cancels the
      requests instead) and gives them back in order as JSON text
  said {}       the capabilities that the client declared, and what came back at the start
  needs {"error": {...}}   answers with this JSON-RPC error
  note {"notify":[...]}    sends notifications only
With --modern it is a server of 2026-07-28: `ask` gives back a result that requires input, and goes on when the call is repeated
with it; the capabilities are those of the call.
"""
import sys, json

def send(obj):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **obj}) + "\n")
    sys.stdout.flush()

class Server:
    def __init__(self):
        self.last = 0
        self.later = []
        self.capabilities = None
        self.at_start = []

    def read(self):
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        return json.loads(line)

    def ask(self, requests, notify=(), drop=False, call=None):
        ids = []
        for request in requests:
            self.last += 1
            ids.append(f"q{self.last}")
            send({"id": ids[-1], **request})
        for note in notify:
            send(note)
        if drop:
            for one in ids:
                send({"method": "notifications/cancelled", "params": {"requestId": one}})
            return []
        answers = {}
        while any(one not in answers for one in ids):
            message = self.read()
            if "method" not in message and message.get("id") in ids:
                message.pop("jsonrpc")
                answers[message["id"]] = {k: v for k, v in message.items() if k != "id"}
            elif (message.get("method") == "notifications/cancelled"
                  and message["params"].get("requestId") == call):
                sys.stderr.write("call cancelled\n")
                sys.stderr.flush()
                call = None
            else:
                self.later.append(message)
        return [answers[one] for one in ids]

    def tools(self):
        names = ["ask", "said", "needs", "note"]
        return [{"name": name, "description": "Asks.", "inputSchema": {"type": "object"}} for name in names]

    def call(self, id, params):
        name, args = params["name"], params.get("arguments") or {}
        if name == "needs":
            return send({"id": id, "error": args["error"]})
        if name == "ask":
            if "file" in args:
                with open(args["file"], encoding="utf-8") as file:
                    args["requests"] = json.load(file)
            if "--modern" in sys.argv and "inputResponses" not in params:
                asked = {f"q{n}": request for n, request in enumerate(args["requests"])}
                return send({"id": id, "result": {
                    "resultType": "input_required", "inputRequests": asked, "requestState": "the state"}})
            if "--modern" in sys.argv:
                assert params["requestState"] == "the state", params
                responses = params["inputResponses"]
                said = [{"result": responses[f"q{n}"]} for n, _ in enumerate(args["requests"])]
            else:
                said = self.ask(args["requests"], args.get("notify", ()), args.get("drop", False), id)
        elif name == "note":
            for note in args["notify"]:
                send(note)
            said = []
        else:
            if "--modern" in sys.argv:
                self.capabilities = params["_meta"]["io.modelcontextprotocol/clientCapabilities"]
            said = {"capabilities": self.capabilities, "at_start": self.at_start}
        text = {"type": "text", "text": json.dumps(said)}
        send({"id": id, "result": {"content": [text]}})

    def run(self):
        while True:
            message = self.later.pop(0) if self.later else self.read()
            method, id = message.get("method"), message.get("id")
            if method == "server/discover" and "--modern" in sys.argv:
                send({"id": id, "result": {
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}})
            elif method == "initialize":
                self.capabilities = message["params"]["capabilities"]
                if "--at-start" in sys.argv:
                    with open(sys.argv[sys.argv.index("--at-start") + 1], encoding="utf-8") as file:
                        self.at_start = self.ask(json.load(file))
                send({"id": id, "result": {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "asks", "version": "1"}}})
            elif method == "tools/list":
                send({"id": id, "result": {"tools": self.tools()}})
            elif method == "tools/call":
                self.call(id, message["params"])
            elif id is not None and method is not None:
                send({"id": id, "error": {"code": -32601, "message": "no such method"}})

Server().run()
