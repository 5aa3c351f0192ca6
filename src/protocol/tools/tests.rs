//! Tools as offered: digests, claims, odd ones, bounds, differences.

use super::*;
use crate::digest::Digest;
use crate::protocol::json::{Json, read};

fn tool(text: &str) -> OfferedTool {
    OfferedTool::from_item(read(text.as_bytes()).unwrap().json)
}

const PLAIN: &str = r#"{"name":"a","description":"d","inputSchema":{"type":"object"}}"#;

/// The pin covers all that a tool says about itself, raw, whatever order it comes in.
#[test]
fn digests_hang_on_content() {
    let base = tool(PLAIN).digest;
    let same = [
        r#"{"inputSchema":{"type":"object"},"description":"d","name":"a"}"#,
        r#"{"name":"a","description":"\u0064","inputSchema":{"type":"object"},"_meta":{"now":1}}"#,
    ];
    for text in same {
        assert_eq!(tool(text).digest, base, "{text}");
    }
    let others = [
        r#"{"name":"b","description":"d","inputSchema":{"type":"object"}}"#,
        r#"{"name":"a","description":"d ","inputSchema":{"type":"object"}}"#,
        r#"{"name":"a","description":"d\u200b","inputSchema":{"type":"object"}}"#,
        r#"{"name":"a","inputSchema":{"type":"object"}}"#,
        r#"{"name":"a","title":"t","description":"d","inputSchema":{"type":"object"}}"#,
        r#"{"name":"a","description":"d","inputSchema":{"type":"object","x":1}}"#,
        r#"{"name":"a","description":"d","inputSchema":{"type":"object"},"outputSchema":{}}"#,
        r#"{"name":"a","description":"d","inputSchema":{"type":"object"},"annotations":{"title":"t"}}"#,
        r#"{"name":"a","description":"d","inputSchema":{"type":"object"},"execution":{}}"#,
    ];
    for text in others {
        assert_ne!(tool(text).digest, base, "{text}");
    }
}

#[test]
fn claims_default_to_what_the_protocol_assumes() {
    let claims = tool(PLAIN).claims;
    assert!(claims.destructive && claims.open_world);
    assert!(!claims.read_only && !claims.idempotent);
    let said = tool(
        r#"{"name":"a","annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":"yes","title":"T"}}"#,
    );
    assert!(said.claims.read_only && !said.claims.destructive && !said.claims.idempotent);
}

#[test]
fn odd_items_have_a_reason() {
    let check = |text: &str, want: Option<&str>| {
        assert_eq!(tool(text).problem.as_deref(), want, "{text}");
    };
    check(PLAIN, None);
    check("7", Some("a tool is an object, this is a number"));
    check("{}", Some("it has no name"));
    check(r#"{"name":7}"#, Some("it has no name"));
    check(r#"{"name":""}"#, Some("its name is empty"));
    check(
        &format!(r#"{{"name":"{}"}}"#, "x".repeat(1025)),
        Some("its name has more than 1024 characters"),
    );
    check(
        r#"{"name":"a","inputSchema":{"type":"object"},"outputSchema":[]}"#,
        Some("its `outputSchema` is an array, not an object"),
    );
    let schema =
        |inner: &str| format!(r#"{{"name":"a","inputSchema":{{"type":"object","x":{inner}}}}}"#);
    check(
        &schema(&format!("{}{}", "[".repeat(31), "]".repeat(31))),
        None,
    );
    check(
        &schema(&format!("{}{}", "[".repeat(32), "]".repeat(32))),
        Some("its `inputSchema` is nested deeper than 32 levels"),
    );
    check(&schema(&format!("\"{}\"", "é".repeat(19_976))), None);
    check(
        &schema(&format!("\"{}\"", "é".repeat(19_977))),
        Some("its `inputSchema` has 20001 characters, at most 20000 are taken"),
    );
}

#[test]
fn lists_have_bounds() {
    let item = || read(PLAIN.as_bytes()).unwrap().json;
    let small = ListBounds {
        tools: 3,
        pages: 2,
        bytes: 10_000,
    };
    let mut list = ToolList::new(small);
    assert_eq!(list.add_page(vec![item(), item()]), Ok(()));
    assert_eq!(
        list.tools()[1].problem.as_deref(),
        Some("a tool of this name stands earlier in the list")
    );
    assert_eq!((list.offered().count(), list.set_aside().count()), (1, 1));
    assert_eq!(
        list.add_page(vec![item(), item()]),
        Err(ListError::Tools(3))
    );
    let mut list = ToolList::new(small);
    let pages: Vec<_> = (0..3).map(|_| list.add_page(Vec::new())).collect();
    assert_eq!(pages, [Ok(()), Ok(()), Err(ListError::Pages(2))]);
    let mut list = ToolList::new(ListBounds { bytes: 10, ..small });
    assert_eq!(
        list.add_page(vec![Json::from("x".repeat(20))]),
        Err(ListError::Bytes(10))
    );
}

#[test]
fn the_digest_of_a_list_forgets_order_only() {
    let digest = |texts: &[&str]| {
        let mut list = ToolList::new(ListBounds::default());
        let items = texts.iter().map(|t| read(t.as_bytes()).unwrap().json);
        list.add_page(items.collect()).unwrap();
        list.digest()
    };
    let other = r#"{"name":"b"}"#;
    assert_eq!(digest(&[PLAIN, other]), digest(&[other, PLAIN]));
    assert_ne!(digest(&[PLAIN]), digest(&[PLAIN, other]));
    assert_ne!(digest(&[PLAIN]), digest(&[PLAIN, PLAIN]));
}

#[test]
fn differences_are_named() {
    let old = [
        ("a", Digest::of("1")),
        ("b", Digest::of("2")),
        ("c", Digest::of("3")),
    ];
    let new = [
        ("d", Digest::of("1")),
        ("b", Digest::of("x")),
        ("c", Digest::of("3")),
    ];
    let diff = ToolsDiff::between(old, new);
    assert_eq!(
        (diff.added, diff.removed, diff.changed),
        (
            vec!["d".to_owned()],
            vec!["a".to_owned()],
            vec!["b".to_owned()],
        )
    );
    let mut back = old;
    back.reverse();
    assert_eq!(ToolsDiff::between(old, back), ToolsDiff::default());
}
