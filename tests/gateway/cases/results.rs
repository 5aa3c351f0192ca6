//! Results on their way to the agent, and calls that take long.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::desk::{Desk, PERMIT_ALL, failed, text};

fn demo(test: &str, script: &str, more: &Value) -> Option<Desk> {
    let mut desk = Desk::new(test)?;
    let mut server = desk.plays("demo", script);
    for (key, value) in more.as_object().unwrap() {
        server[key] = value.clone();
    }
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(PERMIT_ALL);
    desk.open();
    Some(desk)
}

#[test]
fn mcp_18_results_are_checked_without_hiding_errors() {
    let script = include_str!("../../cases/MCP-18.server.jsonl");
    let Some(mut desk) = demo("mcp_18", script, &json!({})) else {
        return;
    };
    desk.wait_for("demo__push");
    let mut push = |how: &str| desk.call("demo__push", &json!({ "how": how }));
    let good = push("good");
    assert_eq!(good["structuredContent"], json!({ "sha": "abc" }), "{good}");
    assert!(!failed(&good));
    let error = push("error");
    assert!(failed(&error));
    assert_eq!(text(&error), "rejected: non-fast-forward");
    assert_eq!(error["structuredContent"], json!({ "code": 1 }), "{error}");
    let wrong = push("wrong");
    assert!(wrong["structuredContent"].is_null(), "{wrong}");
    let told = text(&wrong);
    assert!(
        told.contains("sha is 7") && told.len() > "sha is 7".len(),
        "{wrong}"
    );
    assert!(wrong["error"].is_null(), "{wrong}");
    let plain = push("other");
    assert!(text(&plain).contains("plain"), "{plain}");
}

#[test]
fn mcp_19_blocks_pass_unchanged_and_in_order() {
    let script = include_str!("../../cases/MCP-19.server.jsonl");
    let Some(mut desk) = demo("mcp_19", script, &json!({})) else {
        return;
    };
    desk.wait_for("demo__mixed");
    let reply = script
        .lines()
        .find(|line| line.contains("tools/call"))
        .unwrap();
    let reply: Value = serde_json::from_str(reply).unwrap();
    assert_eq!(desk.call("demo__mixed", &json!({})), reply["reply"]);
    // A link is no way to a server: none lists this, so nobody reads it, and no record is of a reading.
    let read = desk.request("resources/read", &json!({ "uri": "file:///etc/passwd" }));
    assert_eq!(read["error"]["code"], -32002, "{read}");
    let read = desk
        .records()
        .iter()
        .any(|record| record["action"] == "resource.read");
    assert!(!read);
}

#[test]
fn mcp_20_progress_restarts_the_limit() {
    let script = include_str!("../../cases/MCP-20.server.jsonl");
    let Some(mut desk) = demo("mcp_20", script, &json!({ "timeoutMs": 2000 })) else {
        return;
    };
    desk.wait_for("demo__long");
    for token in [json!(0), json!("p")] {
        desk.raw().unasked.clear();
        let params =
            json!({ "name": "demo__long", "arguments": {}, "_meta": { "progressToken": token } });
        let answer = desk.request("tools/call", &params);
        assert_eq!(text(&answer["result"]), "done", "{answer}");
        let unasked = std::mem::take(&mut desk.raw().unasked);
        let reports: Vec<Value> = unasked
            .into_iter()
            .filter(|message| message["method"] == "notifications/progress")
            .collect();
        assert_eq!(reports.len(), 6, "{reports:?}");
        for (report, n) in reports.iter().zip(1..) {
            assert_eq!(report["params"]["progressToken"], token, "{report}");
            assert_eq!(report["params"]["progress"], n, "{report}");
        }
    }
    // Without a token of the agent's the server still reports to the gateway.
    assert_eq!(text(&desk.call("demo__long", &json!({}))), "done");
}

#[test]
fn mcp_20_silence_and_endless_progress_end_at_their_limits() {
    let endless = include_str!("../../cases/MCP-20.server.jsonl").replace(
        r#"{"n": 6, "every_ms": 700}"#,
        r#"{"n": 100, "every_ms": 100}"#,
    );
    let Some(mut desk) = demo("mcp_20", &endless, &json!({ "timeoutMs": 300 })) else {
        return;
    };
    desk.wait_for("demo__long");
    let begun = Instant::now();
    let result = desk.call("demo__long", &json!({}));
    assert!(
        failed(&result) && text(&result).contains("longest that a call may take"),
        "{result}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(9),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn mcp_04_standard_error_is_drained_and_only_its_end_is_kept() {
    let script = include_str!("../../cases/MCP-04.server.jsonl");
    let Some(mut desk) = demo("mcp_04", script, &json!({})) else {
        return;
    };
    desk.wait_for("demo__hello");
    for _ in 0..3 {
        assert_eq!(text(&desk.call("demo__hello", &json!({}))), "ok");
    }
    desk.close();

    let dying = script.replace(
        r#""reply": {"content": [{"type": "text", "text": "ok"}]}"#,
        r#""exit": 3"#,
    );
    let Some(mut desk) = demo("mcp_04", &dying, &json!({})) else {
        return;
    };
    desk.wait_for("demo__hello");
    let result = desk.call("demo__hello", &json!({}));
    let told = text(&result);
    assert!(failed(&result) && told.ends_with("red last line"), "{told}");
    assert!(!told.contains('\u{1b}') && told.len() < 20_000, "{told}");
}
