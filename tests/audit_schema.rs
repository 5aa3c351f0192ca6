//! Every line of the audit log is one of the published schema.
#![expect(clippy::unwrap_used, reason = "all of this file is a test")]

use std::fs;
use std::path::Path;

use creance::{AuditLog, AuditSink, Event, EventKind, Rotation};
use serde_json::{Value, json};

fn event(at_ms: i64) -> Event {
    Event {
        at_ms,
        run: "run".to_owned(),
        kind: EventKind::Note {
            name: "x".repeat(200),
            details: Value::Null,
        },
    }
}

fn files(log: &Path) -> Vec<String> {
    let entries = fs::read_dir(log.parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".jsonl")).collect()
}

/// Every line of every kind that a log writes of itself is one of the published schema, which also
/// refuses what is none.
#[test]
fn all_lines_match_the_published_schema() {
    let text = include_str!("../schemas/audit-record.v1.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let rotation = Rotation {
        max_bytes: 1500,
        keep_files: Some(8),
        ..Rotation::default()
    };
    let log = AuditLog::file(&path).unwrap().with_rotation(rotation);
    (0..30).for_each(|_| {
        log.append(&event(1)).unwrap();
    });
    AuditLog::renew_keys(&path).unwrap();
    // The one that is cut.
    AuditLog::file(&path).unwrap().append(&event(1)).unwrap();
    drop(log);
    let length = fs::metadata(&path).unwrap().len();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(length - 20).unwrap();
    let log = AuditLog::file(&path).unwrap();
    log.append(&event(1)).unwrap();
    let mut names = std::collections::BTreeSet::new();
    for name in files(&path) {
        for line in fs::read_to_string(path.with_file_name(name))
            .unwrap()
            .lines()
        {
            let Ok(record) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let errors: Vec<_> = schema.iter_errors(&record).map(|e| e.to_string()).collect();
            assert!(errors.is_empty(), "{line}: {errors:?}");
            let name = record["name"].as_str().unwrap();
            names.insert(name.trim_start_matches('x').to_owned());
            for required in ["seq", "mac"] {
                let mut broken = record.clone();
                broken[required] = json!("none");
                assert!(!schema.is_valid(&broken), "{required}");
            }
            if name == "log-continued" || name == "log-pruned" {
                let mut broken = record.clone();
                broken["details"] = json!({});
                assert!(!schema.is_valid(&broken));
            }
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(names, ["", "keys-renewed", "log-continued", "log-pruned"]);
}
