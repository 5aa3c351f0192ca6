//! The published schema and the reader say the same of every file.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::config::entry::KEYS;
use crate::config::parse;
use crate::config::parse::TOP;
use crate::request::Source;

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../schemas/config.v1.json")).unwrap()
}

/// Both refuse or both accept.
fn check(file: &Value, want: &str) {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    let parsed = parse(
        &file.to_string(),
        Path::new("f"),
        Source::User,
        &BTreeMap::new(),
    );
    let faults = parsed
        .servers
        .iter()
        .filter_map(|server| server.as_ref().err());
    let faults: Vec<String> = faults
        .chain(&parsed.problems)
        .map(ToString::to_string)
        .collect();
    let fine = want == "accept";
    assert_eq!(schema.is_valid(file), fine, "schema: {file}");
    assert_eq!(faults.is_empty(), fine, "reader: {file}: {faults:?}");
}

#[test]
fn documented_examples_are_accepted() {
    let schema = schema();
    let examples = schema["examples"].as_array().unwrap();
    assert!(!examples.is_empty());
    for example in examples {
        check(example, "accept");
    }
}

#[test]
fn schema_and_reader_agree() {
    let server = |entry: Value| json!({"mcpServers": {"x": entry}});
    check(&json!({}), "accept");
    check(&json!({"$schema": "config.v1.json"}), "accept");
    check(&server(json!({"command": "r"})), "accept");
    for hosts in [json!([]), json!(["a.test", "*.a.test:80", "[::1]:8080"])] {
        check(&server(json!({"command": "r", "network": hosts})), "accept");
    }
    for (key, value) in [
        ("arg", json!([])),
        ("args", json!("x")),
        ("args", json!([1])),
        ("env", json!({"A=B": ""})),
        ("env", json!({"A": 1})),
        ("network", json!(["https://a.test"])),
        ("network", json!(["a.test", 1])),
        ("network", json!([""])),
        ("network", json!("yes")),
        ("writePaths", json!([""])),
        ("cwd", json!("")),
        ("unixSockets", json!("/run/x")),
        ("unixSockets", json!([""])),
        ("timeoutMs", json!(0)),
        ("timeoutMs", json!(86_400_001)),
        ("timeoutMs", json!(1.5)),
        ("enabled", json!(1)),
        ("type", json!("http")),
        ("url", json!("https://h.test")),
    ] {
        check(&server(json!({"command": "r", key: value})), "refuse");
    }
    for sockets in [json!(true), json!(false), json!(["/run/x"])] {
        check(
            &server(json!({"command": "r", "unixSockets": sockets})),
            "accept",
        );
    }
    check(&server(json!({})), "refuse");
    check(&server(json!({"command": ""})), "refuse");
    check(&json!({"mcpServers": {"": {"command": "r"}}}), "refuse");
    check(&json!({"mcpServers": []}), "refuse");
    check(&json!({"toolNames": "other"}), "refuse");
    check(&json!({"audit": {"sink": 1}}), "refuse");
    check(&json!({"unknown": 1}), "refuse");
    check(&json!([]), "refuse");
}

#[test]
fn schema_and_reader_know_the_same_keys() {
    let schema = schema();
    let keys = |properties: &Value| {
        let mut keys: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    let sorted = |known: &[&str]| {
        let mut known: Vec<String> = known.iter().map(|key| (*key).to_owned()).collect();
        known.sort();
        known
    };
    assert_eq!(keys(&schema["properties"]), sorted(TOP));
    assert_eq!(keys(&schema["$defs"]["server"]["properties"]), sorted(KEYS));
}
