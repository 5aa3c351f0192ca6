//! Subscriptions, changes of lists and log messages, in all four pairs of eras.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{ERAS, Era, Pair, greeting, meta, reply};
use crate::cases::desk::Desk;

/// A server that tells of a change of `test://a` as soon as it is asked to, of its prompts at each read,
/// and logs at each call.
fn script(era: Era) -> String {
    let note = |method: &str, params: Value| json!({ "method": method, "params": params });
    let updated = note(
        "notifications/resources/updated",
        json!({ "uri": "test://a" }),
    );
    let prompts = note("notifications/prompts/list_changed", json!({}));
    let log = |level: &str| {
        note(
            "notifications/message",
            json!({ "level": level, "logger": "own", "data": format!("{level}\u{1b}[31m said") }),
        )
    };
    let resource = json!({ "uri": "test://a", "name": "a" });
    let contents = json!({ "contents": [{ "uri": "test://a", "text": "a" }] });
    let done = json!({ "content": [{ "type": "text", "text": "ok" }] });
    let tool = json!({ "name": "hello", "description": "", "inputSchema": { "type": "object" } });
    let none = json!({});
    let subscribe = match era {
        Era::Legacy => {
            reply(
                era,
                "resources/subscribe",
                &json!({ "note": "subscribed", "after_notify": [updated] }),
                &none,
            ) + &reply(
                era,
                "resources/unsubscribe",
                &json!({ "note": "unsubscribed" }),
                &none,
            ) + &reply(era, "logging/setLevel", &json!({ "note": "level" }), &none)
        }
        Era::Modern => {
            let all = json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true });
            let mut with = all.clone();
            with["resourceSubscriptions"] = json!(["test://a"]);
            let quiet = json!({ "on": "subscriptions/listen", "match": { "notifications": all }, "ignore": true });
            let tells = json!({ "on": "subscriptions/listen", "match": { "notifications": with }, "note": "subscribed", "notify": [updated] });
            format!("{quiet}\n{tells}\n")
        }
    };
    [
        greeting(era),
        subscribe,
        reply(era, "tools/list", &none, &json!({ "tools": [tool] })),
        reply(
            era,
            "tools/call",
            &json!({ "notify": [log("debug"), log("info"), log("error")] }),
            &done,
        ),
        reply(
            era,
            "prompts/list",
            &none,
            &json!({ "prompts": [{ "name": "p" }] }),
        ),
        reply(
            era,
            "resources/list",
            &none,
            &json!({ "resources": [resource] }),
        ),
        reply(
            era,
            "resources/read",
            &json!({ "notify": [prompts] }),
            &contents,
        ),
    ]
    .concat()
}

/// Waits for a notification; those before it are dropped.
#[track_caller]
fn wait_for(pair: &mut Pair, method: &str) -> Value {
    let unasked = &mut pair.desk.raw().unasked;
    if let Some(at) = unasked
        .iter()
        .position(|message| message["method"] == method)
    {
        return unasked.drain(..=at).next_back().unwrap();
    }
    loop {
        let message = pair.desk.raw().next();
        if message["method"] == method {
            return message;
        }
    }
}

#[test]
fn changes_reach_whoever_subscribed() {
    for (server, client) in ERAS
        .map(|server| ERAS.map(|client| (server, client)))
        .concat()
    {
        let Some(mut pair) = Pair::permitted("eras_streams", client, &script(server)) else {
            return;
        };
        pair.wait_for("resources/list", "resources", "uri", "test://a");
        pair.wait_for("prompts/list", "prompts", "name", "demo__p");
        let stream = match client {
            Era::Legacy => {
                assert_eq!(
                    pair.result("resources/subscribe", &json!({ "uri": "test://a" })),
                    json!({})
                );
                let unknown = pair.request("resources/subscribe", &json!({ "uri": "test://z" }));
                assert_eq!(unknown["error"]["code"], -32002, "{unknown}");
                None
            }
            Era::Modern => {
                let wanted = json!({ "promptsListChanged": true, "resourceSubscriptions": ["test://a", "test://z"] });
                let params = pair.params(&json!({ "notifications": wanted }));
                let id = pair.desk.raw().ask("subscriptions/listen", &params);
                let first = wait_for(&mut pair, "notifications/subscriptions/acknowledged");
                let honoured =
                    json!({ "promptsListChanged": true, "resourceSubscriptions": ["test://a"] });
                assert_eq!(first["params"]["notifications"], honoured, "{first}");
                Some(id)
            }
        };
        let tag = |message: &Value| {
            message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone()
        };
        let updated = wait_for(&mut pair, "notifications/resources/updated");
        assert_eq!(updated["params"]["uri"], "test://a", "{updated}");
        assert_eq!(tag(&updated), json!(stream), "{updated}");
        pair.result("resources/read", &json!({ "uri": "test://a" }));
        let changed = wait_for(&mut pair, "notifications/prompts/list_changed");
        assert_eq!(tag(&changed), json!(stream), "{changed}");
        assert!(pair.desk.notes("demo").contains(&"subscribed".to_owned()));
        match stream {
            None => {
                pair.result("resources/unsubscribe", &json!({ "uri": "test://a" }));
            }
            Some(id) => pair
                .desk
                .raw()
                .notify("notifications/cancelled", &json!({ "requestId": id })),
        }
        if server == Era::Legacy {
            pair.desk.wait_until("the end of the subscription", |desk| {
                desk.notes("demo")
                    .iter()
                    .find(|note| *note == "unsubscribed")
                    .cloned()
            });
        }
        assert!(pair.desk.close().success());
    }
}

#[test]
fn log_messages_come_at_the_level_that_is_wanted() {
    for (server, client) in ERAS
        .map(|server| ERAS.map(|client| (server, client)))
        .concat()
    {
        let Some(mut pair) = Pair::permitted("eras_streams", client, &script(server)) else {
            return;
        };
        pair.wait_for("tools/list", "tools", "name", "demo__hello");
        let mut call = json!({ "name": "demo__hello", "arguments": {} });
        match client {
            Era::Legacy => {
                let odd = pair.request("logging/setLevel", &json!({ "level": "loud" }));
                assert_eq!(odd["error"]["code"], -32602, "{odd}");
                pair.result("logging/setLevel", &json!({ "level": "error" }));
            }
            Era::Modern => {
                call["_meta"] =
                    json!({ "io.modelcontextprotocol/logLevel": "error", "progressToken": 0 });
            }
        }
        pair.desk.raw().unasked.clear();
        pair.result("tools/call", &call);
        // A call that wants none hears none, in the modern era.
        let said = std::mem::take(&mut pair.desk.raw().unasked);
        let logs: Vec<&Value> = said
            .iter()
            .filter(|message| message["method"] == "notifications/message")
            .map(|message| &message["params"])
            .collect();
        assert!(logs.iter().all(|log| log["level"] == "error"), "{logs:?}");
        for log in logs {
            let want = json!({ "level": "error", "logger": "demo/own", "data": "error said" });
            assert_eq!(log, &want);
        }
        if server == Era::Legacy {
            assert!(pair.desk.notes("demo").contains(&"level".to_owned()));
        }
    }
}

/// A modern client that does not listen hears of no change: its first list waits for servers that are
/// being started, and not for one that a person is asked about.
#[test]
fn one_list_is_enough_for_a_modern_client() {
    for server in ERAS {
        let test = "eras_one_list";
        let Some(mut pair) = Pair::permitted(test, Era::Modern, &script(server)) else {
            return;
        };
        let first = pair.result("tools/list", &json!({}));
        assert_eq!(first["tools"][0]["name"], "demo__hello", "{first}");
        let Some(mut pair) = Pair::open(test, Era::Modern, &script(server), "") else {
            return;
        };
        let begun = Instant::now();
        let first = pair.result("tools/list", &json!({}));
        assert_eq!(first["tools"][0]["name"], "creance_status", "{first}");
        assert!(begun.elapsed() < Duration::from_secs(8), "{begun:?}");
    }
}

/// That one server waits for a person keeps nobody from waiting for the others, nor waiting long.
#[test]
fn one_list_has_the_servers_that_nobody_is_asked_about() {
    let Some(mut desk) = Desk::new("eras_one_list_of_two") else {
        return;
    };
    let (known, new) = (
        desk.plays("known", &script(Era::Modern)),
        desk.plays("new", &script(Era::Legacy)),
    );
    desk.stage
        .servers(&json!({ "known": known, "a-new-one": new }));
    desk.stage.policy(
        r#"@id("known") @reason("A test.") permit (principal, action, resource)
           unless { resource == Server::"user/a-new-one" };"#,
    );
    let command = desk.stage.creance(&["serve"]);
    desk.start(command);
    let begun = Instant::now();
    let params = json!({ "_meta": meta(&json!({})) });
    let listed = desk.request("tools/list", &params)["result"]["tools"].clone();
    assert_eq!(listed[0]["name"], "known__hello", "{listed}");
    assert!(begun.elapsed() < Duration::from_secs(8), "{begun:?}");
    let status = json!({ "name": "creance_status", "arguments": {}, "_meta": meta(&json!({})) });
    let said = desk.request("tools/call", &status).to_string();
    assert!(
        said.contains("user/a-new-one: waiting for an answer"),
        "{said}"
    );
}

/// A tool that a client knows from before can be called at once, in both eras.
#[test]
fn a_call_waits_for_its_server_to_start() {
    for client in ERAS {
        let Some(mut pair) = Pair::permitted("eras_call_at_once", client, &script(Era::Modern))
        else {
            return;
        };
        let call = json!({ "name": "demo__hello", "arguments": {} });
        let result = pair.result("tools/call", &call);
        assert_eq!(result["content"][0]["text"], "ok", "{result}");
        let call = json!({ "name": "demo__nothing", "arguments": {} });
        let error = pair.request("tools/call", &call)["error"].to_string();
        assert!(error.contains("unknown tool"), "{error}");
    }
}
