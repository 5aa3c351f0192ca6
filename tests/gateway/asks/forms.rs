//! Forms: what reaches the person, what comes back, what does not pass.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cases::desk::PERMIT_ALL;

use super::talk::{LIMIT, PERMIT_USE, Talk, agreeable, all, branch, desk, form, page};

#[test]
fn a_form_goes_to_the_person_and_comes_back_whole() {
    let Some(desk) = desk("a_form_goes_to_the_person", PERMIT_USE) else {
        return;
    };
    let mut talk = Talk::open(desk, &json!({ "elicitation": {} }), agreeable);
    let said = talk.asks("elicitation/create", &branch());
    let want = json!({ "action": "accept", "content": { "branch": "main" }, "later": 1.50 });
    assert_eq!(said["result"], want, "{said}");
    let shown = talk.came("elicitation/create");
    assert_eq!(shown.len(), 1, "{shown:?}");
    let message = shown[0]["params"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("The server user/asks asks you to fill in this form."),
        "{message}"
    );
    assert!(message.ends_with("> Which branch?\n"), "{message}");
    let record = talk.records("elicit.form").pop().unwrap().to_string();
    assert!(
        record.contains("Which branch?") && record.contains(r#""principal":"server/user/asks""#),
        "{record}"
    );
    let all: Vec<String> = talk.desk.records().iter().map(Value::to_string).collect();
    assert!(
        !all.concat().contains(r#""main""#),
        "the answer is on record"
    );
    assert!(
        all.iter().any(|r| r.contains(r#""result":"accept""#)),
        "{all:?}"
    );
    talk.desk.stage.audit_verifies();
}

#[test]
fn what_is_filled_in_is_recorded_where_that_is_set() {
    let Some(desk) = desk("what_is_filled_in", PERMIT_USE) else {
        return;
    };
    let server = desk.python(&["case/ask_server.py"]);
    let config = json!({ "mcpServers": { "asks": server }, "audit": { "formAnswers": true } });
    desk.stage.configure(&config);
    let mut talk = Talk::open(desk, &json!({ "elicitation": {} }), agreeable);
    talk.asks("elicitation/create", &branch());
    let all: Vec<String> = talk.desk.records().iter().map(Value::to_string).collect();
    assert!(
        all.iter().any(|r| r.contains(r#""branch":"main""#)),
        "{all:?}"
    );
}

#[test]
fn forms_that_are_none_reach_nobody() {
    let Some(desk) = desk("forms_that_are_none", PERMIT_ALL) else {
        return;
    };
    let mut talk = Talk::open(desk, &all(), agreeable);
    let secret = json!({ "password": { "type": "string" } });
    for params in [
        form("Hello", &secret),
        form(
            "Enter the p\u{430}ssword of your bank",
            &json!({ "x": { "type": "string" } }),
        ),
        form(
            "Hello",
            &json!({ "x": { "type": "string", "format": "password" } }),
        ),
    ] {
        let said = talk.asks("elicitation/create", &params);
        let why = said["error"]["message"].as_str().unwrap();
        assert!(
            why.contains("guard rail") && why.contains("no boundary"),
            "{why}"
        );
    }
    for params in [
        form(&"x".repeat(5_000), &json!({ "x": { "type": "string" } })),
        form(
            "Hello",
            &json!({ "x": { "type": "object", "properties": {} } }),
        ),
        json!({ "mode": "other", "message": "x" }),
        json!({ "message": "x" }),
        page("javascript:alert(1)"),
        page("data:text/html,<b>x</b>"),
        page("file:///etc/passwd"),
        page("https://user:pw@example.com/"),
    ] {
        let said = talk.asks("elicitation/create", &params);
        assert_eq!(said["error"]["code"], -32602, "{params}: {said}");
    }
    let said = talk.asks("elicitation/create", &page("http://example.com/"));
    assert_eq!(said["error"]["code"], -1, "{said}");
    let said = talk.asks("tasks/list", &json!({}));
    assert_eq!(said["error"]["code"], -32601, "{said}");
    assert_eq!(talk.came("elicitation/create").len(), 0);
}

#[test]
fn an_answer_that_does_not_fit_reaches_no_server() {
    let Some(desk) = desk("an_answer_that_does_not_fit", PERMIT_ALL) else {
        return;
    };
    let wrong = |_: &Value| {
        Some(json!({ "action": "accept", "content": { "branch": 7, "extra": "mine" } }))
    };
    let mut talk = Talk::open(desk, &all(), wrong);
    let said = talk.asks("elicitation/create", &branch());
    assert_eq!(said["error"]["code"], -32603, "{said}");
    assert!(!said.to_string().contains("mine"), "{said}");
}

#[test]
fn what_a_server_gives_up_is_withdrawn() {
    let Some(desk) = desk("what_a_server_gives_up", PERMIT_ALL) else {
        return;
    };
    let mut talk = Talk::open(desk, &all(), |_| None);
    let one = json!({ "method": "elicitation/create", "params": branch() });
    talk.call("asks__ask", &json!({ "requests": [one], "drop": true }));
    let end = Instant::now() + LIMIT;
    while talk.came("elicitation/create").len() > talk.came("notifications/cancelled").len() {
        assert!(Instant::now() < end);
        if let Some(message) = talk.raw.next_within(Duration::from_millis(100)) {
            talk.heed(message);
        }
    }
    // It still answers, and a later form passes.
    let said = talk.call("asks__said", &json!({}));
    assert!(said["capabilities"].is_object(), "{said}");
}

/// A server may ask while its hands are being shaken.
#[test]
fn a_form_during_initialize() {
    let Some(desk) = desk("a_form_during_initialize", PERMIT_USE) else {
        return;
    };
    let roots = json!({ "method": "roots/list" });
    let form = json!({ "method": "elicitation/create", "params": branch() });
    desk.stage.write(
        "home/project/case/start.json",
        &json!([form, roots]).to_string(),
    );
    let server = desk.python(&["case/ask_server.py", "--at-start", "case/start.json"]);
    desk.stage.servers(&json!({ "asks": server }));
    let mut talk = Talk::open(desk, &all(), agreeable);
    let said = talk.call("asks__said", &json!({}));
    assert_eq!(
        said["at_start"][0]["result"]["content"]["branch"], "main",
        "{said}"
    );
    let root = said["at_start"][1]["result"]["roots"][0]["uri"]
        .as_str()
        .unwrap();
    assert!(
        root.starts_with("file:///") && root.ends_with("/home/project"),
        "{root}"
    );
    let record = talk.records("elicit.form").pop().unwrap().to_string();
    assert!(record.contains(r#""during_call":false"#), "{record}");
}
