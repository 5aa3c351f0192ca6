//! The audit log over several files, under renewed keys, after older formats, and against
//! checkpoints that were kept elsewhere.
#![expect(clippy::unwrap_used, reason = "all of this file is a test")]

use std::fs;
use std::path::{Path, PathBuf};

use creance::{
    AuditLog, AuditSink, Check, Checkpoint, Digest, Event, EventKind, FaultKind, Filter, LossKind,
    Report, Rotation, Scope, StartKey,
};
use serde_json::{Value, json};

const DAY: i64 = 24 * 3600 * 1000;

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

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    (folder, log)
}

fn report(log: &Path, keys: &[StartKey]) -> Report {
    let check = Check {
        scope: Scope::Home,
        keys: keys.to_vec(),
        ..Check::default()
    };
    AuditLog::check(log, &check).unwrap()
}

/// The report of a log that is proven from its first kept record to its end.
fn whole(log: &Path) -> Report {
    let report = report(log, &[]);
    assert!(
        report.ok && report.complete && report.end_proven,
        "{report}"
    );
    assert_eq!(report.proven, report.records, "{report}");
    assert_eq!(report.losses, [], "{report}");
    report
}

fn files(log: &Path) -> Vec<String> {
    let entries = fs::read_dir(log.parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".jsonl")).collect();
    names.sort();
    names
}

#[test]
fn a_full_file_is_moved_away_and_the_log_goes_on() {
    let (_folder, path) = place();
    let log = AuditLog::file(&path).unwrap().with_rotation(Rotation {
        max_bytes: 2000,
        ..Rotation::default()
    });
    (0..30).for_each(|_| {
        log.append(&event(1)).unwrap();
    });
    let report = whole(&path);
    assert!(report.files > 3, "{report}");
    assert_eq!(files(&path)[0], "audit.000000000001.jsonl");
    let (records, unread) = AuditLog::pick(&path, &Filter::default()).unwrap();
    assert_eq!((records.len() as u64, unread), (report.records, 0));
    // One file alone holds too, and says what it goes on from.
    let alone = AuditLog::check(
        path.with_file_name(&files(&path)[1]),
        &Check {
            scope: Scope::File,
            keys: AuditLog::start_keys(&path).unwrap(),
            ..Check::default()
        },
    )
    .unwrap();
    assert!(alone.ok && alone.continues.is_some(), "{alone}");
    assert_eq!(alone.proven, alone.records);
}

/// Files get old by the time of events. A clock that is set back makes none old, and loses nothing.
#[test]
fn an_old_file_is_moved_away() {
    let (_folder, path) = place();
    let log = AuditLog::file(&path).unwrap().with_rotation(Rotation {
        max_age_ms: Some(DAY),
        ..Rotation::default()
    });
    let check = |at_ms: i64, want: usize| {
        log.append(&event(at_ms)).unwrap();
        assert_eq!(files(&path).len(), want, "{at_ms}");
    };
    let now = 1_700_000_000_000;
    check(now, 1);
    check(now + DAY - 1, 1);
    check(now - 365 * DAY, 1);
    check(now + DAY, 2);
    check(now, 2);
    check(i64::MIN, 2);
    check(now + 2 * DAY, 3);
    assert_eq!(whole(&path).clock_set_back, 3);
}

/// What is no longer kept is on record before it is deleted; a clock that runs ahead deletes
/// nothing that the number of files keeps.
#[test]
fn only_what_is_beyond_number_and_age_is_deleted() {
    let check = |keep_files: Option<usize>, keep_ms: Option<i64>, want: &[usize]| {
        let (_folder, path) = place();
        let log = AuditLog::file(&path).unwrap().with_rotation(Rotation {
            max_bytes: 700,
            keep_files,
            keep_ms,
            ..Rotation::default()
        });
        let mut counts = Vec::new();
        for (number, days) in [0, 0, 0, 0, 0, 0, 1, 2, 1000].into_iter().enumerate() {
            log.append(&event(1_700_000_000_000 + days * DAY)).unwrap();
            if number >= 5 {
                counts.push(files(&path).len());
            }
        }
        assert_eq!(counts, want);
        let report = whole(&path);
        let (records, _) = AuditLog::pick(&path, &Filter::default()).unwrap();
        let pruned = records.iter().filter(|record| {
            matches!(&record.event.kind, EventKind::Note { name, .. } if name == "log-pruned")
        });
        assert_eq!(pruned.count() > 0, report.continues.is_some());
    };
    check(None, Some(1), &[5, 6, 7, 8]);
    check(Some(2), None, &[3, 3, 3, 3]);
    check(Some(2), Some(2 * DAY), &[5, 6, 3, 3]);
    check(Some(100), Some(1), &[5, 6, 7, 8]);
}

/// What a note of deletion does not cover is missed.
#[test]
fn files_that_somebody_else_deleted_are_missed() {
    let (_folder, path) = place();
    let log = AuditLog::file(&path).unwrap().with_rotation(Rotation {
        max_bytes: 700,
        keep_files: Some(4),
        ..Rotation::default()
    });
    (0..12).for_each(|_| {
        log.append(&event(1)).unwrap();
    });
    whole(&path);
    fs::remove_file(path.with_file_name(&files(&path)[0])).unwrap();
    let faults = report(&path, &[]).faults;
    assert!(
        faults
            .iter()
            .any(|fault| matches!(fault.kind, FaultKind::FilesMissing { .. })),
        "{faults:?}"
    );
}

#[test]
fn renewed_keys_are_named_by_the_old_ones() {
    let (_folder, path) = place();
    let log = AuditLog::file(&path).unwrap();
    let write = || {
        log.append(&event(1)).unwrap();
    };
    write();
    write();
    let first = AuditLog::take_start_keys(&path).unwrap();
    let id = AuditLog::renew_keys(&path).unwrap();
    let begun = report(&path, &first);
    assert!(begun.ok && begun.end_proven && begun.proven == 3, "{begun}");
    // A writer that was there before goes on with the new keys.
    write();
    write();
    let second = AuditLog::start_keys(&path).unwrap();
    assert_eq!(
        (second.len(), second[0].id(), second[0].first()),
        (1, id, 4)
    );
    let both: Vec<StartKey> = [first.clone(), second.clone()].concat();
    let all = report(&path, &both);
    assert!(all.ok && all.end_proven && all.proven == 5, "{all}");
    let new = report(&path, &[]);
    assert!(new.ok && new.end_proven && new.proven == 2, "{new}");
    // With the old key alone the new records are not proven, and nothing is held against them.
    AuditLog::take_start_keys(&path).unwrap();
    let old = report(&path, &first);
    assert!(old.ok && !old.end_proven && old.proven == 3, "{old}");
}

/// A log that was begun without keys verifies as far as it could, and goes on with keys.
#[test]
fn a_log_of_the_older_format_goes_on() {
    let (_folder, path) = place();
    let mut prev = Digest::of("");
    let mut old = String::new();
    for seq in 1..=3 {
        let line =
            json!({"v": 1, "seq": seq, "prev": prev, "at_ms": 1, "run": "r", "event": "note",
            "name": "n", "details": null})
            .to_string();
        prev = Digest::of(&line);
        old += &line;
        old += "\n";
    }
    fs::write(&path, &old).unwrap();
    let before = AuditLog::verify(&path, None).unwrap();
    assert!(before.ok && before.proven == 0, "{before}");
    let log = AuditLog::file(&path).unwrap();
    assert_eq!(log.append(&event(1)).unwrap().seq, 4);
    let after = report(&path, &[]);
    assert!(after.ok && after.end_proven && after.proven == 1, "{after}");
    // Codes cannot be taken off the records that have some.
    let text = fs::read_to_string(&path).unwrap();
    let (kept, code) = text.rsplit_once(",\"mac\"").unwrap();
    assert_eq!(code.len(), 2 + 64 + 2 + 1);
    fs::write(&path, format!("{kept}}}\n")).unwrap();
    let faults = report(&path, &[]).faults;
    assert!(
        faults.iter().any(|fault| fault.kind == FaultKind::NoCode),
        "{faults:?}"
    );
}

/// Killed between a record and its key: the next writer goes on from the record.
#[test]
fn a_key_file_that_is_behind_is_taken_forward() {
    let (_folder, path) = place();
    let log = AuditLog::file(&path).unwrap();
    log.append(&event(1)).unwrap();
    let behind = fs::read(path.with_file_name("audit.jsonl.key")).unwrap();
    (0..5).for_each(|_| {
        log.append(&event(1)).unwrap();
    });
    drop(log);
    fs::write(path.with_file_name("audit.jsonl.key"), behind).unwrap();
    let late = report(&path, &[]);
    assert!(late.ok && !late.end_proven, "{late}");
    AuditLog::file(&path).unwrap().append(&event(1)).unwrap();
    whole(&path);
}

/// A power cut that took the last records but not the key is a loss on record.
#[test]
fn a_key_file_that_is_ahead_tells_what_was_lost() {
    let (_folder, path) = place();
    let log = AuditLog::file(&path).unwrap();
    (0..2).for_each(|_| {
        log.append(&event(1)).unwrap();
    });
    let short = fs::metadata(&path).unwrap().len();
    (0..3).for_each(|_| {
        log.append(&event(1)).unwrap();
    });
    drop(log);
    let file = fs::File::options().write(true).open(&path).unwrap();
    // The cut goes through a line.
    file.set_len(short + 40).unwrap();
    let log = AuditLog::file(&path).unwrap();
    assert_eq!(log.append(&event(1)).unwrap().seq, 7);
    let found = report(&path, &[]);
    assert!(found.ok && !found.complete && found.end_proven, "{found}");
    let kinds: Vec<&LossKind> = found.losses.iter().map(|loss| &loss.kind).collect();
    assert!(
        matches!(
            kinds[..],
            [
                LossKind::TornLine { bytes: 40 },
                LossKind::Records {
                    after: 2,
                    known: 5,
                    ..
                }
            ]
        ),
        "{found}"
    );
}

/// Whoever kept a key file and the log of then can put both back: no key tells, a checkpoint does.
#[test]
fn a_log_that_was_put_back_as_a_whole_is_found_by_a_checkpoint() {
    let (folder, path) = place();
    let elsewhere = tempfile::tempdir().unwrap();
    let kept = elsewhere.path().join("checkpoints.jsonl");
    let log = AuditLog::file(&path)
        .unwrap()
        .with_checkpoints(&kept)
        .unwrap();
    log.append(&event(1)).unwrap();
    log.flush().unwrap();
    let names = ["audit.jsonl", "audit.jsonl.key"];
    let then = names.map(|name| fs::read(folder.path().join(name)).unwrap());
    log.append(&event(1)).unwrap();
    log.flush().unwrap();
    drop(log);
    let text = fs::read_to_string(&kept).unwrap();
    let checkpoints: Vec<Checkpoint> = text
        .lines()
        .map(|line| Checkpoint::parse(line).unwrap())
        .collect();
    let seqs: Vec<u64> = checkpoints.iter().map(|one| one.head().seq).collect();
    assert_eq!(seqs, [1, 2]);
    let check = |signer| {
        let check = Check {
            scope: Scope::Home,
            checkpoints: checkpoints.clone(),
            signer,
            ..Check::default()
        };
        let faults = AuditLog::check(&path, &check).unwrap().faults;
        faults
            .into_iter()
            .map(|fault| fault.kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(check(None), []);
    for (name, bytes) in names.iter().zip(then) {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    whole(&path);
    assert_eq!(check(None), [FaultKind::CutOff { noted: 2 }]);
    // Another's signature is not believed.
    let (_other, other) = place();
    let signer = AuditLog::checkpoint(&other).unwrap().signer();
    let refused = check(Some(signer));
    assert!(
        matches!(
            refused[..],
            [FaultKind::Checkpoint { .. }, FaultKind::Checkpoint { .. }]
        ),
        "{refused:?}"
    );
}

/// A place for checkpoints that cannot be written is on record, and stops nothing.
#[test]
fn a_checkpoint_that_is_not_kept_is_on_record() {
    let (folder, path) = place();
    let nowhere = folder.path().join("missing/checkpoints");
    let log = AuditLog::file(&path)
        .unwrap()
        .with_checkpoints(nowhere)
        .unwrap();
    log.append(&event(1)).unwrap();
    log.flush().unwrap();
    log.append(&event(1)).unwrap();
    let (records, _) = AuditLog::pick(&path, &Filter::default()).unwrap();
    assert!(records.iter().any(|record| {
        matches!(&record.event.kind, EventKind::Note { name, .. } if name == "checkpoint-not-kept")
    }));
    whole(&path);
}

#[cfg(unix)]
#[test]
fn secrets_are_this_users_alone_and_in_no_record() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, path) = place();
    let log = AuditLog::file(&path).unwrap();
    log.append(&event(1)).unwrap();
    AuditLog::checkpoint(&path).unwrap();
    for ending in ["key", "start", "sign"] {
        let file = folder.path().join(format!("audit.jsonl.{ending}"));
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{ending}");
    }
    let key = AuditLog::take_start_keys(&path).unwrap()[0].reveal();
    let secret = key.rsplit(':').next().unwrap();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(secret));
    }
}
