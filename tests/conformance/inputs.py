"""A server of 2026-07-28 over standard streams for the conformance suite: the tools and the prompt that want
input before they answer, and those that look at what the client can do."""

import hashlib
import hmac
import json
import sys

KEY = b"of this fixture alone"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


class Refused(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message, **({"data": data} if data else {})}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def form(message, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sample(text, tokens):
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}}


ROOTS = {"method": "roots/list", "params": {}}
NAME = {"name": {"type": "string"}}


def sealed(state):
    return state + "." + hmac.new(KEY, state.encode(), hashlib.sha256).hexdigest()


def opened(params):
    state = params.get("requestState", "")
    name, _, _ = state.rpartition(".")
    if not hmac.compare_digest(state.encode(), sealed(name).encode()):
        raise Refused(-32602, "the state was tampered with")
    return name


def wants(requests, state=None):
    return {"resultType": "input_required", "inputRequests": requests, **({"requestState": sealed(state)} if state else {})}


def text(words):
    return {"resultType": "complete", "content": [{"type": "text", "text": words}]}


def simple(requests, words, state=None):
    """A tool of one round."""

    def call(params):
        given = params.get("inputResponses")
        if given is None or set(requests) - set(given):
            return wants(requests, state)
        if state and opened(params) != state:
            raise Refused(-32602, "the state is another one's")
        return text(words(given))

    return call


def several_rounds(params):
    if "requestState" not in params:
        return wants({"step1": form("Step 1: What is your name?", **NAME)}, "round-1")
    if opened(params) == "round-1":
        return wants({"step2": form("Step 2: What is your favorite color?", color={"type": "string"})}, "round-2")
    return text("done: " + params["inputResponses"]["step2"]["content"]["color"])


def by_capabilities(params):
    can = params["_meta"].get(CAPABILITIES, {})
    all = {
        "elicitation": ("name", form("What is your name?", **NAME)),
        "sampling": ("answer", sample("What is the capital of France?", 100)),
        "roots": ("roots", ROOTS),
    }
    requests = dict(request for what, request in all.items() if what in can)
    return wants(requests) if requests else text("this client can do nothing")


def needs_sampling(params):
    if "sampling" not in params["_meta"].get(CAPABILITIES, {}):
        raise Refused(-32021, "this needs a model", {"requiredCapabilities": {"sampling": {}}})
    return text("done")


def logs(params):
    if LOG_LEVEL in params["_meta"]:
        send({"method": "notifications/message", "params": {"level": "info", "data": "a word"}})
    return text("done")


TOOLS = {
    "test_input_required_result_elicitation": simple(
        {"user_name": form("What is your name?", **NAME)}, lambda given: f"Hello, {given['user_name']['content']['name']}!"
    ),
    "test_input_required_result_sampling": simple(
        {"capital_question": sample("What is the capital of France?", 100)},
        lambda given: given["capital_question"]["content"]["text"],
    ),
    "test_input_required_result_list_roots": simple(
        {"client_roots": ROOTS}, lambda given: json.dumps(given["client_roots"]["roots"])
    ),
    "test_input_required_result_request_state": simple(
        {"confirm": form("Please confirm", ok={"type": "boolean"})}, lambda _: "state-ok", "confirming"
    ),
    "test_input_required_result_multiple_inputs": simple(
        {"user_name": form("What is your name?", **NAME), "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS},
        lambda given: ", ".join(given),
        "several",
    ),
    "test_input_required_result_multi_round": several_rounds,
    "test_input_required_result_tampered_state": simple(
        {"confirm": form("Please confirm", ok={"type": "boolean"})}, lambda _: "confirmed", "confirming"
    ),
    "test_input_required_result_capabilities": by_capabilities,
    "test_missing_capability": needs_sampling,
    "test_streaming_elicitation": simple(
        {"user_name": form("What is your name?", **NAME)}, lambda given: f"Hello, {given['user_name']['content']['name']}!"
    ),
    "test_logging_tool": logs,
}

PROMPT = "test_input_required_result_prompt"
CONTEXT = {"user_context": form("What context should the prompt use?", context={"type": "string"})}


def prompt(params):
    if params.get("name") != PROMPT:
        raise Refused(-32602, "no such prompt")
    given = params.get("inputResponses")
    if given is None:
        return wants(CONTEXT)
    words = {"type": "text", "text": given["user_context"]["content"]["context"]}
    return {"resultType": "complete", "messages": [{"role": "user", "content": words}]}


def call(params):
    if params.get("name") not in TOOLS:
        raise Refused(-32602, "no such tool")
    return TOOLS[params["name"]](params)


def listed(key, items):
    return {"resultType": "complete", key: items, "ttlMs": 0, "cacheScope": "private"}


METHODS = {
    "server/discover": lambda _: {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}, "prompts": {}, "logging": {}},
        "ttlMs": 0,
        "cacheScope": "private",
    },
    "tools/list": lambda _: listed(
        "tools", [{"name": name, "description": f"The tool {name}", "inputSchema": {"type": "object"}} for name in TOOLS]
    ),
    "tools/call": call,
    "prompts/list": lambda _: listed("prompts", [{"name": PROMPT, "description": "A prompt that asks first"}]),
    "prompts/get": prompt,
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    try:
        if message["method"] not in METHODS:
            raise Refused(-32601, "no such method")
        answer = {"result": METHODS[message["method"]](message.get("params") or {})}
    except Refused as refused:
        answer = {"error": refused.error}
    send({"id": message["id"], **answer})
