//! Each form holds what a reader of that form looks for, one line a record.

use serde_json::{Value, json};

use super::Format;
use crate::audit::record::Record;

fn record(event: Value) -> Record {
    let mut record = json!({
        "v": 1, "seq": 7, "prev": "0".repeat(64), "at_ms": 1_700_000_000_123_i64, "run": "f00d",
    });
    let members = record.as_object_mut().unwrap();
    members.extend(event.as_object().unwrap().clone());
    serde_json::from_value(record).unwrap()
}

fn decision() -> Record {
    record(json!({
        "event": "decision", "action": "tool.call", "principal": "agent/cli",
        "resource": "user/files/read,\u{202e}\n\"x\"", "facts": {"a": "=1+1"}, "outcome": "deny",
        "because": [{"policy": "user/a/b", "layer": "user", "role": "forbids", "reason": "=cmd()"}],
        "answer": "none", "channel": null, "asked": false, "store": "0".repeat(64), "judged_us": 5
    }))
}

fn outcome() -> Record {
    record(
        json!({"event": "outcome", "of": 3, "ok": true, "result": "done", "details": {}, "took_ms": 9}),
    )
}

fn note() -> Record {
    record(json!({"event": "note", "name": "run-stop", "details": {"why": "done"}}))
}

fn parsed(format: Format, record: &Record) -> Value {
    let line = format.line(record);
    assert!(
        !line.chars().any(|c| c.is_control() || c == '\u{202e}'),
        "{line}"
    );
    serde_json::from_str(&line).unwrap()
}

/// What the class requires, and where decisions are looked for.
#[test]
fn ocsf_has_what_its_class_requires() {
    let event = parsed(Format::Ocsf, &decision());
    for (at, want) in [
        ("/class_uid", json!(6003)),
        ("/category_uid", json!(6)),
        ("/type_uid", json!(600_399)),
        ("/time", json!(1_700_000_000_123_i64)),
        ("/metadata/version", json!("1.4.0")),
        ("/metadata/product/name", json!("Creance")),
        ("/severity_id", json!(1)),
        ("/status_id", json!(2)),
        ("/action_id", json!(2)),
        ("/disposition_id", json!(2)),
        ("/actor/app_name", json!("agent/cli")),
        ("/actor/authorizations/0/decision", json!("denied")),
        ("/actor/authorizations/0/policy/uid", json!("user/a/b")),
        ("/api/operation", json!("tool.call")),
        ("/src_endpoint/name", json!("agent/cli")),
        ("/unmapped/seq", json!(7)),
    ] {
        assert_eq!(event.pointer(at), Some(&want), "{at}");
    }
    let event = parsed(Format::Ocsf, &outcome());
    assert_eq!(
        (&event["class_uid"], &event["status_id"]),
        (&json!(6003), &json!(1))
    );
    let event = parsed(Format::Ocsf, &note());
    assert_eq!(
        (&event["class_uid"], &event["type_uid"]),
        (&json!(0), &json!(99))
    );
}

#[test]
fn otel_is_otlp_in_json() {
    let logs = parsed(Format::Otel, &decision());
    let log = logs
        .pointer("/resourceLogs/0/scopeLogs/0/logRecords/0")
        .unwrap();
    assert_eq!(log["timeUnixNano"], "1700000000123000000");
    assert_eq!(
        (&log["severityNumber"], &log["eventName"]),
        (&json!(13), &json!("creance.decision"))
    );
    let attribute = |name: &str| {
        let all = log["attributes"].as_array().unwrap();
        let found = all.iter().find(|one| one["key"] == name);
        found.map(|one| one["value"].clone())
    };
    assert_eq!(attribute("creance.seq"), Some(json!({"intValue": "7"})));
    assert_eq!(
        attribute("creance.outcome"),
        Some(json!({"stringValue": "deny"}))
    );
    assert_eq!(
        attribute("mcp.method.name"),
        Some(json!({"stringValue": "tools/call"}))
    );
    let body: Record = serde_json::from_str(log["body"]["stringValue"].as_str().unwrap()).unwrap();
    assert_eq!(body, decision());
}

#[test]
fn cloudevents_have_their_required_attributes() {
    for (record, kind) in [
        (decision(), "decision"),
        (outcome(), "outcome"),
        (note(), "note"),
    ] {
        let event = parsed(Format::CloudEvents, &record);
        assert_eq!(event["specversion"], "1.0");
        assert_eq!(event["id"], "f00d-7");
        assert_eq!(event["source"], "urn:creance:audit");
        assert_eq!(event["type"], format!("creance.audit.{kind}"));
        assert_eq!(event["time"], "2023-11-14T22:13:20.123Z");
        let data: Record = serde_json::from_value(event["data"].clone()).unwrap();
        assert_eq!(data, record);
    }
}

#[test]
fn csv_cells_are_no_formulas_and_break_no_line() {
    let head = Format::Csv.head().unwrap();
    let names = head.split(',').count();
    let line = Format::Csv.line(&decision());
    assert!(
        line.starts_with("7,2023-11-14T22:13:20.123Z,f00d,decision,tool.call,"),
        "{line}"
    );
    assert!(line.contains("\"'=cmd()\""), "{line}");
    assert!(
        line.contains(r#""user/files/read,\u{202e}\n""x""""#),
        "{line}"
    );
    assert!(!line.contains('\n'));
    for record in [outcome(), note()] {
        let line = Format::Csv.line(&record);
        let quoted = line.split('"').step_by(2);
        let commas: usize = quoted.map(|part| part.matches(',').count()).sum();
        assert_eq!(commas + 1, names, "{line}");
    }
    assert!(Format::Ocsf.head().is_none());
    assert!("xml".parse::<Format>().unwrap_err().contains("ocsf"));
}
