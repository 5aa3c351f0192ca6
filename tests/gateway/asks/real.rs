//! A real server that asks back, and a real client.

use serde_json::{Value, json};

use crate::client::Client;
use crate::real::{self, need, path_text};
use crate::stage::{Stage, node_server};

use super::talk::PERMIT_USE;
use crate::remote::everything;

const TEST: &str = "everything_asks_back";

/// The reference server's form, request to a model and roots, through the gateway.
#[test]
fn everything_asks_back() {
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    asks_back(Where::Here, &node_server(node, "everything", &[]));
}

/// The same from a server that is spoken to over HTTP.
#[test]
fn everything_asks_back_from_afar() {
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    let far = everything(node, "streamableHttp");
    asks_back(Where::Elsewhere, &json!({ "url": far.url("/mcp") }));
}

/// Where a server runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Here,
    Elsewhere,
}

const PERMIT_CONNECT: &str = r#"
@id("connect")
@reason("The test's own servers.")
permit (principal, action == Action::"server.connect", resource);
"#;

#[track_caller]
fn asks_back(place: Where, server: &Value) {
    let stage = Stage::new();
    stage.servers(&json!({ "everything": server }));
    stage.policy(&format!("{PERMIT_USE}{PERMIT_CONNECT}"));
    let filled = json!({ "name": "Ada", "check": true, "integer": 42 });
    let answers = json!([
        { "contains": "asks you to fill in this form", "content": filled },
        { "contains": "ask the model of your client", "say": "once" },
    ]);
    let steps = json!([
        { "model": "forty-two" },
        { "root": "file:///etc" },
        { "list": "everything__trigger-elicitation-request" },
        { "list": "everything__trigger-sampling-request" },
        { "list": "everything__get-roots-list" },
        { "call": "everything__trigger-elicitation-request" },
        { "call": "everything__trigger-sampling-request", "args": { "prompt": "Six by seven?" } },
        { "call": "everything__get-roots-list" },
    ]);
    let Some(got) = Client::TypeScript.run(TEST, &stage.gateway(), Some(answers), steps) else {
        return;
    };
    let result = |n: usize| {
        got["results"][n]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(
        result(3).contains("Ada") && result(3).contains("accept"),
        "{got}"
    );
    assert!(result(4).contains("forty-two"), "{got}");
    // The root is the project, as Creance knows it, and not what the client says; none for a server that
    // runs elsewhere.
    let project = path_text(&stage.project);
    assert_eq!(result(5).contains(&project), place == Where::Here, "{got}");
    assert!(!result(5).contains("file:///etc"), "{got}");
    let asked = got["asked"].as_array().unwrap();
    assert_eq!(asked.len(), 2, "{got}");
    let form = asked[0].as_str().unwrap();
    assert!(
        form.starts_with("The server user/everything asks you"),
        "{form}"
    );
    let sampled = &got["sampled"][0];
    let system = sampled["systemPrompt"].as_str().unwrap();
    assert!(
        system.starts_with("From the server user/everything"),
        "{system}"
    );
    assert!(
        sampled["messages"][0]["content"]["text"]
            .as_str()
            .unwrap()
            .contains("Six by seven?")
    );
    let log = stage.home.join(".local/state/creance/audit.jsonl");
    let log = std::fs::read_to_string(log).unwrap();
    let actions: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| {
            record
                .to_string()
                .contains(r#""principal":"server/user/everything""#)
        })
        .collect();
    assert!(
        actions
            .iter()
            .any(|record| record.to_string().contains("elicit.form")),
        "{log}"
    );
    assert!(!log.contains("Ada"), "what was filled in is on record");
    stage.audit_verifies();
}
