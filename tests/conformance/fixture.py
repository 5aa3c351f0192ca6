#!/usr/bin/env python3
"""The server behind the gateway in the conformance suite: the tools, prompts and resources that its
scenarios call by name, over stdio, in the revisions that begin with `initialize`."""

import json
import queue
import sys
import threading
import time

PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAD//w=="
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]

out = threading.Lock()
answers = {}
last = 0


def send(message):
    with out:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def tell(method, params):
    send({"method": method, "params": params})


class Refused(Exception):
    """The client refused a request, or a request is not fit."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


def ask(method, params):
    """Asks the client and waits for its answer."""
    global last
    with out:
        last += 1
        number = f"fixture-{last}"
        answers[number] = queue.Queue()
    send({"id": number, "method": method, "params": params})
    answer = answers[number].get(timeout=20)
    if "error" in answer:
        raise Refused(answer["error"].get("code", -32603), answer["error"].get("message", "refused"))
    return answer["result"]


def text(words):
    return {"type": "text", "text": words}


def content(*blocks):
    return {"content": list(blocks)}


IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}


def embedded(uri, kind, words):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": words}}


def mixed(_arguments, _meta):
    resource = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return content(text("Multiple content types test:"), IMAGE, resource)


def logging(_arguments, _meta):
    for words in ["Tool execution started", "Tool processing data", "Tool execution completed"]:
        tell("notifications/message", {"level": "info", "logger": "fixture", "data": words})
        time.sleep(0.05)
    return content(text("Tool with logging executed successfully"))


def progress(_arguments, meta):
    token = meta.get("progressToken")
    for done in [0, 50, 100]:
        if token is not None:
            tell("notifications/progress", {"progressToken": token, "progress": done, "total": 100})
        time.sleep(0.05)
    return content(text(str(token)))


def fails(_arguments, _meta):
    return {**content(text("This tool intentionally returns an error for testing")), "isError": True}


def sampling(arguments, _meta):
    message = {"role": "user", "content": text(arguments.get("prompt", ""))}
    said = ask("sampling/createMessage", {"messages": [message], "maxTokens": 100})
    return content(text(f"LLM response: {said.get('content', {}).get('text', '')}"))


def form(message, properties, required=()):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    answer = ask("elicitation/create", {"message": message, "requestedSchema": schema})
    given = json.dumps(answer.get("content", {}))
    return content(text(f"Elicitation completed: action={answer.get('action')}, content={given}"))


def elicitation(arguments, _meta):
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return form(arguments.get("message", ""), fields, ["username", "email"])


def defaults(_arguments, _meta):
    return form(
        "Please review and update the form fields with defaults",
        {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "description": "Verification status", "default": True},
        },
    )


def enums(_arguments, _meta):
    titled = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(["First", "Second", "Third"], 1)]
    plain = ["option1", "option2", "option3"]
    return form(
        "Please select options from the enum fields",
        {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
    )


def roots(_arguments, _meta):
    found = ask("roots/list", {})
    return content(text(json.dumps(found)))


def simple(words):
    return lambda _arguments, _meta: content(text(words))


def block(one):
    return lambda _arguments, _meta: content(one)


NOTHING = {"type": "object", "properties": {}}
DRAFT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def takes(*names):
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


HEADERS = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "query": {"type": "string"}},
    "required": ["region"],
}

# name: (description, schema, what it does)
TOOLS = {
    "test_simple_text": ("Returns text", NOTHING, simple("This is a simple text response for testing.")),
    "test_image_content": ("Returns an image", NOTHING, block(IMAGE)),
    "test_audio_content": ("Returns a sound", NOTHING, block({"type": "audio", "data": WAV, "mimeType": "audio/wav"})),
    "test_embedded_resource": (
        "Returns a resource",
        NOTHING,
        block(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
    ),
    "test_multiple_content_types": ("Returns several blocks", NOTHING, mixed),
    "test_tool_with_logging": ("Logs while it works", NOTHING, logging),
    "test_tool_with_progress": ("Reports while it works", NOTHING, progress),
    "test_error_handling": ("Always fails", NOTHING, fails),
    "test_sampling": ("Asks the client's model", takes("prompt"), sampling),
    "test_elicitation": ("Asks the user", takes("message"), elicitation),
    "test_elicitation_sep1034_defaults": ("Asks with defaults", NOTHING, defaults),
    "test_elicitation_sep1330_enums": ("Asks with choices", NOTHING, enums),
    "test_reconnection": ("Takes a moment", NOTHING, simple("Reconnection test completed")),
    "test_custom_headers": ("Has an argument that a header repeats", HEADERS, simple("ok")),
    "test_list_roots": ("Asks for roots", NOTHING, roots),
    "json_schema_2020_12_tool": ("Tool with JSON Schema 2020-12 features", DRAFT, simple("ok")),
}



def change_tools(_arguments, _meta):
    """Another tool in the place of the last one: two changes at once are none otherwise."""
    global changes
    changes += 1
    TOOLS.pop(f"test_another_tool_{changes - 1}", None)
    TOOLS[f"test_another_tool_{changes}"] = ("Comes and goes", NOTHING, simple("ok"))
    tell("notifications/tools/list_changed", {})
    return content(text("ok"))


def change_prompts(_arguments, _meta):
    """The same with a prompt."""
    global changes
    changes += 1
    PROMPTS.pop(f"test_another_prompt_{changes - 1}", None)
    PROMPTS[f"test_another_prompt_{changes}"] = []
    tell("notifications/prompts/list_changed", {})
    return content(text("ok"))


changes = 0
TOOLS["test_trigger_tool_change"] = ("Changes the list of tools", NOTHING, change_tools)
TOOLS["test_trigger_prompt_change"] = ("Changes the list of prompts", NOTHING, change_prompts)

RESOURCES = [
    ("test://static-text", "text/plain", {"text": "This is the content of the static text resource."}),
    ("test://static-binary", "image/png", {"blob": PNG}),
    ("test://watched-resource", "text/plain", {"text": "Watched"}),
]


def argument(name):
    return {"name": name, "description": f"The {name}", "required": True}


PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": [argument("arg1"), argument("arg2")],
    "test_prompt_with_embedded_resource": [argument("resourceUri")],
    "test_prompt_with_image": [],
}


def prompt(name, given):
    user = lambda block: {"role": "user", "content": block}
    if name == "test_simple_prompt":
        return [user(text("This is a simple prompt for testing."))]
    if name == "test_prompt_with_arguments":
        words = f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
        return [user(text(words))]
    if name == "test_prompt_with_embedded_resource":
        block = embedded(given.get("resourceUri"), "text/plain", "Embedded resource content for testing.")
        return [user(block), user(text("Please process the embedded resource above."))]
    if name == "test_prompt_with_image":
        return [user(IMAGE), user(text("Please analyze the image above."))]
    raise Refused(-32602, f"no prompt {name}")


def read(uri):
    for own, kind, held in RESOURCES:
        if uri == own:
            return {"uri": uri, "mimeType": kind, **held}
    if uri.startswith("test://template/") and uri.endswith("/data"):
        number = uri[len("test://template/") : -len("/data")]
        body = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        return {"uri": uri, "mimeType": "application/json", "text": json.dumps(body)}
    raise Refused(-32002, "Resource not found", {"uri": uri})


def initialize(params):
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in REVISIONS else REVISIONS[-1],
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"subscribe": True, "listChanged": True},
            "prompts": {"listChanged": True},
            "logging": {},
            "completions": {},
        },
        "serverInfo": {"name": "conformance-fixture", "version": "1"},
    }


def call(params):
    name = params.get("name")
    if name not in TOOLS:
        raise Refused(-32602, f"no tool {name}")
    return TOOLS[name][2](params.get("arguments") or {}, params.get("_meta") or {})


METHODS = {
    "initialize": initialize,
    "ping": lambda _: {},
    "logging/setLevel": lambda _: {},
    "tools/list": lambda _: {
        "tools": [{"name": n, "description": d, "inputSchema": s} for n, (d, s, _) in TOOLS.items()]
    },
    "tools/call": call,
    "resources/list": lambda _: {
        "resources": [
            {"uri": uri, "name": uri.split("//")[1], "description": f"The resource {uri}", "mimeType": kind}
            for uri, kind, _ in RESOURCES
        ]
    },
    "resources/templates/list": lambda _: {
        "resourceTemplates": [
            {
                "uriTemplate": "test://template/{id}/data",
                "name": "template",
                "description": "Data by id",
                "mimeType": "application/json",
            }
        ]
    },
    "resources/read": lambda params: {"contents": [read(params.get("uri"))]},
    "resources/subscribe": lambda _: {},
    "resources/unsubscribe": lambda _: {},
    "prompts/list": lambda _: {
        "prompts": [{"name": n, "description": f"The prompt {n}", "arguments": a} for n, a in PROMPTS.items()]
    },
    "prompts/get": lambda params: {"messages": prompt(params.get("name"), params.get("arguments") or {})},
    "completion/complete": lambda _: {"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": False}},
}


def answer(message):
    method = METHODS.get(message["method"])
    if method is None:
        return send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
    try:
        return send({"id": message["id"], "result": method(message.get("params") or {})})
    except Refused as refused:
        return send({"id": message["id"], "error": refused.error})
    except Exception as error:
        return send({"id": message["id"], "error": {"code": -32603, "message": repr(error)}})


for line in sys.stdin:
    if not line.strip():
        continue
    message = json.loads(line)
    if "method" not in message:
        waiting = answers.get(message.get("id"))
        if waiting is not None:
            waiting.put(message)
    elif "id" in message:
        threading.Thread(target=answer, args=(message,), daemon=True).start()
