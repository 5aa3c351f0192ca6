//! Schemas of strangers: what fits, what does not, and what nobody can say.

use std::fmt::Write as _;

use super::validate::Fit;
use super::*;
use crate::protocol::json::{Json, read};

fn json(text: &str) -> Json {
    read(text.as_bytes()).unwrap().json
}

#[track_caller]
fn check(schema: &str, value: &str, want: &str) {
    let got = match Schema::compile(&json(schema)).check(&json(value)) {
        Fit::Fits => "fits".to_owned(),
        Fit::Unfit(why) => format!("unfit: {why}"),
        Fit::Unknown(why) => format!("unknown: {why}"),
    };
    assert_eq!(got, want, "{schema} {value}");
}

const TREE: &str = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
    "$defs":{"Node":{"type":"object","properties":{"name":{"type":"string"},
    "kids":{"type":"array","items":{"$ref":"#/$defs/Node"}}},"required":["name"]}},
    "properties":{"root":{"$ref":"#/$defs/Node"}},"required":["root"]}"##;

/// Local references are followed, recursive ones too; remote ones never, and that is said.
#[test]
fn mcp_15_references() {
    check(
        TREE,
        r#"{"root":{"name":"a","kids":[{"name":"b"}]}}"#,
        "fits",
    );
    check(
        TREE,
        r#"{"root":{"kids":[]}}"#,
        "unfit: `/root`: \"name\" is a required property",
    );
    let cond = r#"{"type":"object","properties":{"mode":{"enum":["fast","full"]},"limit":{"type":"integer"}},
        "allOf":[{"if":{"properties":{"mode":{"const":"full"}}},"then":{"properties":{"limit":{"maximum":10}}}}]}"#;
    check(cond, r#"{"mode":"full","limit":10}"#, "fits");
    check(
        cond,
        r#"{"mode":"full","limit":11}"#,
        "unfit: `/limit`: value is greater than the maximum of 10",
    );
    for target in [
        "http://127.0.0.1:9/schema.json",
        "file:///etc/passwd",
        "other.json",
        "#anchor",
    ] {
        let schema = format!(r#"{{"type":"object","properties":{{"x":{{"$ref":"{target}"}}}}}}"#);
        let want = format!(
            "unknown: its schema refers to `{target}`; only `#/…` inside the schema itself is followed, and nothing is fetched"
        );
        check(&schema, "{}", &want);
    }
}

#[test]
fn reasons_hold_no_values() {
    check(
        r#"{"properties":{"key":{"type":"integer"}}}"#,
        r#"{"key":"sk-secret"}"#,
        "unfit: `/key`: value is not of type \"integer\"",
    );
    check(
        r#"{"properties":{"key":{"enum":["a","b"]}}}"#,
        r#"{"key":"sk-secret"}"#,
        "unfit: `/key`: value is not one of \"a\" or \"b\"",
    );
}

/// A short schema must not buy endless recursion or exponential work.
#[test]
fn hostile_schemas_are_unknown_at_once() {
    let deep = "unknown: checking it would go too deep";
    let many = "unknown: checking it would take too many steps";
    check(r##"{"allOf":[{"$ref":"#"}]}"##, "{}", deep);
    check(
        r##"{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}"##,
        "{}",
        deep,
    );
    let mut doubling = r##"{"$ref":"#/$defs/d0","$defs":{"d40":{}"##.to_owned();
    for n in 0..40 {
        let next = n + 1;
        write!(
            doubling,
            r##","d{n}":{{"allOf":[{{"$ref":"#/$defs/d{next}"}},{{"$ref":"#/$defs/d{next}"}}]}}"##
        )
        .unwrap();
    }
    doubling.push_str("}}");
    check(&doubling, "{}", many);
    let by_value = r##"{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}"##;
    let nested = format!("{}1{}", r#"{"x":"#.repeat(60), "}".repeat(60));
    check(by_value, &nested, many);
    check(by_value, r#"{"x":{"x":1}}"#, "fits");
    let mut unevaluated =
        r##"{"$ref":"#/$defs/d0","$defs":{"d60":{"properties":{"x":true}}"##.to_owned();
    for n in 0..60 {
        let next = n + 1;
        write!(
            unevaluated,
            r##","d{n}":{{"unevaluatedProperties":false,"allOf":[{{"$ref":"#/$defs/d{next}"}}]}}"##
        )
        .unwrap();
    }
    unevaluated.push_str("}}");
    check(&unevaluated, r#"{"x":{}}"#, many);
    check(
        &unevaluated
            .replace("\"d0\":", "\"e\":")
            .replace("d0", "d52"),
        r#"{"x":{}}"#,
        "fits",
    );
    let list = format!("[{}1]", "1,".repeat(250_000));
    check(r#"{"items":{"type":"integer"}}"#, &list, many);
}

#[test]
fn what_cannot_be_checked_is_unknown() {
    check(
        "{}",
        "1e400",
        "unknown: it holds numbers that no machine word holds",
    );
    check(
        r##"{"$dynamicRef":"#x"}"##,
        "1",
        "unknown: its schema uses `$dynamicRef`, which is not followed",
    );
    for broken in [
        r#"{"type":7}"#,
        r#"{"pattern":"(?=x)"}"#,
        r#"{"pattern":"("}"#,
    ] {
        let fit = Schema::compile(&json(broken)).check(&json("\"x\""));
        assert!(matches!(fit, Fit::Unknown(_)), "{broken} {fit:?}");
        assert!(!fit.is_valid());
    }
    // A dialect that nobody knows is read as the protocol's own.
    check(
        r#"{"$schema":"https://x.example.test/s","type":"object"}"#,
        "{}",
        "fits",
    );
}

/// Errors are not checked, good results pass as they are, wrong ones become text with a warning.
#[test]
fn mcp_18_results() {
    let schema = r#"{"type":"object","properties":{"sha":{"type":"string"}},"required":["sha"],"additionalProperties":false}"#;
    let schema = Schema::compile(&json(schema));
    let pass = |text: &str| assert_eq!(schema.check_result(&json(text)), ResultCheck::Pass);
    pass(r#"{"content":[],"structuredContent":{"sha":"abc"}}"#);
    pass(r#"{"isError":true,"content":[],"structuredContent":{"code":1}}"#);
    pass(r#"{"content":[{"type":"text","text":"plain"}]}"#);
    let wrong = json(
        r#"{"content":[{"type":"text","text":"sha is 7"}],"structuredContent":{"sha":7},"x":1.0}"#,
    );
    let why = "`/sha`: value is not of type \"string\"";
    assert_eq!(
        schema.check_result(&wrong),
        ResultCheck::Wrong(why.to_owned())
    );
    let told = told_as_text(wrong, "w").to_string();
    let want = r#"{"x":1.0,"content":[{"type":"text","text":"Warning by Creance: the call was carried out, but the structured result does not match the tool's output schema (w). It follows as text."},{"type":"text","text":"{\"sha\":7}"},{"type":"text","text":"sha is 7"}],"isError":true}"#;
    assert_eq!(told, want);
}
