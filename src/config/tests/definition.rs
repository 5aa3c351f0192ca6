//! Digests, shown texts and differences of definitions.

use std::collections::BTreeMap;
use std::path::Path;

use crate::config::{ServerDefinition, difference, parse};
use crate::request::Source;

fn server(text: &str) -> ServerDefinition {
    let environment = BTreeMap::from([("T".to_owned(), "hunter2".to_owned())]);
    let parsed = parse(text, Path::new("f.json"), Source::Project, &environment);
    parsed.servers[0].clone().unwrap()
}

fn entry(members: &str) -> ServerDefinition {
    server(&format!(
        r#"{{"mcpServers": {{"x": {{"command": "run", {members}}}}}}}"#
    ))
}

/// SEC-05 (CVE-2025-54136): consent hangs on what is started, not on a name.
#[test]
fn sec_05_consent_hangs_on_content() {
    let one = server(include_str!("../../../tests/cases/SEC-05.1.mcp.json"));
    let other_command = server(include_str!("../../../tests/cases/SEC-05.2.mcp.json"));
    let other_env = server(include_str!("../../../tests/cases/SEC-05.3.mcp.json"));
    let other_order = server(include_str!("../../../tests/cases/SEC-05.4.mcp.json"));
    assert_ne!(one.digest(), other_command.digest());
    assert_ne!(one.digest(), other_env.digest());
    assert_eq!(one.digest(), other_order.digest());
    assert_eq!(difference(&one.shown(), &other_order.shown()), [""; 0]);
    let shown = difference(&one.shown(), &other_command.shown());
    assert_eq!(
        shown,
        [
            "- command: python3",
            "- argument: tools/build_server.py",
            "+ command: sh",
            "+ argument: -c",
            "+ argument: touch /tmp/pwned; exec python3 tools/build_server.py",
        ]
    );
    let shown = difference(&one.shown(), &other_env.shown());
    assert_eq!(shown.len(), 1);
    assert!(
        shown[0].starts_with("+ variable: PYTHONPATH (value #"),
        "{shown:?}"
    );
}

#[test]
fn every_field_counts_and_comforts_do_not() {
    let plain = entry(r#""args": ["a", "b"]"#);
    for other in [
        r#""args": ["a", "c"]"#,
        r#""args": ["ab"]"#,
        r#""args": ["a", "b"], "cwd": "/x""#,
        r#""args": ["a", "b"], "env": {"A": ""}"#,
        r#""args": ["a", "b"], "network": true"#,
        r#""args": ["a", "b"], "writePaths": ["/x"]"#,
        r#""args": ["a", "b"], "readPaths": ["/x"]"#,
        r#""args": ["a", "b"], "unixSockets": true"#,
        r#""args": ["a", "b"], "unixSockets": ["/x"]"#,
    ] {
        let other = entry(other);
        assert_ne!(plain.digest(), other.digest(), "{other:?}");
        assert_ne!(
            difference(&plain.shown(), &other.shown()),
            [""; 0],
            "{other:?}"
        );
    }
    for same in [
        r#""args": ["a", "b"], "timeoutMs": 5"#,
        r#""enabled": false, "args": ["a", "b"]"#,
        r#""args": ["a", "b"], "unixSockets": false"#,
    ] {
        assert_eq!(plain.digest(), entry(same).digest());
    }
    let paths = |list: &str| entry(&format!(r#""writePaths": {list}"#)).digest();
    assert_eq!(paths(r#"["/a", "/b"]"#), paths(r#"["/b", "/a"]"#));
}

#[test]
fn a_shown_definition_holds_no_secret() {
    let server = entry(
        r#""args": ["--token", "sk-literal", "--api-key=sk-glued", "Bearer ${T}", "--verbose"], "env": {"A": "sk-env", "B": "x${T}"}"#,
    );
    let shown = server.shown();
    assert!(
        !shown.contains("sk-") && !shown.contains("hunter2"),
        "{shown}"
    );
    assert!(shown.contains("argument: Bearer ${T} (value #"), "{shown}");
    assert!(shown.contains("variable: B from T (value #"), "{shown}");
    assert!(shown.contains("argument: --api-key= (value #"), "{shown}");
    let rotated = entry(
        r#""args": ["--token", "sk-other", "--api-key=sk-glued", "Bearer ${T}", "--verbose"], "env": {"A": "sk-env", "B": "x${T}"}"#,
    );
    assert_eq!(difference(&shown, &rotated.shown()).len(), 2);
}

#[test]
fn a_value_cannot_fake_a_line() {
    let server = entry(r#""args": ["a\nnetwork: none\u001b[2J"]"#);
    assert_eq!(server.shown().lines().count(), 3, "{}", server.shown());
    assert!(!server.shown().contains('\u{1b}'));
}
