//! What is put on and taken off between the eras.

use super::*;
use crate::protocol::json::read;

fn json(text: &str) -> Json {
    read(text.as_bytes()).unwrap().json
}

fn envelope(method: &str, meta: &str) -> Result<Option<Envelope>, i64> {
    let params = json(&format!("{{\"_meta\":{meta}}}"));
    Envelope::read(method, params.as_object()).map_err(|error| error.code())
}

#[test]
fn envelopes_are_read() {
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let can = r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}"#;
    let whole = format!(
        r#"{{{version},{can},"io.modelcontextprotocol/clientInfo":{{"name":"c"}},"io.modelcontextprotocol/logLevel":"error"}}"#
    );
    let read = envelope("tools/call", &whole).unwrap().unwrap();
    assert_eq!(read.client, "c");
    assert_eq!(read.log_level, Some(LogLevel::Error));
    assert!(read.answers("elicitation/create"));
    assert!(!read.answers("sampling/createMessage") && !read.answers("roots/list"));
    for (method, meta, want) in [
        ("tools/list", "{}".to_owned(), Ok(())),
        ("tools/list", r#"{"progressToken":1}"#.to_owned(), Ok(())),
        (DISCOVER, "{}".to_owned(), Err(INVALID_PARAMS)),
        (LISTEN, "{}".to_owned(), Err(INVALID_PARAMS)),
        ("tools/list", format!("{{{version}}}"), Err(INVALID_PARAMS)),
        (
            "tools/list",
            format!(
                "{{{version},{}}}",
                can.replace(r#"{"elicitation":{}}"#, "[]")
            ),
            Err(INVALID_PARAMS),
        ),
        (
            "tools/list",
            format!("{{{},{can}}}", version.replace("07-28", "01-01")),
            Err(UNSUPPORTED_VERSION),
        ),
        (
            "tools/list",
            r#"{"io.modelcontextprotocol/protocolVersion":7}"#.to_owned(),
            Err(INVALID_PARAMS),
        ),
    ] {
        let got = envelope(method, &meta);
        assert_eq!(
            got.map(|read| assert!(read.is_none())),
            want,
            "{method} {meta}"
        );
    }
    assert_eq!(Envelope::read("tools/list", None), Ok(None));
}

#[test]
fn results_are_put_on_and_taken_off() {
    let own = r#"{"z":1.0,"tools":[],"_meta":{"own":12345678901234567890123}}"#;
    let mut result = json(own);
    put_on("tools/list", &mut result, json(r#"{"name":"creance"}"#));
    assert_eq!(
        result.to_string(),
        r#"{"z":1.0,"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"own":12345678901234567890123,"io.modelcontextprotocol/serverInfo":{"name":"creance"}}}"#
    );
    let mut call = json(r#"{"resultType":"odd","content":[]}"#);
    put_on("tools/call", &mut call, Json::Null);
    assert_eq!(
        call.get("resultType").and_then(Json::as_str),
        Some("complete")
    );
    assert!(call.get("ttlMs").is_none());
    let check = |text: &str, want: Result<&str, &str>| {
        let got = take_off(json(text)).map(|outcome| match outcome {
            Outcome::Complete(result) => result.to_string(),
            Outcome::Input(input) => format!("{input:?}"),
        });
        match (got, want) {
            (Ok(got), Ok(want)) => assert_eq!(got, want),
            (Err(got), Err(want)) => assert!(got.contains(want), "{got}"),
            (got, want) => panic!("{text}: {got:?}, not {want:?}"),
        }
    };
    check(
        r#"{"b":1,"resultType":"complete","ttlMs":5,"cacheScope":"public","a":2}"#,
        Ok(r#"{"b":1,"a":2}"#),
    );
    check(r#"{"b":1}"#, Ok(r#"{"b":1}"#));
    check("[]", Err("not an object"));
    check(r#"{"resultType":"task"}"#, Err("unknown type, `task`"));
    check(r#"{"resultType":null}"#, Err("is null"));
    check(r#"{"resultType":"input_required"}"#, Err("not for which"));
    check(
        r#"{"resultType":"input_required","requestState":1}"#,
        Err("is a number"),
    );
    check(
        r#"{"resultType":"input_required","inputRequests":{"a":{}}}"#,
        Err("no `method`"),
    );
    let asked = take_off(json(
        r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":" \u0000x"}"#,
    ));
    let want = InputRequired {
        requests: vec![("a".to_owned(), "roots/list".to_owned(), None)],
        state: Some(" \0x".to_owned()),
    };
    assert_eq!(asked, Ok(Outcome::Input(want)));
}

#[test]
fn only_a_server_that_speaks_this_revision_is_modern() {
    for (text, want) in [
        (
            r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#,
            true,
        ),
        (
            r#"{"supportedVersions":["2031-01-01","2026-07-28"],"capabilities":{}}"#,
            true,
        ),
        (
            r#"{"supportedVersions":["2031-01-01"],"capabilities":{}}"#,
            false,
        ),
        (
            r#"{"supportedVersions":"2026-07-28","capabilities":{}}"#,
            false,
        ),
        (r#"{"supportedVersions":["2026-07-28"]}"#, false),
        ("{}", false),
        ("null", false),
    ] {
        assert_eq!(discovered(&json(text)).is_some(), want, "{text}");
    }
}
