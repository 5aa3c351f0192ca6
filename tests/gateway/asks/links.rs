//! Links: whose they are, where they lead, and what of them is on record.

use std::time::Instant;

use serde_json::{Value, json};

use crate::cases::desk::{Desk, PERMIT_ALL, text};

use super::talk::{LIMIT, PERMIT_USE, Talk, agreeable, all, desk, page};

#[test]
fn a_link_is_asked_about_and_named() {
    let Some(desk) = desk("a_link_is_asked_about", PERMIT_USE) else {
        return;
    };
    let mut talk = Talk::open(desk, &all(), agreeable);
    let url = "https://pay.example.com/zzz?token=yyy#xxx";
    let said = talk.asks("elicitation/create", &page(url));
    assert_eq!(said["result"], json!({ "action": "accept" }), "{said}");
    let came = talk.came("elicitation/create");
    assert_eq!(came.len(), 2, "{came:?}");
    // First Creance asks whether the person may be sent there at all.
    let question = came[0]["params"]["message"].as_str().unwrap();
    assert!(
        question.contains("Let the server user/asks send you to pay.example.com?"),
        "{question}"
    );
    assert!(question.contains(url), "{question}");
    let shown = &came[1]["params"];
    assert_eq!(shown["url"], url);
    let message = shown["message"].as_str().unwrap();
    assert!(
        message.contains("Host: pay.example.com\n") && message.contains(&format!("Link: {url}\n")),
        "{message}"
    );
    let ours = shown["elicitationId"].as_str().unwrap().to_owned();
    assert_ne!(ours, "e-1");
    // Only what this server opened is told as done, and once.
    let done = |id: &str| json!({ "method": "notifications/elicitation/complete", "params": { "elicitationId": id } });
    talk.call(
        "asks__note",
        &json!({ "notify": [done("e-2"), done(&ours), done("e-1"), done("e-1")] }),
    );
    let end = Instant::now() + LIMIT;
    while talk.came("notifications/elicitation/complete").is_empty() {
        assert!(Instant::now() < end);
        talk.call("asks__said", &json!({}));
    }
    let told = talk.came("notifications/elicitation/complete");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["params"]["elicitationId"], ours);
    // Of the link, its origin is on record and no more.
    let all: String = talk.desk.records().iter().map(Value::to_string).collect();
    assert!(all.contains("https://pay.example.com:443"), "{all}");
    for text in ["zzz", "yyy", "xxx", "Please sign in"] {
        assert!(!all.contains(text), "{text} is on record");
    }
}

#[test]
fn a_link_that_a_call_needs_is_judged_too() {
    let Some(desk) = desk("a_link_that_a_call_needs", PERMIT_ALL) else {
        return;
    };
    let mut talk = Talk::open(desk, &all(), agreeable);
    let needs = |links: &Value| {
        let data = json!({ "elicitations": links, "kept": 1 });
        json!({ "error": { "code": -32042, "message": "sign\u{200b} in", "data": data } })
    };
    let links = json!([
        page("https://example.com/a"),
        page("javascript:x"),
        page("http://10.0.0.1/")
    ]);
    let answer = talk.call("asks__needs", &needs(&links));
    let error = &answer["error"];
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32042), &json!("sign in")),
        "{answer}"
    );
    let passed = error["data"]["elicitations"].as_array().unwrap();
    assert_eq!(passed.len(), 1, "{answer}");
    assert_eq!(passed[0]["url"], "https://example.com/a");
    assert_ne!(passed[0]["elicitationId"], "e-1");
    assert_eq!(error["data"]["kept"], 1);
    let answer = talk.call("asks__needs", &needs(&json!([page("file:///etc/passwd")])));
    assert_eq!(answer["error"]["code"], -1, "{answer}");
    assert!(!answer.to_string().contains("passwd"), "{answer}");
}

/// A person who says no has declined; the page is not opened.
#[test]
fn a_refused_link_is_declined() {
    let Some(desk) = desk("a_refused_link", PERMIT_USE) else {
        return;
    };
    let no = |message: &Value| {
        let asked = message["params"]["requestedSchema"]["properties"]
            .get("answer")
            .is_some();
        asked.then(|| json!({ "action": "accept", "content": { "answer": "no" } }))
    };
    let mut talk = Talk::open(desk, &all(), no);
    let said = talk.asks("elicitation/create", &page("https://example.com/"));
    assert_eq!(said["result"], json!({ "action": "decline" }), "{said}");
    assert_eq!(talk.came("elicitation/create").len(), 1);
}

/// Seven links and a form: one link goes to the person, named; nothing else reaches anybody.
#[test]
fn sec_15_links_without_a_test_of_their_scheme() {
    let Some(desk) = Desk::new("sec_15") else {
        return;
    };
    let script = include_str!("../../cases/SEC-15.server.jsonl");
    let script = script.replace("\"2025-06-18\"", "\"2025-11-25\"");
    let server = desk.plays("demo", &script);
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(PERMIT_ALL);
    let mut talk = Talk::listed(desk, (&all(), agreeable), "demo__t7");
    for n in 0..8 {
        let tool = format!("demo__t{n}");
        let id = talk
            .raw
            .ask("tools/call", &json!({ "name": tool, "arguments": {} }));
        let answer = talk.wait(id);
        assert_eq!(text(&answer["result"]), "asked", "{answer}");
    }
    talk.until(|talk| talk.came("elicitation/create").len() == 2);
    let shown: Vec<&str> = talk
        .came("elicitation/create")
        .iter()
        .map(|message| message["params"]["message"].as_str().unwrap())
        .collect();
    assert!(shown[0].contains("Host: login.example.test\n"), "{shown:?}");
    assert!(
        shown[1].contains("Host: xn--pypal-4ve.example.test\n"),
        "{shown:?}"
    );
    assert!(shown[1].contains("In other letters: p"), "{shown:?}");
    let denied = |talk: &Talk, action: &str| {
        let records = talk.records(action).into_iter();
        records
            .filter(|r| r.to_string().contains(r#""outcome":"deny""#))
            .count()
    };
    talk.until(|talk| denied(talk, "elicit.form") == 1 && denied(talk, "elicit.url") == 1);
    assert_eq!(talk.came("elicitation/create").len(), 2);
}
