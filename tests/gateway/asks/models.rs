//! Requests to the model of the client.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cases::desk::{Desk, PERMIT_ALL, text};

use super::talk::{LIMIT, PERMIT_USE, Talk, agreeable, all, desk, prompt};

#[test]
fn a_model_is_asked_after_an_answer_and_cleaned_both_ways() {
    let Some(desk) = desk("a_model_is_asked", PERMIT_USE) else {
        return;
    };
    let mut talk = Talk::open(desk, &all(), agreeable);
    let said = talk.asks("sampling/createMessage", &prompt());
    let result = &said["result"];
    assert_eq!(
        (&result["model"], &result["stopReason"]),
        (&json!("m"), &json!("endTurn")),
        "{said}"
    );
    let words = result["content"]["text"].as_str().unwrap();
    assert!(
        words.starts_with("hi, [secret:") && !words.contains("ghp_"),
        "{words}"
    );
    let question = talk.came("elicitation/create");
    let question = question[0]["params"]["message"].as_str().unwrap();
    assert!(
        question.contains("Let the server user/asks ask the model of your client?"),
        "{question}"
    );
    assert!(
        question.contains("Say ⟦U+200B⟧hi") && question.contains("Be brief"),
        "{question}"
    );
    assert!(question.contains("not passed on"), "{question}");
    let shown = &talk.came("sampling/createMessage")[0]["params"];
    assert_eq!(shown["messages"][0]["content"]["text"], "Say hi");
    assert_eq!(shown["includeContext"], "none");
    let system = shown["systemPrompt"].as_str().unwrap();
    assert!(
        system.starts_with("From the server user/asks (untrusted text):"),
        "{system}"
    );
    let record = talk.records("sampling.create").pop().unwrap().to_string();
    assert!(
        record.contains(r#""depth":1"#) && record.contains(r#""include_context":"all-servers""#),
        "{record}"
    );
    assert!(!record.contains("Be brief"), "{record}");
}

#[test]
fn at_most_four_requests_to_a_model_at_once() {
    let Some(desk) = desk("at_most_four", PERMIT_ALL) else {
        return;
    };
    let mut talk = Talk::open(desk, &all(), |_| None);
    let one = json!({ "method": "sampling/createMessage", "params": prompt() });
    let id = talk.raw.ask(
        "tools/call",
        &json!({ "name": "asks__ask", "arguments": { "requests": vec![one; 6] } }),
    );
    let end = Instant::now() + LIMIT;
    while talk.came("sampling/createMessage").len() < 4 {
        assert!(Instant::now() < end);
        if let Some(message) = talk.raw.next_within(Duration::from_millis(100)) {
            talk.heed(message);
        }
    }
    let denied = |talk: &Talk| {
        talk.records("sampling.create")
            .iter()
            .filter(|r| r.to_string().contains("sampling-crowd"))
            .count()
    };
    while denied(&talk) < 2 {
        assert!(Instant::now() < end);
        if let Some(message) = talk.raw.next_within(Duration::from_millis(100)) {
            talk.heed(message);
        }
    }
    assert_eq!(talk.came("sampling/createMessage").len(), 4);
    // The client gives up the call: nobody wants the answers any more.
    talk.raw
        .notify("notifications/cancelled", &json!({ "requestId": id }));
    while talk.came("notifications/cancelled").len() < 4 {
        assert!(Instant::now() < end, "{}", talk.stderr());
        if let Some(message) = talk.raw.next_within(Duration::from_millis(100)) {
            talk.heed(message);
        }
    }
}

/// A client without forms: the question about a request to its model is answered in a terminal.
#[test]
fn without_elicitation_a_person_answers_elsewhere() {
    let Some(desk) = desk("without_elicitation", PERMIT_USE) else {
        return;
    };
    let mut talk = Talk::open(desk, &json!({ "sampling": {} }), agreeable);
    let one = json!({ "method": "sampling/createMessage", "params": prompt() });
    let params = json!({ "name": "asks__ask", "arguments": { "requests": [one] } });
    let id = talk.raw.ask("tools/call", &params);
    let end = Instant::now() + LIMIT;
    let question = loop {
        if let Some(one) = talk.desk.waiting().into_iter().next() {
            break one;
        }
        assert!(Instant::now() < end, "{}", talk.stderr());
    };
    let shown = question.to_string();
    assert!(shown.contains("ask the model of your client"), "{shown}");
    assert!(talk.desk.approve(&question, "once"));
    let answer = talk.wait(id);
    assert!(text(&answer["result"]).contains("endTurn"), "{answer}");
}

/// Requests to a model outside a call, too long, with the words of others, with lasting orders, with
/// tools: each is told to the person in full, and what was not declared is not there.
#[test]
fn sec_19_whose_request_to_a_model_it_is() {
    let Some(desk) = Desk::new("sec_19") else {
        return;
    };
    let server = desk.plays("demo", include_str!("../../cases/SEC-19.server.jsonl"));
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(PERMIT_ALL);
    let offers = json!({ "elicitation": {}, "sampling": { "context": {} } });
    let mut talk = Talk::listed(desk, (&offers, agreeable), "demo__tools");
    // One after the other: what is called while a model works counts as called by it.
    let answered = |talk: &Talk| {
        let records = talk.desk.records().into_iter();
        records
            .filter(|r| {
                r.to_string()
                    .contains(r#""result":"done","details":{"content_bytes"#)
            })
            .count()
    };
    talk.until(|talk| answered(talk) == 1);
    for (n, tool) in ["plain", "huge", "context", "orders", "tools"]
        .iter()
        .enumerate()
    {
        let params = json!({ "name": format!("demo__{tool}"), "arguments": {} });
        let id = talk.raw.ask("tools/call", &params);
        assert_eq!(text(&talk.wait(id)["result"]), "asked");
        // The client does not offer tools to a model: that one is refused.
        talk.until(|talk| answered(talk) == (n + 2).min(5));
    }
    let questions: Vec<&str> = talk
        .came("elicitation/create")
        .iter()
        .map(|message| message["params"]["message"].as_str().unwrap())
        .collect();
    let about = |part: &str| questions.iter().filter(|q| q.contains(part)).count();
    assert!(
        questions
            .iter()
            .all(|q| q.starts_with("Let the server user/demo ask")),
        "{questions:?}"
    );
    assert_eq!(
        about("no tool of this server was being used"),
        1,
        "{questions:?}"
    );
    assert_eq!(about("100000 tokens"), 1, "{questions:?}");
    assert_eq!(questions.len(), 2, "{questions:?}");
    let asked: Vec<&Value> = talk.came("sampling/createMessage");
    assert!(
        asked
            .iter()
            .all(|a| a["params"]["includeContext"].as_str().unwrap_or("none") == "none")
    );
    let orders: Vec<&str> = asked
        .iter()
        .filter_map(|a| a["params"]["systemPrompt"].as_str())
        .collect();
    assert_eq!(orders.len(), 1);
    assert!(
        orders[0].starts_with("From the server user/demo (untrusted text):"),
        "{orders:?}"
    );
    assert_eq!(talk.records("sampling.create").len(), 5);
}
