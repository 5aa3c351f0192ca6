//! Questions to modern clients: names, states, time.

use super::*;

fn work(request: Digest) -> Work {
    Work {
        done: oneshot::channel().1,
        cancel: Cancel::default(),
        request,
    }
}

fn envelope(capabilities: &str) -> Envelope {
    let text = format!(
        r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}}}}}"#
    );
    let params = crate::protocol::json::read(text.as_bytes()).unwrap().json;
    let read = Envelope::read("tools/call", params.as_object());
    read.unwrap().unwrap()
}

fn params(state: &str, responses: &str) -> Object {
    let text = format!(r#"{{"requestState":"{state}","inputResponses":{responses}}}"#);
    let json = crate::protocol::json::read(text.as_bytes()).unwrap().json;
    json.as_object().cloned().unwrap()
}

/// A call is resumed once, by the same request, with whole answers, in time.
#[tokio::test(start_paused = true)]
async fn a_state_is_bound_to_its_request_and_used_once() {
    let rounds = std::sync::Arc::new(Rounds::default());
    let own = request_digest("a", "tools/call", None);
    let asking = std::sync::Arc::clone(&rounds);
    let asked = tokio::spawn(async move {
        asking
            .ask(("elicitation/create", None), Object::default(), PARKED)
            .await
    });
    let mut news = rounds.news();
    news.wait_for(|news| *news > 0).await.unwrap();
    assert!(rounds.take(&envelope("{}")).is_empty());
    let asks = rounds.take(&envelope(r#"{"elicitation":{}}"#));
    assert_eq!(asks.len(), 1);
    let (_, result) = rounds.park(work(own), asks);
    let state = result.get("requestState").and_then(Json::as_str).unwrap();
    let key = "creance-1-0";
    assert!(result.get("inputRequests").unwrap().get(key).is_some());
    let answers = format!(r#"{{"{key}":{{"action":"decline"}}}}"#);
    for other in [
        request_digest("b", "tools/call", None),
        request_digest("a", "prompts/get", None),
        request_digest("a", "tools/call", Some(&params("x", "1"))),
    ] {
        let resumed = rounds.resume(other, &params(state, &answers));
        assert_eq!(resumed.is_ok(), other == own);
    }
    let again = rounds.resume(own, &params(state, &answers));
    assert_eq!(again.unwrap_err().code(), INVALID_PARAMS);
    assert_eq!(
        asked.await.unwrap().unwrap().to_string(),
        r#"{"action":"decline"}"#
    );
}

/// A question that no request carries ends, and is asked no more.
#[tokio::test(start_paused = true)]
async fn a_question_waits_for_a_while() {
    let rounds = Rounds::default();
    let limit = Duration::from_secs(60);
    let asked = ("elicitation/create", None);
    assert!(rounds.ask(asked, Object::default(), limit).await.is_none());
    assert!(rounds.take(&envelope(r#"{"elicitation":{}}"#)).is_empty());
    assert!(!rounds.is_asking());
}

/// A server's names are passed on where they are names, and each once.
#[test]
fn questions_have_names() {
    let ask = |key: &str| Ask {
        method: "elicitation/create".to_owned(),
        key: Some(key.to_owned()).filter(|key| is_plain(key)),
        params: Object::default(),
        answer: oneshot::channel().0,
    };
    let long = "x".repeat(65);
    let keys = [
        "user_name",
        "user_name",
        "__proto__",
        "",
        "creance-7-0",
        "a b",
        &long,
        "b.1",
    ];
    let named = named(keys.map(ask).into(), Ticket(7));
    let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
    let want =
        "user_name creance-7-1 creance-7-2 creance-7-3 creance-7-4 creance-7-5 creance-7-6 b.1";
    assert_eq!(names.join(" "), want);
}

#[tokio::test(start_paused = true)]
async fn forged_old_and_partial_answers_are_refused() {
    let rounds = Rounds::default();
    let own = request_digest("a", "tools/call", None);
    let ask = || {
        let (answer, _) = oneshot::channel();
        Ask {
            method: "elicitation/create".to_owned(),
            key: None,
            params: Object::default(),
            answer,
        }
    };
    let (_, result) = rounds.park(work(own), vec![ask()]);
    let state = result.get("requestState").and_then(Json::as_str).unwrap();
    let (head, code) = state.rsplit_once('.').unwrap();
    let forged = format!("{head}.{}", code.replace(|c: char| c.is_ascii_digit(), "a"));
    for (state, responses) in [
        (forged.as_str(), r#"{"creance-1-0":{}}"#),
        ("", r#"{"creance-1-0":{}}"#),
        ("1.2", r#"{"creance-1-0":{}}"#),
        (state, "{}"),
        (state, "[]"),
        (state, r#"{"creance-1-0":1}"#),
    ] {
        let resumed = rounds.resume(own, &params(state, responses));
        assert_eq!(
            resumed.unwrap_err().code(),
            INVALID_PARAMS,
            "{state} {responses}"
        );
    }
    tokio::time::advance(PARKED + Duration::from_secs(2)).await;
    let late = rounds.resume(own, &params(state, r#"{"creance-1-0":{}}"#));
    assert!(late.is_err());
}
