//! Sessions and streams: what is answered on which, and what becomes of it when the client goes.

use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::served::{LIMIT, Served, request, standing};
use crate::client::Client;
use crate::stage::Stage;

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    request(
        id,
        "tools/call",
        &json!({ "name": tool, "arguments": arguments }),
    )
}

#[test]
fn a_client_lists_and_calls() {
    let stage = Stage::new();
    let served = Served::with_server(&stage);
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = served.session(revision);
        served.ready(&session);
        let fields = [
            ("Mcp-Session-Id", session.as_str()),
            ("MCP-Protocol-Version", revision),
        ];
        let answer = served.post(&fields, &call(7, "s__echo", &json!({ "text": "hello" })));
        assert_eq!(
            answer.field("content-type"),
            Some("application/json"),
            "{answer:?}"
        );
        assert_eq!(answer.json()["id"], 7);
        assert_eq!(answer.json()["result"]["content"][0]["text"], "hello");
        // Reports come before the answer, under the client's own token.
        let mut slow = call(8, "s__slow", &json!({ "steps": 2, "text": "done" }));
        slow["params"]["_meta"] = json!({ "progressToken": "mine" });
        let answer = served.post(&fields, &slow);
        assert_eq!(
            answer.field("content-type"),
            Some("text/event-stream"),
            "{answer:?}"
        );
        let events = answer.events();
        assert_eq!(events[0]["params"]["progressToken"], "mine", "{events:?}");
        assert_eq!(events.last().unwrap()["id"], 8, "{events:?}");
        assert_eq!(
            events.last().unwrap()["result"]["content"][0]["text"],
            "done"
        );
        assert_eq!(
            served
                .send(
                    "DELETE",
                    &standing(&format!("Bearer {}", served.token), &fields),
                    ""
                )
                .status,
            204
        );
        assert_eq!(
            served.post(&fields, &request(9, "ping", &json!({}))).status,
            404
        );
    }
    stage.audit_verifies();
}

#[test]
fn a_session_is_its_principals_alone() {
    let stage = Stage::new();
    stage.servers(&json!({}));
    let served = Served::start(&stage, &[]);
    let session = served.session("2025-11-25");
    let fields = [("Mcp-Session-Id", session.as_str())];
    let ping = request(1, "ping", &json!({}));
    assert_eq!(served.post(&fields, &ping).status, 200);
    let other = served.post_as(&served.other(), &fields, &ping);
    let never = served.post(&[("Mcp-Session-Id", "no-such-session")], &ping);
    assert_eq!((other.status, &other.body), (404, &never.body));
    for method in ["GET", "DELETE"] {
        let bearer = format!("Bearer {}", served.other());
        assert_eq!(
            served.send(method, &standing(&bearer, &fields), "").status,
            404
        );
    }
    // It was not ended by that.
    assert_eq!(served.post(&fields, &ping).status, 200);
    // Both are on record, each with its name.
    let (_, shown) = stage.says(&["audit", "show", "--json"]);
    assert!(shown.contains(r#""user":"own""#), "{shown}");
}

/// A client that is gone cancels what it asked for.
#[test]
fn a_client_that_goes_cancels_its_call() {
    let stage = Stage::new();
    let served = Served::with_server(&stage);
    let session = served.session("2025-11-25");
    served.ready(&session);
    let stream = served.leave_open(&session, &call(5, "s__slow", &json!({})));
    std::thread::sleep(Duration::from_millis(500));
    drop(stream);
    let begun = Instant::now();
    let mark = stage.project.join("cancelled.txt");
    while !mark.exists() {
        assert!(begun.elapsed() < LIMIT, "the server was not told");
        std::thread::sleep(Duration::from_millis(100));
    }
    // The session goes on.
    let ping = served.post(
        &[("Mcp-Session-Id", &session)],
        &request(6, "ping", &json!({})),
    );
    assert_eq!(ping.status, 200);
}

/// A stream that was cut is taken up again where it was.
#[test]
fn a_cut_stream_goes_on() {
    let stage = Stage::new();
    let served = Served::with_server(&stage);
    let session = served.session("2025-11-25");
    served.ready(&session);
    let mut slow = call(5, "s__slow", &json!({ "steps": 40, "text": "whole" }));
    slow["params"]["_meta"] = json!({ "progressToken": 1 });
    let stream = served.leave_open(&session, &slow);
    let mut from = BufReader::new(stream);
    let mut last = String::new();
    while !last.starts_with("id: ") || last.trim().ends_with('s') {
        last.clear();
        assert_ne!(from.read_line(&mut last).unwrap(), 0);
    }
    drop(from);
    let last = last.trim().strip_prefix("id: ").unwrap().to_owned();
    let bearer = format!("Bearer {}", served.token);
    let more = [
        ("Mcp-Session-Id", session.as_str()),
        ("Last-Event-ID", &last),
    ];
    let answer = served.send("GET", &standing(&bearer, &more), "");
    let events = answer.events();
    let end = events.last().unwrap();
    assert_eq!(end["result"]["content"][0]["text"], "whole", "{answer:?}");
    let steps: Vec<i64> = events
        .iter()
        .filter_map(|event| event["params"]["progress"].as_i64())
        .collect();
    let first = steps[0];
    assert_eq!(
        steps,
        (first..first + steps.len() as i64).collect::<Vec<_>>()
    );
}

/// Both official clients list and call over HTTP, and answer a question of the gateway.
#[test]
fn official_clients_list_and_call() {
    const TEST: &str = "official_clients_list_and_call";
    let stage = Stage::new();
    let served = Served::with_server(&stage);
    // Calls are asked about.
    stage.policy(
        r#"@id("start") @reason("The test's own.") permit (principal, action in [Action::"start", Action::"sandbox"], resource);"#,
    );
    let server = json!({ "url": format!("http://{}/mcp", served.address), "token": served.token });
    for client in Client::ALL {
        let answers = json!([{ "contains": "", "say": "once" }]);
        let steps = json!([
            { "list": "s__echo" },
            { "call": "s__echo", "args": { "text": "over http" } },
            { "call": "s__slow", "args": { "steps": 3, "text": "later" } },
            { "call": "s__echo", "args": { "text": "x", "times": 1_000_000 } },
        ]);
        let Some(got) = client.run(TEST, &server, Some(answers), steps) else {
            continue;
        };
        assert!(
            got["results"][1]["text"]
                .as_str()
                .unwrap()
                .contains("over http"),
            "{got}"
        );
        assert!(
            got["results"][2]["text"]
                .as_str()
                .unwrap()
                .contains("later"),
            "{got}"
        );
        assert!(
            got["results"][3]["text"].as_str().unwrap().len() > 20_000,
            "{client:?}"
        );
        assert!(!got["asked"].as_array().unwrap().is_empty(), "{got}");
    }
    stage.audit_verifies();
}
