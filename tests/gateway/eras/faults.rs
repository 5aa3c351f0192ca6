//! What goes wrong at the beginning and between: each ends with an error that names the server and the
//! fault, and nothing hangs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cases::desk::{Desk, PERMIT_ALL, tool};

use super::{Era, Pair, greeting, meta, reply};

/// A server that does what it must in the legacy era, after lines of its own.
fn legacy(first: &str) -> String {
    let list = json!({ "tools": [tool("hello")] });
    let done = json!({ "content": [{ "type": "text", "text": "ok" }] });
    [
        first.to_owned(),
        greeting(Era::Legacy),
        reply(Era::Legacy, "tools/list", &json!({}), &list),
        reply(Era::Legacy, "tools/call", &json!({}), &done),
    ]
    .concat()
}

/// However a server takes `server/discover`, it comes into use; silence costs its time once.
#[test]
fn every_way_not_to_know_the_modern_era_ends_in_the_handshake() {
    let script = |line: Value| legacy(&format!("{line}\n"));
    let error = |code: i64| {
        script(json!({ "on": "server/discover", "error": { "code": code, "message": "no" } }))
    };
    let answers = |result: Value| script(json!({ "on": "server/discover", "reply": result }));
    for (name, script) in [
        ("unknown", error(-32601)),
        ("invalid", error(-32602)),
        ("odd", error(7)),
        (
            "silent",
            script(json!({ "on": "server/discover", "ignore": true })),
        ),
        (
            "exits",
            script(json!({ "on": "server/discover", "exit": 1 })),
        ),
        ("result", answers(json!({}))),
        ("null", answers(Value::Null)),
        (
            "others",
            answers(json!({ "supportedVersions": ["2031-01-01"], "capabilities": {} })),
        ),
        (
            "garbage",
            script(json!({ "on": "server/discover", "raw": "\u{1}\nnot json\n",
            "error": { "code": -32601, "message": "no" } })),
        ),
    ] {
        let Some(mut pair) = Pair::permitted("eras_faults", Era::Legacy, &script) else {
            return;
        };
        pair.wait_for("tools/list", "tools", "name", "demo__hello");
        let result = pair.desk.call("demo__hello", &json!({}));
        assert_eq!(result["content"][0]["text"], "ok", "{name}: {result}");
        pair.desk.close();
        let again = pair.desk.records().into_iter();
        let again = again.filter(|record| record.to_string().contains("server-started-again"));
        assert_eq!(again.count(), usize::from(name == "exits"), "{name}");
        pair.desk.stage.audit_verifies();
    }
}

/// A modern server that takes longer to start than it is waited for is still taken for one.
#[test]
fn a_modern_server_that_starts_slowly_is_modern() {
    let list = json!({ "tools": [tool("hello")] });
    let hello = greeting(Era::Modern).replacen('{', "{\"sleep_ms\":3500,", 1);
    let refuses = json!({ "on": "initialize", "error": { "code": -32022, "message": "modern",
        "data": { "supported": ["2026-07-28"] } } });
    let script = format!(
        "{hello}{refuses}\n{}",
        reply(Era::Modern, "tools/list", &json!({}), &list)
    );
    let Some(mut pair) = Pair::permitted("eras_faults", Era::Legacy, &script) else {
        return;
    };
    pair.wait_for("tools/list", "tools", "name", "demo__hello");
}

/// A server that ends whatever it is asked fails, and says why, once.
#[test]
fn a_server_that_always_ends_fails() {
    let script = "{\"at\":\"start\",\"stderr\":\"no licence\\n\",\"exit\":3}\n";
    let Some(mut pair) = Pair::permitted("eras_faults", Era::Legacy, script) else {
        return;
    };
    let status = pair.desk.wait_for_status("user/demo: failed");
    assert!(status.contains("no licence"), "{status}");
}

/// What modern servers answer wrongly.
#[test]
fn odd_results_of_modern_servers_are_told() {
    let list = json!({ "tools": [tool("hello")] });
    for (result, told) in [
        (
            json!({ "resultType": "task", "taskId": "1" }),
            "unknown type, `task`",
        ),
        (json!({ "resultType": 1 }), "`resultType` is a number"),
        (json!([]), "not an object"),
        (json!({ "resultType": "input_required" }), "not for which"),
        (
            json!({ "resultType": "input_required", "inputRequests": { "a": { "method": "sampling/createMessage", "params": {} } } }),
            "asks for `sampling/createMessage` before it answers",
        ),
        (
            json!({ "resultType": "input_required", "requestState": "again" }),
            "asked for input 16 times",
        ),
    ] {
        let script = [
            greeting(Era::Modern),
            reply(Era::Modern, "tools/list", &json!({}), &list),
            format!("{}\n", json!({ "on": "tools/call", "reply": result })),
        ]
        .concat();
        for client in super::ERAS {
            let Some(mut pair) = Pair::permitted("eras_faults", client, &script) else {
                return;
            };
            pair.wait_for("tools/list", "tools", "name", "demo__hello");
            let call = json!({ "name": "demo__hello", "arguments": {} });
            let result = pair.result("tools/call", &call);
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            assert_eq!(result["isError"], true, "{result}");
            assert!(
                text.contains("user/demo") && text.contains(told),
                "{told}: {result}"
            );
        }
    }
}

/// Lists beside tools that break a bound refuse the server; those that fail are said.
#[test]
fn lists_that_break_a_bound_refuse_the_server() {
    let prompts = |result: Value| json!({ "on": "prompts/list", "reply": result });
    let many: Vec<Value> = (0..10_001)
        .map(|n| json!({ "name": format!("p{n}") }))
        .collect();
    for (line, told) in [
        (
            prompts(json!({ "prompts": [], "nextCursor": "1" })),
            "leads back to an earlier page",
        ),
        (
            prompts(json!({ "prompts": many })),
            "more than 10000 prompts",
        ),
        (
            prompts(json!({ "prompts": 7 })),
            "`prompts` is not an array",
        ),
    ] {
        let script = legacy(&format!("{line}\n"));
        let Some(mut pair) = Pair::permitted("eras_faults", Era::Legacy, &script) else {
            return;
        };
        pair.wait_for("tools/list", "tools", "name", "demo__hello");
        let listed = pair.result("prompts/list", &json!({}));
        assert_eq!(listed["prompts"], json!([]), "{listed}");
        let status = pair.desk.wait_for_status("user/demo: failed");
        assert!(status.contains(told), "{status}");
    }
    let failing =
        json!({ "on": "prompts/list", "error": { "code": -32000, "message": "bro\u{1b}[31mken" } });
    let Some(mut pair) =
        Pair::permitted("eras_faults", Era::Legacy, &legacy(&format!("{failing}\n")))
    else {
        return;
    };
    pair.wait_for("tools/list", "tools", "name", "demo__hello");
    assert_eq!(
        pair.result("prompts/list", &json!({}))["prompts"],
        json!([])
    );
    let status = pair.desk.status();
    assert!(
        status.contains("its prompts are not whole: error -32000: bro")
            && !status.contains('\u{1b}'),
        "{status}"
    );
    assert!(status.contains("user/demo: connected"), "{status}");
}

/// A server that dies during a read is named, and does not keep its client waiting.
#[test]
fn a_server_that_dies_during_a_read_is_named() {
    let list = json!({ "resources": [{ "uri": "test://a", "name": "a" }] });
    let script = [
        legacy(""),
        reply(Era::Legacy, "resources/list", &json!({}), &list),
        format!(
            "{}\n",
            json!({ "on": "resources/read", "stderr": "last words\n", "exit": 9 })
        ),
    ]
    .concat();
    let Some(mut pair) = Pair::permitted("eras_faults", Era::Legacy, &script) else {
        return;
    };
    pair.wait_for("resources/list", "resources", "uri", "test://a");
    let begun = Instant::now();
    let answer = pair.request("resources/read", &json!({ "uri": "test://a" }));
    assert_eq!(answer["error"]["code"], -31002, "{answer}");
    let text = answer["error"]["message"].as_str().unwrap();
    assert!(
        text.contains("user/demo") && text.contains("last words"),
        "{text}"
    );
    assert!(begun.elapsed() < Duration::from_secs(20));
}

/// What a client says wrongly in the modern era.
#[test]
fn modern_requests_are_checked() {
    let Some(mut desk) = Desk::new("eras_faults") else {
        return;
    };
    desk.stage.servers(&json!({}));
    desk.stage.policy(PERMIT_ALL);
    let command = desk.stage.creance(&["serve"]);
    desk.start(command);
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let whole = meta(&json!({}));
    let mut without = whole.clone();
    without.as_object_mut().unwrap().remove(capabilities);
    let mut other = whole.clone();
    other[version] = json!("2031-01-01");
    let mut odd = whole.clone();
    odd["io.modelcontextprotocol/logLevel"] = json!("loud");
    for (method, meta, code) in [
        ("server/discover", json!(null), -32602),
        ("server/discover", json!({}), -32602),
        ("subscriptions/listen", json!({}), -32602),
        ("tools/list", without, -32602),
        ("tools/list", other.clone(), -32022),
        ("tools/list", odd, -32602),
        ("tools/list", json!({}), -32600),
        ("ping", whole.clone(), -32601),
        ("initialize", whole.clone(), -32601),
        ("logging/setLevel", whole.clone(), -32601),
        ("resources/subscribe", whole.clone(), -32601),
        ("tasks/list", whole.clone(), -32601),
        ("subscriptions/listen", whole.clone(), -32602),
    ] {
        let answer = desk.request(method, &json!({ "_meta": meta }));
        assert_eq!(answer["error"]["code"], code, "{method} {meta}: {answer}");
    }
    let answer = desk.request("tools/list", &json!({ "_meta": other }));
    let data = &answer["error"]["data"];
    assert_eq!(
        data,
        &json!({ "supported": ["2026-07-28"], "requested": "2031-01-01" })
    );
    let found = desk.request("server/discover", &json!({ "_meta": whole }));
    let result = &found["result"];
    assert_eq!(
        result["supportedVersions"],
        json!(["2026-07-28"]),
        "{found}"
    );
    assert_eq!(result["resultType"], "complete", "{found}");
    assert_eq!(
        (&result["ttlMs"], &result["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    for capability in ["tools", "prompts", "resources", "completions", "logging"] {
        assert!(result["capabilities"][capability].is_object(), "{found}");
    }
}
