//! Questions of Creance's own to a modern client, which takes no requests: they ride on its calls.

use serde_json::{Value, json};

use crate::cases::desk::{PERMIT_START, tool};

use super::{Era, Pair, greeting, reply};

fn script() -> String {
    let list = json!({ "tools": [tool("hello"), tool("other")] });
    let done = json!({ "content": [{ "type": "text", "text": "ok" }] });
    [
        greeting(Era::Legacy),
        reply(Era::Legacy, "tools/list", &json!({}), &list),
        reply(Era::Legacy, "tools/call", &json!({ "note": "call" }), &done),
    ]
    .concat()
}

/// Answers what a call is asked, with one word.
fn answered(params: &Value, asking: &Value, word: &str) -> Value {
    let requests = asking["inputRequests"].as_object().unwrap();
    let content = json!({ "action": "accept", "content": { "answer": word } });
    let responses = requests.keys().map(|key| (key.clone(), content.clone()));
    let mut params = params.clone();
    params["inputResponses"] = Value::Object(responses.collect());
    params["requestState"] = asking["requestState"].clone();
    params
}

/// The text of the only question.
fn question(asking: &Value) -> String {
    assert_eq!(asking["resultType"], "input_required", "{asking}");
    let requests = asking["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 1, "{asking}");
    let request = requests.values().next().unwrap();
    assert_eq!(request["method"], "elicitation/create", "{asking}");
    assert!(request["params"]["requestedSchema"].is_object(), "{asking}");
    request["params"]["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_call_is_asked_about_answered_and_goes_on() {
    let Some(mut pair) = Pair::open("eras_rounds", Era::Modern, &script(), PERMIT_START) else {
        return;
    };
    pair.can = json!({ "elicitation": {} });
    pair.wait_for("tools/list", "tools", "name", "demo__hello");
    let call = json!({ "name": "demo__hello", "arguments": {} });
    let asking = pair.request("tools/call", &call)["result"].clone();
    assert!(
        question(&asking).contains("Call user/demo/hello?"),
        "{asking}"
    );
    assert!(pair.desk.notes("demo").is_empty());
    let state = asking["requestState"].as_str().unwrap();
    let (head, code) = state.rsplit_once('.').unwrap();
    let mut forged = answered(&call, &asking, "once");
    forged["requestState"] = json!(format!(
        "{head}.{}",
        code.replace(|c: char| c.is_ascii_digit(), "f")
    ));
    let mut other = answered(&call, &asking, "once");
    other["name"] = json!("demo__other");
    let mut more = answered(&call, &asking, "once");
    more["arguments"] = json!({ "path": "/etc" });
    let mut none = answered(&call, &asking, "once");
    none.as_object_mut().unwrap().remove("inputResponses");
    let mut empty = answered(&call, &asking, "once");
    empty["inputResponses"] = json!({});
    for wrong in [forged, other, more, none, empty] {
        let answer = pair.request("tools/call", &wrong);
        assert_eq!(answer["error"]["code"], -32602, "{wrong}: {answer}");
    }
    assert!(pair.desk.notes("demo").is_empty());
    let right = answered(&call, &asking, "once");
    let result = pair.result("tools/call", &right);
    assert_eq!(result["content"][0]["text"], "ok", "{result}");
    let again = pair.request("tools/call", &right);
    assert_eq!(
        again["error"]["code"], -32602,
        "a state is used once: {again}"
    );
    assert_eq!(pair.desk.notes("demo"), ["call"]);
    let asking = pair.request("tools/call", &call)["result"].clone();
    let no = answered(&call, &asking, "no");
    let result = pair.result("tools/call", &no);
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(pair.desk.notes("demo"), ["call"]);
    pair.desk.close();
    let told = json!(pair.desk.records()).to_string();
    assert!(told.contains("elicitation"), "{told}");
    pair.desk.stage.audit_verifies();
}

/// Nobody is asked by a client that offers no forms.
#[test]
fn a_client_without_forms_is_not_asked() {
    let Some(mut pair) = Pair::hurried("eras_rounds", Era::Modern, &script(), PERMIT_START) else {
        return;
    };
    pair.wait_for("tools/list", "tools", "name", "demo__hello");
    let call = json!({ "name": "demo__hello", "arguments": {} });
    let result = pair.result("tools/call", &call);
    assert_eq!(result["isError"], true, "{result}");
    assert!(pair.desk.notes("demo").is_empty());
}

/// A question that no call is about rides on the next one: the status tool is always at hand.
#[test]
fn the_question_about_a_start_rides_on_the_status() {
    let Some(mut pair) = Pair::open("eras_rounds", Era::Modern, &script(), "") else {
        return;
    };
    pair.can = json!({ "elicitation": {} });
    pair.request("tools/list", &json!({}));
    let status = json!({ "name": "creance_status", "arguments": {} });
    let mut answers = 0;
    let said = loop {
        let result = pair.request("tools/call", &status)["result"].clone();
        if result["resultType"] == "complete" {
            let text = result["content"][0]["text"].as_str().unwrap().to_owned();
            if answers > 0 {
                break text;
            }
            // The server is being looked at; the question comes in a moment.
            std::thread::sleep(std::time::Duration::from_millis(20));
            continue;
        }
        let asked = question(&result);
        assert!(asked.contains("user/demo"), "{asked}");
        let go_on = answered(&status, &result, "once");
        answers += 1;
        let result = pair.request("tools/call", &go_on)["result"].clone();
        assert!(result.is_object());
    };
    assert!(!said.contains("waiting for an answer"), "{said}");
    pair.wait_for("tools/list", "tools", "name", "demo__hello");
}

/// A call that its client cancels while it is asked about ends, and its question with it.
#[test]
fn a_call_may_be_left_while_it_is_asked_about() {
    let Some(mut pair) = Pair::open("eras_rounds", Era::Modern, &script(), PERMIT_START) else {
        return;
    };
    pair.can = json!({ "elicitation": {} });
    pair.wait_for("tools/list", "tools", "name", "demo__hello");
    let call = json!({ "name": "demo__hello", "arguments": {} });
    let asking = pair.request("tools/call", &call)["result"].clone();
    question(&asking);
    assert!(pair.desk.close().success());
    pair.desk.stage.audit_verifies();
}
