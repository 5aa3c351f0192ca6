//! What a modern server asks within a result: decided, put to a client of either era, and given back with
//! the call that it is for.

use serde_json::{Value, json};

use crate::cases::desk::text;
use crate::eras::meta;
use crate::raw::Raw;

use super::talk::{PERMIT_USE, Talk, agreeable, all, branch, desk, modern_desk, page, prompt};

const FORBID_FORMS: &str = r#"
@id("forms")
@reason("No forms here.")
forbid (principal, action == Action::"elicit.form", resource);
"#;

#[test]
fn a_legacy_client_is_asked_by_requests() {
    let Some(desk) = modern_desk("a_modern_server_asks", PERMIT_USE) else {
        return;
    };
    let mut talk = Talk::open(desk, &all(), agreeable);
    let said = talk.asks("elicitation/create", &branch());
    let want = json!({ "action": "accept", "content": { "branch": "main" }, "later": 1.50 });
    assert_eq!(said["result"], want, "{said}");
    let shown = talk.came("elicitation/create")[0].to_string();
    assert!(
        shown.contains("The server user/asks asks you to fill in"),
        "{shown}"
    );
    let said = talk.asks("elicitation/create", &page("https://example.com/in"));
    assert_eq!(said["result"]["action"], "accept", "{said}");
    let said = talk.asks("sampling/createMessage", &prompt());
    assert_eq!(said["result"]["role"], "assistant", "{said}");
    for action in ["elicit.form", "elicit.url", "sampling.create"] {
        let record = talk.records(action).pop().unwrap();
        let record = record.to_string();
        assert!(
            record.contains(r#""principal":"server/user/asks""#),
            "{record}"
        );
        assert!(record.contains(r#""during_call":true"#), "{record}");
    }
    talk.desk.stage.audit_verifies();
}

/// What policy forbids is not offered; a server that asks all the same is told so, and its call fails.
#[test]
fn what_is_forbidden_is_neither_offered_nor_asked() {
    let policy = format!("{PERMIT_USE}{FORBID_FORMS}");
    let Some(desk) = modern_desk("a_modern_server_may_not_ask", &policy) else {
        return;
    };
    let mut talk = Talk::open(
        desk,
        &json!({ "elicitation": {}, "sampling": {} }),
        agreeable,
    );
    let said = talk.call("asks__said", &json!({}));
    assert_eq!(said["capabilities"], json!({ "sampling": {} }), "{said}");
    let said = talk.call(
        "asks__ask",
        &json!({ "requests": [{ "method": "elicitation/create", "params": branch() }] }),
    );
    let told = said.to_string();
    assert!(
        told.contains("asks for `elicitation/create` before it answers"),
        "{told}"
    );
    assert!(talk.came("elicitation/create").is_empty(), "{told}");
}

/// Asked by results on both sides: the server's question rides on the client's call.
#[test]
fn a_modern_client_is_asked_by_a_result() {
    let Some(desk) = modern_desk("a_modern_server_asks_a_modern_client", PERMIT_USE) else {
        return;
    };
    let mut raw = Raw::start(desk.stage.creance(&["serve"]));
    let with = |params: Value| {
        let mut params = params;
        params["_meta"] = meta(&json!({ "elicitation": {} }));
        params
    };
    let listed = raw.request("tools/list", &with(json!({})));
    assert!(listed.to_string().contains("asks__ask"), "{listed}");
    let requests = json!([{ "method": "elicitation/create", "params": branch() }]);
    let call = json!({ "name": "asks__ask", "arguments": { "requests": requests } });
    let asked = raw.request("tools/call", &with(call.clone()))["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (key, request) = asked["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    assert_eq!(request["method"], "elicitation/create", "{asked}");
    assert_eq!(key, "q0", "the server's own name for it");
    let mut again = call;
    again["inputResponses"] =
        json!({ key: { "action": "accept", "content": { "branch": "dev" } } });
    again["requestState"] = asked["requestState"].clone();
    assert_ne!(
        again["requestState"], "the state",
        "the server's own state is not the client's"
    );
    let done = raw.request("tools/call", &with(again))["result"].clone();
    assert_eq!(done["resultType"], "complete", "{done}");
    let said: Value = serde_json::from_str(&text(&done)).unwrap();
    assert_eq!(said[0]["result"]["content"]["branch"], "dev", "{done}");
    desk.stage.audit_verifies();
}

/// A legacy server is told once what it may ask: what the first request offered, and no more.
#[test]
fn a_legacy_server_hears_what_the_first_request_offers() {
    let Some(desk) = desk("a_legacy_server_behind_a_modern_client", PERMIT_USE) else {
        return;
    };
    let mut raw = Raw::start(desk.stage.creance(&["serve"]));
    let mut call = |capabilities: Value, tool: &str, arguments: Value| {
        let meta = meta(&capabilities);
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        raw.request("tools/call", &params)["result"].clone()
    };
    // The very first request is a call: it waits for the server.
    let said = call(json!({ "elicitation": {} }), "asks__said", json!({}));
    let said: Value = serde_json::from_str(&text(&said)).unwrap();
    assert_eq!(said["capabilities"], json!({ "elicitation": {} }), "{said}");
    let asks = json!({ "requests": [{ "method": "sampling/createMessage", "params": prompt() }] });
    let told = call(
        json!({ "elicitation": {}, "sampling": {} }),
        "asks__ask",
        asks,
    );
    let told = text(&told);
    assert!(told.contains("offers no such method"), "{told}");
}

/// What a server wants to know at once, its client is asked at once.
#[test]
fn questions_of_one_result_go_together() {
    let Some(desk) = modern_desk("questions_of_one_result", PERMIT_USE) else {
        return;
    };
    let mut raw = Raw::start(desk.stage.creance(&["serve"]));
    let form = json!({ "method": "elicitation/create", "params": branch() });
    let call = json!({ "name": "asks__ask", "arguments": { "requests": [form, form, form] },
        "_meta": meta(&json!({ "elicitation": {} })) });
    let asked = raw.request("tools/call", &call)["result"].clone();
    let mut keys: Vec<&String> = asked["inputRequests"].as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["q0", "q1", "q2"], "{asked}");
}
