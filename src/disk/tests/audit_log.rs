//! The log on disk: shared, torn, removed, replaced, cut, refused.

use std::fs::{self, OpenOptions, read, read_to_string, write};
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::audit::{EventKind, FaultKind, LossKind};

fn event(name: &str) -> Event {
    Event {
        at_ms: 1_700_000_000_000,
        run: "run".to_owned(),
        kind: EventKind::Note {
            name: name.to_owned(),
            details: Value::Null,
        },
    }
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/audit.jsonl");
    (folder, path)
}

fn seq(log: &AuditLog, name: &str) -> u64 {
    log.append(&event(name)).unwrap().seq
}

fn losses(path: &Path) -> Vec<LossKind> {
    let report = AuditLog::verify(path, None).unwrap();
    assert!(report.ok, "{report}");
    report.losses.into_iter().map(|loss| loss.kind).collect()
}

fn add(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn two_logs_on_one_file_take_turns() {
    let (_folder, path) = place();
    let one = AuditLog::file(&path).unwrap();
    let other = AuditLog::file(&path)
        .unwrap()
        .with_durability(Durability::Always);
    assert_eq!(
        [
            seq(&one, "a"),
            seq(&other, "b"),
            seq(&other, "c"),
            seq(&one, "d")
        ],
        [1, 2, 3, 4]
    );
    one.flush().unwrap();
    assert_eq!(losses(&path), []);
    assert!(AuditLog::verify(&path, Some(one.head())).unwrap().ok);
    let (picked, unread) = AuditLog::pick(
        &path,
        &Filter {
            last: Some(1),
            ..Filter::default()
        },
    )
    .unwrap();
    assert_eq!((picked[0].seq, unread), (4, 0));
}

#[test]
fn threads_take_turns() {
    let (_folder, path) = place();
    let log = AuditLog::file(&path).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| (0..50).for_each(|_| assert!(seq(&log, "x") > 0)));
        }
    });
    let report = AuditLog::verify(&path, Some(log.head())).unwrap();
    assert!(report.ok && report.losses.is_empty(), "{report}");
    assert_eq!(report.records, 1000);
}

/// A torn last line is closed off, not fatal, and the note names the loss; also while other logs
/// are open on the file.
#[test]
fn aud_07_a_torn_line_is_closed_off() {
    let torn = |torn: &[u8], want: &[LossKind]| {
        let (_folder, path) = place();
        let open = AuditLog::file(&path).unwrap();
        seq(&open, "a");
        add(&path, torn);
        assert_eq!(AuditLog::verify(&path, None).unwrap().losses.len(), 1);
        drop(AuditLog::file(&path).unwrap());
        assert_eq!(seq(&open, "b"), 3);
        assert_eq!(losses(&path), want, "{}", torn.escape_ascii());
        assert_eq!(seq(&AuditLog::file(&path).unwrap(), "c"), 4);
    };
    let line = br#"{"v":1,"seq":2,"pr"#;
    torn(line, &[LossKind::TornLine { bytes: 18 }]);
    torn(b"\0\0\0\0", &[LossKind::TornLine { bytes: 4 }]);
    torn(b"{", &[LossKind::TornLine { bytes: 1 }]);
    torn(
        &vec![b'x'; 300_000],
        &[LossKind::TornLine { bytes: 300_000 }],
    );
    torn(b"{\"v\":1\nx\ny", &[LossKind::TornLine { bytes: 10 }]);
}

#[test]
fn aud_07_a_torn_first_line_is_closed_off() {
    for (torn, want) in [(&br#"{"v":1,"se"#[..], 10), (b"\0\0", 2)] {
        let (folder, path) = place();
        fs::create_dir(folder.path().join("state")).unwrap();
        write(&path, torn).unwrap();
        let log = AuditLog::file(&path).unwrap();
        assert_eq!(seq(&log, "a"), 2);
        assert_eq!(losses(&path), [LossKind::TornLine { bytes: want }]);
    }
}

/// The case's own file, whose lines are not of our format: it is gone on with, the strange lines
/// are named, and nothing is lost.
#[test]
fn aud_07_a_strange_log_is_gone_on_with() {
    let case = include_bytes!("../../../tests/cases/AUD-07.torn.jsonl");
    let (folder, path) = place();
    fs::create_dir(folder.path().join("state")).unwrap();
    write(&path, case).unwrap();
    let log = AuditLog::file(&path).unwrap();
    assert_eq!([seq(&log, "a"), seq(&log, "b")], [4, 5]);
    let bytes = read(&path).unwrap();
    assert!(bytes.starts_with(case));
    assert_eq!(bytes.iter().filter(|b| **b == b'\n').count(), 6);
    let report = AuditLog::verify(&path, None).unwrap();
    let unreadable = report
        .faults
        .iter()
        .filter(|f| matches!(f.kind, FaultKind::Unreadable { .. }));
    assert_eq!(unreadable.map(|f| f.line).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn somebody_elses_file_is_left_as_it_is() {
    let (folder, path) = place();
    fs::create_dir(folder.path().join("state")).unwrap();
    write(&path, "export PATH\n").unwrap();
    let error = AuditLog::file(&path).unwrap_err().to_string();
    assert!(error.contains("left as it is"), "{error}");
    assert_eq!(read_to_string(&path).unwrap(), "export PATH\n");
}

#[test]
fn a_removed_log_is_started_anew_and_says_so() {
    let (folder, path) = place();
    let log = AuditLog::file(&path).unwrap();
    let other = AuditLog::file(&path).unwrap();
    seq(&log, "a");
    seq(&other, "b");
    let old = folder.path().join("old.jsonl");
    fs::rename(&path, &old).unwrap();
    assert_eq!([seq(&log, "c"), seq(&other, "d")], [4, 5]);
    let report = AuditLog::verify(&path, None).unwrap();
    assert!(report.ok, "{report}");
    let before = AuditLog::verify(&old, None).unwrap();
    assert_eq!(report.continues, Some(before.head));

    fs::remove_dir_all(folder.path().join("state")).unwrap();
    assert_eq!(seq(&log, "e"), 7);
    assert!(AuditLog::verify(&path, None).unwrap().continues.is_some());
}

#[test]
fn a_cut_log_is_noticed_by_who_writes_to_it() {
    let (_folder, path) = place();
    let log = AuditLog::file(&path).unwrap();
    (0..4).for_each(|_| assert!(seq(&log, "x") > 0));
    let bytes = read(&path).unwrap();
    let keep = bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let check = |length: usize| {
        file.set_len(length as u64).unwrap();
        log.append(&event("after")).unwrap();
        let found = losses(&path);
        assert!(
            found.iter().any(|l| matches!(l, LossKind::Records { .. })),
            "{found:?}"
        );
    };
    check(keep);
    check(keep + 10);
    file.set_len(0).unwrap();
    log.append(&event("after")).unwrap();
    let report = AuditLog::verify(&path, None).unwrap();
    assert!(report.ok && report.continues.is_some(), "{report}");
}

#[test]
fn an_older_copy_in_its_place_is_noticed() {
    let (folder, path) = place();
    let log = AuditLog::file(&path).unwrap();
    seq(&log, "a");
    let copy = folder.path().join("copy");
    fs::copy(&path, &copy).unwrap();
    seq(&log, "b");
    fs::rename(&copy, &path).unwrap();
    assert_eq!(seq(&log, "c"), 4);
    assert_eq!(
        losses(&path),
        [LossKind::Records {
            after: 1,
            known: 2,
            why: "the file was replaced".to_owned()
        }]
    );
}

#[test]
fn a_record_that_is_too_long_is_refused_and_the_next_is_written() {
    let (_folder, path) = place();
    let log = AuditLog::file(&path).unwrap();
    let error = log.append(&event(&"x".repeat(5 << 20))).unwrap_err();
    assert!(error.to_string().contains("longer than"), "{error}");
    assert_eq!(seq(&log, "a"), 1);
    assert_eq!(losses(&path), []);
}

/// What strangers put into names and values is one line each, and reads back.
#[test]
fn aud_04_one_event_is_one_line() {
    let (_folder, path) = place();
    let log = AuditLog::file(&path).unwrap();
    let case = include_str!("../../../tests/cases/AUD-04.calls.jsonl");
    let mut written = Vec::new();
    for call in case.lines() {
        // A lone surrogate is no text: it is repaired before an event is made.
        let details: Value = serde_json::from_str(&call.replace("\\ud800", "\u{fffd}")).unwrap();
        let kind = EventKind::Note {
            name: call.to_owned(),
            details,
        };
        let event = Event { kind, ..event("") };
        log.append(&event).unwrap();
        written.push(event);
    }
    let text = read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), case.lines().count());
    let (picked, unread) = AuditLog::pick(&path, &Filter::default()).unwrap();
    assert_eq!(unread, 0);
    assert_eq!(
        picked.into_iter().map(|r| r.event).collect::<Vec<_>>(),
        written
    );
}

#[test]
fn records_match_the_published_schema() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../schemas/audit-record.v1.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let (_folder, path) = place();
    let log = AuditLog::file(&path).unwrap();
    seq(&log, "a");
    let outcome = json!({"at_ms": 1, "run": "r", "event": "outcome", "of": 1, "ok": true,
        "result": "done", "details": {}, "took_ms": 3});
    let decision = json!({"at_ms": 1, "run": "r", "event": "decision", "action": "tool.call",
        "principal": "agent/cli", "resource": "user/a/b", "facts": {}, "outcome": "allow",
        "because": [{"policy": "user/a/b", "layer": "user", "role": "permits", "reason": ""}],
        "answer": "remembered", "channel": null, "asked": false,
        "store": "0".repeat(64), "judged_us": 5});
    for event in [decision, outcome] {
        log.append(&serde_json::from_value(event).unwrap()).unwrap();
    }
    add(&path, b"{");
    seq(&log, "b");
    for line in read_to_string(&path)
        .unwrap()
        .lines()
        .filter(|line| line.len() > 1)
    {
        let record: Value = serde_json::from_str(line).unwrap();
        let errors: Vec<_> = schema.iter_errors(&record).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{line}: {errors:?}");
        let mut broken = record.clone();
        broken.as_object_mut().unwrap().shift_remove("prev");
        assert!(!schema.is_valid(&broken));
    }
}

#[cfg(unix)]
#[test]
fn links_fifos_devices_and_open_folders_are_refused() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let (folder, path) = place();
    let state = folder.path().join("state");
    let check = |path: &Path, want: &str| {
        let error = AuditLog::file(path).unwrap_err().to_string();
        assert!(error.contains(want), "{}: {error}", path.display());
    };
    drop(AuditLog::file(&path).unwrap());
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(state.metadata().unwrap().mode() & 0o777, 0o700);
    set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    drop(AuditLog::file(&path).unwrap());
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);

    symlink(&path, state.join("link")).unwrap();
    symlink("nowhere", state.join("dangling")).unwrap();
    let fifo = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        state.join("fifo"),
        rustix::fs::FileType::Fifo,
        fifo,
        0,
    )
    .unwrap();
    check(&state.join("link"), "symbolic link");
    check(&state.join("dangling"), "symbolic link");
    check(&state.join("fifo"), "not a regular file");
    check(Path::new("/dev/full"), "not a regular file");
    check(&state, "not a regular file");

    let log = AuditLog::file(&path).unwrap();
    fs::rename(&path, state.join("moved")).unwrap();
    symlink(state.join("moved"), &path).unwrap();
    assert!(
        log.append(&event("x"))
            .unwrap_err()
            .to_string()
            .contains("symbolic link")
    );
    fs::remove_file(&path).unwrap();
    log.append(&event("x")).unwrap();
    set_permissions(&state, Permissions::from_mode(0o777)).unwrap();
    check(&path, "chmod go-w");
}
