//! Everything that a server offers, in all four pairs of eras.

use serde_json::{Value, json};

use crate::cases::desk::PERMIT_START;

use super::{ERAS, Era, Pair, greeting, reply};

/// A result of a tool that no typed model holds: unknown members, their order, a number that no
/// machine word holds.
const LOSSLESS: &str = r#"{"zeta":1,"content":[{"type":"text","text":"hi","x-own":{"b":1,"a":2}}],"alpha":12345678901234567890123,"structuredContent":{"n":1.0}}"#;

fn script(era: Era) -> String {
    let tool = json!({
        "name": "echo", "description": "Echoes.", "inputSchema": { "type": "object" },
        "x-unknown": { "z": 1, "a": 2 }, "execution": { "taskSupport": "optional", "x-own": true },
    });
    let task = json!({
        "name": "slow", "description": "Runs long.", "inputSchema": { "type": "object" },
        "execution": { "taskSupport": "required" },
    });
    let prompt = json!({ "name": "greet", "description": "Greets.",
        "arguments": [{ "name": "who", "required": true }], "x-unknown": 1 });
    let odd = json!({ "name": "hid\u{200b}den" });
    let resource = json!({ "uri": "test://a", "name": "A\u{1b}[31m", "x-unknown": 2 });
    let template = json!({ "uriTemplate": "test://item/{id}", "name": "Items" });
    let text = |uri: &str, text: &str| json!({ "contents": [{ "uri": uri, "text": text, "x-unknown": 3 }] });
    let message = |text: &str| json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": text } }], "x-unknown": 4 });
    let lossless = match era {
        Era::Legacy => LOSSLESS.to_owned(),
        Era::Modern => LOSSLESS.replacen('{', r#"{"resultType":"complete","#, 1),
    };
    let none = json!({});
    [
        greeting(era),
        reply(era, "tools/list", &none, &json!({ "tools": [tool, task] })),
        format!("{{\"on\":\"tools/call\",\"note\":\"call\",\"reply\":{lossless}}}\n"),
        reply(era, "prompts/list", &json!({ "match": { "cursor": null } }), &json!({ "prompts": [odd], "nextCursor": "2" })),
        reply(era, "prompts/list", &json!({ "match": { "cursor": "2" } }), &json!({ "prompts": [prompt] })),
        reply(era, "prompts/get", &json!({ "match": { "name": "greet", "arguments": { "who": "you" } }, "note": "prompt" }), &message("hello\u{200b} you")),
        reply(era, "resources/list", &none, &json!({ "resources": [resource, resource] })),
        reply(era, "resources/templates/list", &none, &json!({ "resourceTemplates": [template] })),
        reply(era, "resources/read", &json!({ "match": { "uri": "test://a" }, "note": "a" }), &text("test://a", "a\u{1b}[31mb")),
        reply(era, "resources/read", &json!({ "match": { "uri": "test://item/7" }, "note": "7" }), &text("test://item/7", "seven")),
        reply(era, "completion/complete", &json!({ "match": { "ref": { "type": "ref/prompt", "name": "greet" } } }), &json!({ "completion": { "values": ["you"], "total": 1, "hasMore": false } })),
    ]
    .concat()
}

/// A pair of peers whose lists have come.
fn pair(server: Era, client: Era, policy: &str) -> Option<Pair> {
    let mut pair = Pair::open("eras_matrix", client, &script(server), policy)?;
    pair.wait_for("tools/list", "tools", "name", "demo__echo");
    Some(pair)
}

#[test]
fn everything_passes_between_all_eras() {
    for (server, client) in ERAS
        .map(|server| ERAS.map(|client| (server, client)))
        .concat()
    {
        let Some(mut pair) = pair(server, client, crate::cases::desk::PERMIT_ALL) else {
            return;
        };
        tools(&mut pair);
        prompts(&mut pair);
        resources(&mut pair);
        decided(&mut pair);
    }
}

fn tools(pair: &mut Pair) {
    let tool = pair.wait_for("tools/list", "tools", "name", "demo__echo");
    assert_eq!(tool["x-unknown"], json!({ "z": 1, "a": 2 }), "{tool}");
    assert_eq!(tool["execution"], json!({ "x-own": true }), "{tool}");
    let listed = pair.result("tools/list", &json!({}));
    assert!(!listed.to_string().contains("demo__slow"), "{listed}");
    let call = json!({ "name": "demo__echo", "arguments": {} });
    let result = pair.result("tools/call", &call);
    assert_eq!(result["content"][0]["text"], "hi", "{result}");
    let line = &pair.desk.raw().last;
    let whole = LOSSLESS.trim_start_matches('{').trim_end_matches('}');
    assert!(line.contains(whole), "{line}");
    let status = json!({ "name": "creance_status", "arguments": {} });
    let status = pair.result("tools/call", &status).to_string();
    assert!(status.contains("not offered: slow"), "{status}");
}

fn prompts(pair: &mut Pair) {
    let prompt = pair.wait_for("prompts/list", "prompts", "name", "demo__greet");
    assert_eq!(prompt["x-unknown"], 1, "{prompt}");
    let text = prompt["description"].as_str().unwrap();
    assert!(
        text.contains("untrusted") && text.ends_with("Greets."),
        "{text}"
    );
    let listed = pair.result("prompts/list", &json!({}));
    assert_eq!(listed["prompts"].as_array().unwrap().len(), 1, "{listed}");
    let get = json!({ "name": "demo__greet", "arguments": { "who": "you" } });
    let got = pair.result("prompts/get", &get);
    assert_eq!(got["messages"][0]["content"]["text"], "hello you", "{got}");
    assert_eq!(got["x-unknown"], 4, "{got}");
    for odd in [
        json!({ "name": "greet" }),
        json!({ "name": "demo__greet", "arguments": { "who": 1 } }),
        json!({ "name": "demo__greet", "arguments": [] }),
        json!({}),
    ] {
        let answer = pair.request("prompts/get", &odd);
        assert_eq!(answer["error"]["code"], -32602, "{odd}: {answer}");
    }
    let complete = json!({
        "ref": { "type": "ref/prompt", "name": "demo__greet" },
        "argument": { "name": "who", "value": "y" },
    });
    let completed = pair.result("completion/complete", &complete);
    assert_eq!(
        completed["completion"]["values"],
        json!(["you"]),
        "{completed}"
    );
}

fn resources(pair: &mut Pair) {
    let item = pair.wait_for("resources/list", "resources", "uri", "test://a");
    assert_eq!(
        (&item["name"], &item["x-unknown"]),
        (&json!("A"), &json!(2)),
        "{item}"
    );
    let listed = pair.result("resources/list", &json!({}));
    assert_eq!(listed["resources"].as_array().unwrap().len(), 1, "{listed}");
    let listed = pair.result("resources/templates/list", &json!({}));
    assert_eq!(
        listed["resourceTemplates"][0]["uriTemplate"], "test://item/{id}",
        "{listed}"
    );
    let read = pair.result("resources/read", &json!({ "uri": "test://a" }));
    let want = json!([{ "uri": "test://a", "text": "ab", "x-unknown": 3 }]);
    assert_eq!(read["contents"], want, "{read}");
    let read = pair.result("resources/read", &json!({ "uri": "test://item/7" }));
    assert_eq!(read["contents"][0]["text"], "seven", "{read}");
    let code = match pair.client {
        Era::Legacy => -32002,
        Era::Modern => -32602,
    };
    for unknown in ["test://b", "file:///etc/passwd", "test://a\u{200b}"] {
        let answer = pair.request("resources/read", &json!({ "uri": unknown }));
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    let answer = pair.request("resources/list", &json!({ "cursor": "1" }));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

/// What reached the server was decided, and stands in the log with its outcome.
fn decided(pair: &mut Pair) {
    assert_eq!(pair.desk.notes("demo"), ["call", "prompt", "a", "7"]);
    pair.desk.close();
    let records = pair.desk.records();
    let decided = |action: &str| {
        let of = |record: &&Value| record["action"] == action && record["kind"] != "outcome";
        records.iter().filter(of).count()
    };
    assert_eq!(decided("resource.read"), 2, "{records:#?}");
    assert_eq!(decided("prompt.get"), 1, "{records:#?}");
    pair.desk.stage.audit_verifies();
}

/// Forbids reading resources and getting prompts.
fn forbids_all() -> String {
    format!(
        "{PERMIT_START}\n@id(\"none\") @reason(\"None.\")\n\
         forbid (principal, action in [Action::\"resource.read\", Action::\"prompt.get\"], resource);"
    )
}

#[test]
fn what_is_not_permitted_never_reaches_the_server() {
    for (server, client) in ERAS
        .map(|server| ERAS.map(|client| (server, client)))
        .concat()
    {
        let Some(mut pair) = pair(server, client, &forbids_all()) else {
            return;
        };
        let get = json!({ "name": "demo__greet", "arguments": { "who": "you" } });
        for (method, params) in [
            ("resources/read", json!({ "uri": "test://a" })),
            ("prompts/get", get),
        ] {
            let answer = pair.request(method, &params);
            assert_eq!(answer["error"]["code"], -31001, "{answer}");
        }
        assert!(pair.desk.notes("demo").is_empty());
    }
}

/// A server behind a policy that forbids all of its resources does not even list them.
#[test]
fn what_is_never_allowed_is_not_listed() {
    let Some(mut pair) = pair(Era::Legacy, Era::Legacy, &forbids_all()) else {
        return;
    };
    for (method, key) in [("resources/list", "resources"), ("prompts/list", "prompts")] {
        let listed = pair.result(method, &json!({}));
        assert_eq!(listed[key], json!([]), "{listed}");
    }
    let answer = pair.request("resources/subscribe", &json!({ "uri": "test://a" }));
    assert_eq!(answer["error"]["code"], -31001, "{answer}");
}
