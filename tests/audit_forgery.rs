//! Forgeries of the audit log by somebody who reads and writes its files later: each kind, crude and
//! with the whole chain written anew, is found.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "all of this file is a test"
)]

use std::fs;
use std::path::{Path, PathBuf};

use creance::{
    AuditLog, AuditSink, Check, Digest, Event, EventKind, FaultKind, Rotation, Scope, StartKey,
};
use serde_json::{Value, json};

fn event(number: u64) -> Event {
    Event {
        at_ms: 1_700_000_000_000,
        run: "run".to_owned(),
        kind: EventKind::Note {
            name: format!("event-{number}"),
            details: json!({ "text": "x".repeat(200) }),
        },
    }
}

/// A log of several files, written by two processes' worth of handles, and what was put aside of it.
struct Stage {
    folder: tempfile::TempDir,
    log: PathBuf,
    /// The starting key, which was taken away.
    key: StartKey,
    /// The key file as it was some records ago.
    old_key_file: Vec<u8>,
}

const RECORDS: u64 = 40;

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.jsonl");
        let rotation = Rotation {
            max_bytes: 4000,
            ..Rotation::default()
        };
        let write = |from: u64, to: u64| {
            // Three writers take turns.
            let writer = || AuditLog::file(&log).unwrap().with_rotation(rotation);
            let writers = [writer(), writer(), writer()];
            for (number, log) in (from..to).zip(writers.iter().cycle()) {
                log.append(&event(number)).unwrap();
            }
        };
        write(0, RECORDS / 2);
        let old_key_file = fs::read(folder.path().join("audit.jsonl.key")).unwrap();
        write(RECORDS / 2, RECORDS);
        let keys = AuditLog::take_start_keys(&log).unwrap();
        assert!(!folder.path().join("audit.jsonl.start").exists());
        Self {
            folder,
            log,
            key: keys[0].clone(),
            old_key_file,
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = paths
            .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
            .collect();
        // `audit.0…` stands before `audit.jsonl`.
        files.sort();
        files
    }

    fn beside(&self, ending: &str) -> PathBuf {
        self.folder.path().join(format!("audit.jsonl.{ending}"))
    }

    fn faults(&self, keys: &[StartKey]) -> Vec<FaultKind> {
        let check = Check {
            scope: Scope::Home,
            keys: keys.to_vec(),
            ..Check::default()
        };
        let report = AuditLog::check(&self.log, &check).unwrap();
        assert_eq!(report.ok, report.faults.is_empty(), "{report}");
        report.faults.into_iter().map(|fault| fault.kind).collect()
    }
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn put(path: &Path, lines: &[String]) {
    fs::write(
        path,
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    )
    .unwrap();
}

/// Numbers and links all lines of all files anew, as somebody can who knows the format and has no
/// key.
fn link_anew(stage: &Stage) {
    let (mut seq, mut prev) = (0, Digest::of(""));
    for path in stage.files() {
        let mut linked = Vec::new();
        for line in lines(&path) {
            let mut record: Value = serde_json::from_str(&line).unwrap();
            seq += 1;
            if record["name"] == "log-continued" {
                record["details"]["after"] = json!({ "seq": seq - 1, "digest": prev });
            }
            record["seq"] = json!(seq);
            record["prev"] = json!(prev);
            let line = record.to_string();
            prev = Digest::of(&line);
            linked.push(line);
        }
        put(&path, &linked);
    }
}

fn edit(stage: &Stage) {
    let path = &stage.files()[1];
    let mut all = lines(path);
    all[2] = all[2].replace("xxx", "yyy");
    put(path, &all);
}

fn delete(stage: &Stage) {
    let path = &stage.files()[1];
    let mut all = lines(path);
    all.remove(2);
    put(path, &all);
}

fn reorder(stage: &Stage) {
    let path = &stage.files()[1];
    let mut all = lines(path);
    all.swap(2, 3);
    put(path, &all);
}

fn insert(stage: &Stage) {
    let path = &stage.files()[1];
    let mut all = lines(path);
    let more = all[2].replace("xxx", "zzz");
    all.insert(3, more);
    put(path, &all);
}

fn cut(stage: &Stage) {
    let mut all = lines(&stage.log);
    all.pop();
    put(&stage.log, &all);
}

fn cut_the_last_file(stage: &Stage) {
    fs::remove_file(&stage.log).unwrap();
    fs::rename(&stage.files()[2], &stage.log).unwrap();
}

fn swap_files(stage: &Stage) {
    let files = stage.files();
    let aside = stage.folder.path().join("aside");
    fs::rename(&files[1], &aside).unwrap();
    fs::rename(&files[2], &files[1]).unwrap();
    fs::rename(&aside, &files[2]).unwrap();
}

fn remove_file(stage: &Stage) {
    fs::remove_file(&stage.files()[1]).unwrap();
}

fn remove_first_files(stage: &Stage) {
    fs::remove_file(&stage.files()[0]).unwrap();
    fs::remove_file(&stage.files()[0]).unwrap();
}

fn strip_codes(stage: &Stage) {
    for path in stage.files() {
        let strip = |line: String| {
            let mut record: Value = serde_json::from_str(&line).unwrap();
            let members = record.as_object_mut().unwrap();
            members.shift_remove("mac");
            members.shift_remove("key");
            record.to_string()
        };
        put(
            &path,
            &lines(&path).into_iter().map(strip).collect::<Vec<_>>(),
        );
    }
    link_anew(stage);
}

#[test]
fn an_untouched_log_is_proven_to_its_end() {
    let stage = Stage::new();
    assert!(stage.files().len() >= 4, "{:?}", stage.files());
    let check = Check {
        scope: Scope::Home,
        keys: vec![stage.key.clone()],
        ..Check::default()
    };
    let report = AuditLog::check(&stage.log, &check).unwrap();
    assert!(
        report.ok && report.complete && report.end_proven,
        "{report}"
    );
    assert_eq!(report.proven, report.records);
    assert_eq!(report.losses, []);
    assert_eq!(stage.faults(&[]), []);
}

type Forge = fn(&Stage);
type Is = fn(&FaultKind) -> bool;

/// What is done, and what is found without the starting key and with it.
fn forgeries() -> [(&'static str, Forge, Is, Is); 8] {
    use FaultKind as F;
    [
        (
            "edit",
            edit,
            |k| *k == F::LineAboveChanged,
            |k| *k == F::WrongCode,
        ),
        (
            "delete",
            delete,
            |k| matches!(k, F::Missing { .. }),
            |k| matches!(k, F::Missing { .. }),
        ),
        (
            "reorder",
            reorder,
            |k| matches!(k, F::OutOfOrder { .. }),
            |k| *k == F::WrongCode,
        ),
        (
            "insert",
            insert,
            |k| matches!(k, F::OutOfOrder { .. }),
            |k| *k == F::WrongCode,
        ),
        (
            "cut the tail",
            cut,
            |k| matches!(k, F::CutOff { .. }),
            |k| matches!(k, F::CutOff { .. }),
        ),
        (
            "swap files",
            swap_files,
            |k| matches!(k, F::Missing { .. }),
            |k| matches!(k, F::OutOfOrder { .. }),
        ),
        (
            "remove a file",
            remove_file,
            |k| matches!(k, F::Missing { .. }),
            |k| matches!(k, F::Missing { .. }),
        ),
        (
            "remove the first files",
            remove_first_files,
            |k| matches!(k, F::FilesMissing { .. }),
            |k| matches!(k, F::FilesMissing { .. }),
        ),
    ]
}

#[test]
fn each_forgery_is_found() {
    for (name, forge, without, with) in forgeries() {
        let stage = Stage::new();
        forge(&stage);
        let found = stage.faults(&[]);
        assert!(found.iter().any(without), "{name}: {found:?}");
        let found = stage.faults(std::slice::from_ref(&stage.key));
        assert!(found.iter().any(with), "{name} with the key: {found:?}");
    }
}

/// The chain alone would hold: only keys tell.
#[test]
fn a_log_that_was_linked_anew_is_found_by_its_codes() {
    let cases: [(&str, Forge); 5] = [
        ("edit", edit),
        ("delete", delete),
        ("reorder", reorder),
        ("insert", insert),
        ("strip", strip_codes),
    ];
    for (name, forge) in cases {
        let stage = Stage::new();
        forge(&stage);
        link_anew(&stage);
        // So that the key file does not tell.
        fs::remove_file(stage.beside("key")).unwrap();
        assert_eq!(stage.faults(&[]), [], "{name}");
        let found = stage.faults(std::slice::from_ref(&stage.key));
        let by_code = |k: &FaultKind| matches!(k, FaultKind::WrongCode | FaultKind::NoCode);
        assert!(found.iter().any(by_code), "{name}: {found:?}");
    }
}

/// A cut end is found also when the key file was made to fit, and when a writer went on after it.
#[test]
fn a_cut_end_is_found_whatever_becomes_of_the_key_file() {
    let check = |name: &str, forge: fn(&Stage), want: fn(&FaultKind) -> bool| {
        let stage = Stage::new();
        forge(&stage);
        let found = stage.faults(std::slice::from_ref(&stage.key));
        assert!(found.iter().any(want), "{name}: {found:?}");
    };
    check("one file", cut_the_last_file, |k| {
        matches!(k, FaultKind::CutOff { .. })
    });
    check(
        "key file removed",
        |stage| {
            cut(stage);
            fs::remove_file(stage.beside("key")).unwrap();
        },
        |k| *k == FaultKind::NoKeyFile,
    );
    check(
        "key file removed, and a writer makes new keys",
        |stage| {
            cut(stage);
            fs::remove_file(stage.beside("key")).unwrap();
            AuditLog::file(&stage.log)
                .unwrap()
                .append(&event(99))
                .unwrap();
        },
        |k| *k == FaultKind::KeysChanged,
    );
    check(
        "key file of another log",
        |stage| {
            let other = Stage::new();
            fs::copy(other.beside("key"), stage.beside("key")).unwrap();
        },
        |k| *k == FaultKind::KeyFile,
    );
    check(
        "key file not whole",
        |stage| fs::write(stage.beside("key"), b"creance-audit-k1").unwrap(),
        |k| *k == FaultKind::NoKeyFile,
    );
    check(
        "key file from before",
        |stage| {
            cut_the_last_file(stage);
            let mut other = stage.old_key_file.clone();
            other[60] ^= 1;
            fs::write(stage.beside("key"), other).unwrap();
        },
        |k| *k == FaultKind::NoKeyFile,
    );
}

/// When a writer finds an end that was cut off, the loss is on record and the log is not whole.
#[test]
fn a_writer_that_goes_on_after_a_cut_says_so() {
    let stage = Stage::new();
    cut(&stage);
    AuditLog::file(&stage.log)
        .unwrap()
        .append(&event(99))
        .unwrap();
    let check = Check {
        scope: Scope::Home,
        keys: vec![stage.key.clone()],
        ..Check::default()
    };
    let report = AuditLog::check(&stage.log, &check).unwrap();
    assert!(report.ok && !report.complete, "{report}");
    assert!(report.to_string().contains("MISSING"), "{report}");
}
