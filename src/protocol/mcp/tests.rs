//! Views on MCP messages.

use super::*;
use crate::protocol::json::{Json, Object, read};

fn params(text: &str) -> Option<Object> {
    match read(text.as_bytes()).unwrap().json {
        Json::Object(params) => Some(params),
        _ => None,
    }
}

/// Absent arguments are `{}`; null, arrays and strings are refused.
#[test]
fn mcp_17_arguments() {
    let check = |text: &str, want: Result<&str, &str>| {
        let got = ToolCall::from_params(params(text));
        let got = got.map(|call| Json::from(call.arguments().unwrap().clone()).to_string());
        let error = |e: crate::protocol::rpc::RpcError| {
            assert_eq!(e.code(), -32602);
            e.message().to_owned()
        };
        assert_eq!(
            got.map_err(error),
            want.map(Into::into).map_err(Into::into),
            "{text}"
        );
    };
    check(r#"{"name":"list_pages"}"#, Ok("{}"));
    check(r#"{"name":"list_pages","arguments":{}}"#, Ok("{}"));
    for (value, kind) in [("null", "null"), ("[]", "an array"), ("\"x\"", "a string")] {
        let text = format!(r#"{{"name":"list_pages","arguments":{value}}}"#);
        let want = format!("`params.arguments` must be an object or be left out, this is {kind}");
        check(&text, Err(&want));
    }
    check("{}", Err("`params.name` must be a string"));
    check(r#"{"name":7}"#, Err("`params.name` must be a string"));
    check(
        r#"{"name":"a","_meta":[]}"#,
        Err("`params._meta` must be an object, this is an array"),
    );
    let all = r#"{"task":{"ttl":1.0},"name":"a","arguments":{"b":1e400},"_meta":{"x":1}}"#;
    check(all, Ok(r#"{"b":1e400}"#));
    assert!(ToolCall::from_params(None).is_err());
}

#[test]
fn a_call_is_read() {
    let text = r#"{"_meta":{"progressToken":0},"name":"s__a","arguments":{},"x":1}"#;
    let call = ToolCall::from_params(params(text)).unwrap();
    assert_eq!(call.name(), "s__a");
    assert_eq!(call.progress_token(), Some(&Json::from(0_i64)));
    assert!(call.arguments().unwrap().is_empty());
    for none in [
        r#"{"name":"a"}"#,
        r#"{"name":"a","_meta":{"progressToken":null}}"#,
    ] {
        let call = ToolCall::from_params(params(none)).unwrap();
        assert_eq!(call.progress_token(), None, "{none}");
    }
}

#[test]
fn revisions_are_agreed() {
    for revision in Revision::ALL {
        assert_eq!(Revision::answer_to(revision.name()), revision);
    }
    for other in ["2026-07-28", "", "1.0"] {
        assert_eq!(Revision::answer_to(other), Revision::LATEST);
    }
}

#[test]
fn hellos_are_read() {
    let hello = ClientHello::from_params(
        params(r#"{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}"#)
            .as_ref(),
    )
    .unwrap();
    assert_eq!((hello.name.as_str(), hello.version.as_str()), ("c", "1"));
    assert!(hello.takes_forms());
    let forms = |capabilities: &str| {
        let text = format!(r#"{{"protocolVersion":"x","capabilities":{capabilities}}}"#);
        ClientHello::from_params(params(&text).as_ref()).map(|hello| hello.takes_forms())
    };
    assert_eq!(forms(r#"{"elicitation":{"form":{},"url":{}}}"#), Ok(true));
    assert_eq!(forms(r#"{"elicitation":{"url":{}}}"#), Ok(false));
    assert_eq!(forms("{}"), Ok(false));
    assert!(forms("[]").is_err());
    assert!(ClientHello::from_params(None).is_err());

    let server = |text: &str| agreed_revision(&read(text.as_bytes()).unwrap().json);
    let answer =
        r#"{"protocolVersion":"2024-11-05","capabilities":{"x":{}},"serverInfo":{"name":"s"}}"#;
    assert_eq!(server(answer), Ok(Revision::V2024_11_05));
    assert!(server("{}").is_err());
    assert!(server(r#"{"protocolVersion":"2026-07-28"}"#).is_err());
}
