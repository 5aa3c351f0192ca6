//! Message shapes: what is read, what is answered, what is set aside.

use proptest::prelude::*;

use super::salvage::{Salvaged, salvage};
use super::*;

/// Reads a line; wants what it is, or what it is answered with (`-` for set aside).
#[track_caller]
fn check(line: &str, want: &str) {
    let got = match Message::read(line.as_bytes()) {
        Ok((message, _)) => message.to_line().trim_end().to_owned(),
        Err(misfit) => misfit.reply().map_or("-".to_owned(), |reply| {
            let error = reply.split("\"error\":").nth(1).unwrap_or("");
            let id = reply.split(['{', ',']).nth(2).unwrap_or("");
            format!("{id} {}", error.trim_end().trim_end_matches("}"))
        }),
    };
    assert_eq!(got, want, "{line}");
}

#[test]
fn messages_come_out_as_they_went_in() {
    for same in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","b":1.0}}"#,
        r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":-3,"result":{"z":1e400,"a":[]}}"#,
        r#"{"jsonrpc":"2.0","id":"","result":null}"#,
        r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32042,"message":"m","data":{"u":1},"more":2}}"#,
    ] {
        check(same, same);
    }
    check(
        r#"{"params":null,"method":"ping","id":1,"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    );
}

#[test]
fn misfits_are_answered_when_they_may_be_requests() {
    let invalid = |id: &str, text: &str| {
        format!(
            "\"id\":{id} {{\"code\":-32600,\"message\":{}",
            serde_json::to_string(text).unwrap()
        )
    };
    check(
        r#"{"id":1,"method":"ping"}"#,
        &invalid("1", "`jsonrpc` must be \"2.0\""),
    );
    check(
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        &invalid("1", "`jsonrpc` must be \"2.0\""),
    );
    let odd_id = "`id` must be a string or a whole number";
    for id in ["null", "1.5", "true", "[1]", "1e2"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        check(&line, &invalid("null", odd_id));
    }
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        &invalid("1", "`method` must be a string"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#,
        &invalid("1", "`params` must be an object, this is an array"),
    );
    check(
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        &invalid("null", "batches are not taken: send one message a line"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1}"#,
        &invalid("1", "one of `method`, `result` and `error` must be there"),
    );
    check(
        "42",
        &invalid("null", "a message is an object, this is a number"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":9,"method":"x","params":{"a":1,"a":2}}"#,
        "\"id\":9 {\"code\":-32700,\"message\":\"the key `a` stands twice in one object (byte 53); send each key once\"",
    );
    check(
        "[info] ready",
        "\"id\":null {\"code\":-32700,\"message\":\"not JSON at byte 1: a value is expected here\"",
    );
}

#[test]
fn answers_and_notifications_are_never_answered() {
    for line in [
        r#"{"id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#,
        r#"{"jsonrpc":"2.0","method":"x","params":[]}"#,
        r#"{"method":"notifications/x"}"#,
    ] {
        check(line, "-");
    }
}

#[test]
fn the_id_of_an_unreadable_message_is_found() {
    let check = |text: &str, id: Option<Id>, calls, answers| {
        let want = Salvaged { id, calls, answers };
        assert_eq!(salvage(text.as_bytes()), want, "{text}");
    };
    check(
        r#"{"id":7,"result":{"a":1,"a":2}}"#,
        Some(7.into()),
        false,
        true,
    );
    check(
        r#"{"result":{"id":1},"id":"x\"y"}"#,
        Some("x\"y".into()),
        false,
        true,
    );
    check(r#"{"id":1,"id":2,"method":"m"}"#, None, true, false);
    check(
        r#"{"id":8,"method":"id","params":{"id":"#,
        Some(8.into()),
        true,
        false,
    );
    check(r#"{"x":"\"id\":5,","id":null}"#, None, false, false);
    check(r#"[{"id":1}]"#, None, false, false);
    check(r#"{"id":123"#, None, false, false);
    check("\"", None, false, false);
}

#[test]
fn counters_come_back_in_odd_clothes() {
    let of = |text: &str| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{text},"result":1}}"#);
        match Message::read(line.as_bytes()) {
            Ok((Message::Response(response), _)) => response.id.as_counter(),
            _ => None,
        }
    };
    assert_eq!(of("7"), Some(7));
    assert_eq!(of("\"7\""), Some(7));
    assert_eq!(of("-7"), None);
    assert_eq!(of("\"x\""), None);
}

proptest! {
    #[test]
    fn any_line_is_a_message_or_a_misfit(
        line in "\\{?(\"(id|method|result|error|params|jsonrpc)\":?[ ,]?(1|\"2.0\"|\\{|\\}|null|\\[|\\\\)?,?){0,8}\\}?",
        cut in 0_usize..80,
    ) {
        let bytes = line.as_bytes().get(..cut).unwrap_or(line.as_bytes());
        match Message::read(bytes) {
            Ok((message, _)) => {
                let again = Message::read(message.to_line().as_bytes()).unwrap().0;
                prop_assert_eq!(again, message);
            }
            Err(misfit) => {
                if let Some(reply) = misfit.reply() {
                    prop_assert!(!misfit.answers);
                    prop_assert!(reply.ends_with("}}\n"));
                }
            }
        }
    }
}
