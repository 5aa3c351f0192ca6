//! The audit log under several processes that are killed, and under a file size limit. The writers
//! are this test binary itself, started anew with a variable that names their work.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "all of this file is a test, also the functions that started processes run"
)]

use std::collections::HashMap;
use std::env;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use creance::{
    AuditLog, AuditSink, Event, EventKind, FileLedger, Filter, Ledger, LossKind, PinKind,
    PinRecord, Rotation,
};
use serde_json::{Value, json};

const WORK: &str = "CREANCE_TEST_WORK";
const FILE: &str = "CREANCE_TEST_FILE";

fn event(name: &str, details: Value) -> Event {
    Event {
        at_ms: 1_700_000_000_000,
        run: format!("run-{}", std::process::id()),
        kind: EventKind::Note {
            name: name.to_owned(),
            details,
        },
    }
}

/// Not a test of its own: what the started processes do. In an ordinary run it does nothing.
#[test]
fn worker() {
    let (Ok(work), Ok(file)) = (env::var(WORK), env::var(FILE)) else {
        return;
    };
    let file = PathBuf::from(file);
    match work.as_str() {
        "append-for-ever" => append_for_ever(&file),
        "act-for-ever" => act_for_ever(&file),
        "pin-for-ever" => pin_for_ever(&file),
        "fill" => fill(&file),
        other => panic!("unknown work {other}"),
    }
}

fn append_for_ever(file: &Path) {
    let log = AuditLog::file(file).unwrap();
    let append = |number: usize| {
        let details = json!({ "number": number, "text": "x".repeat(number % 5000) });
        log.append(&event("work", details)).unwrap();
    };
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| (0..usize::MAX).for_each(append));
        }
    });
}

/// Puts each act on record and then does it: adds a line to a file of its own.
fn act_for_ever(file: &Path) {
    let log = AuditLog::file(file).unwrap().with_rotation(Rotation {
        max_bytes: 200_000,
        ..Rotation::default()
    });
    let me = std::process::id();
    let acts = file.with_file_name(format!("acts-{me}"));
    let mut acts = File::options()
        .append(true)
        .create(true)
        .open(acts)
        .unwrap();
    for number in 0_usize.. {
        let details = json!({ "by": me, "number": number, "text": "x".repeat(number % 3000) });
        let receipt = log.append(&event("act", details)).unwrap();
        let act = format!("{} {number}\n", receipt.seq);
        acts.write_all(act.as_bytes()).unwrap();
    }
}

fn pin_for_ever(file: &Path) {
    let ledger = FileLedger::file(file).unwrap();
    for number in 0_u64.. {
        let shown = number.to_string();
        let digest = creance::Digest::of(&shown);
        let pin = PinRecord {
            digest,
            parts: [].into(),
            shown,
            at_ms: 1,
            lasting: true,
        };
        let subject = format!("user/{}", number % 50);
        ledger.set_pin(PinKind::Definition, &subject, pin).unwrap();
    }
}

/// Writes until the limit refuses, goes on writing (each record must be refused whole), then makes
/// room by moving the file away, and writes again without a new start.
fn fill(file: &Path) {
    let log = AuditLog::file(file).unwrap();
    let ledger = FileLedger::file(file.with_file_name("ledger.json")).unwrap();
    let details = json!({ "text": "x".repeat(1000) });
    let mut written = 0;
    let error = loop {
        match log.append(&event("work", details.clone())) {
            Ok(receipt) => {
                written += 1;
                assert_eq!(receipt.seq, written);
            }
            Err(error) => break error.to_string(),
        }
    };
    assert!(written > 10, "{written}");
    assert!(
        error.contains("audit.jsonl") && error.contains("ulimit -f"),
        "{error}"
    );
    for _ in 0..3 {
        log.append(&event("work", details.clone())).unwrap_err();
    }
    // A shorter record still has room.
    assert_eq!(
        log.append(&event("short", Value::Null)).unwrap().seq,
        written + 1
    );
    let shown = "x".repeat(100_000);
    let pin = PinRecord {
        digest: creance::Digest::of(""),
        parts: [].into(),
        shown,
        at_ms: 1,
        lasting: true,
    };
    let small = PinRecord {
        shown: String::new(),
        ..pin.clone()
    };
    ledger
        .set_pin(PinKind::Tools, "user/a", small.clone())
        .unwrap();
    let error = ledger
        .set_pin(PinKind::Tools, "user/a", pin)
        .unwrap_err()
        .to_string();
    assert!(error.contains("ledger.json"), "{error}");
    assert_eq!(ledger.pin(PinKind::Tools, "user/a").unwrap(), Some(small));
    std::fs::rename(file, file.with_extension("full")).unwrap();
    // The note that the file was replaced comes first.
    assert_eq!(
        log.append(&event("again", details)).unwrap().seq,
        written + 3
    );
    println!("filled");
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test starts itself as another process"
)]
fn start(program: &str, args: &[&str], work: &str, file: &Path) -> Child {
    Command::new(program)
        .args(args)
        .env(WORK, work)
        .env(FILE, file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn myself() -> String {
    env::current_exe().unwrap().to_str().unwrap().to_owned()
}

/// Four processes with twenty threads each, killed one after the other at odd moments and started
/// again: the log verifies, and each loss is on record.
#[test]
fn aud_07_the_log_survives_kills_of_its_writers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let begin = || start(&myself(), &["--exact", "worker"], "append-for-ever", &file);
    let mut writers: Vec<Child> = (0..4).map(|_| begin()).collect();
    for round in 0..24_u64 {
        // Not to wait for something, but to be somewhere else in its work each time.
        thread::sleep(Duration::from_micros(20_000 + round * 1_737 % 9_000));
        let mut writer = writers.remove(0);
        assert!(
            writer.try_wait().unwrap().is_none(),
            "a writer ended by itself"
        );
        writer.kill().unwrap();
        writer.wait().unwrap();
        writers.push(begin());
    }
    for mut writer in writers {
        writer.kill().unwrap();
        writer.wait().unwrap();
    }
    let log = AuditLog::file(&file).unwrap();
    log.append(&event("last", Value::Null)).unwrap();
    let report = AuditLog::verify(&file, Some(log.head())).unwrap();
    assert!(report.ok, "{report}");
    let torn_only = |kind: &LossKind| matches!(kind, LossKind::TornLine { .. });
    assert!(
        report.losses.iter().all(|loss| torn_only(&loss.kind)),
        "{report}"
    );
    assert!(report.records > 100, "{report}");
    println!("{} records, {} losses", report.records, report.losses.len());
}

/// How long writers are killed: `CREANCE_TEST_SECONDS` makes it longer.
fn seconds() -> u64 {
    let given = env::var("CREANCE_TEST_SECONDS").ok();
    given.map_or(3, |given| given.parse().unwrap())
}

/// Twenty writers, killed at odd moments and started again, over many files of one log: all of it is
/// proven by its keys to the end, and nothing was done without its record.
#[test]
fn aud_07_twenty_killed_writers_do_nothing_without_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let begin = || start(&myself(), &["--exact", "worker"], "act-for-ever", &file);
    let mut writers: Vec<Child> = (0..20).map(|_| begin()).collect();
    let until = Instant::now() + Duration::from_secs(seconds());
    let mut odd = 7_u64;
    let mut kills = 0;
    while Instant::now() < until {
        odd = odd.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Not to wait for something, but to be somewhere else in its work each time.
        thread::sleep(Duration::from_micros(odd >> 50));
        let victim = usize::try_from((odd >> 33) % 20).unwrap();
        let mut writer = std::mem::replace(&mut writers[victim], begin());
        if let Some(status) = writer.try_wait().unwrap() {
            let output = writer.wait_with_output().unwrap();
            panic!("a writer ended by itself ({status}): {output:?}");
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        kills += 1;
    }
    for mut writer in writers {
        writer.kill().unwrap();
        writer.wait().unwrap();
    }
    // A last record closes off what the last kill left.
    let log = AuditLog::file(&file).unwrap();
    log.append(&event("last", Value::Null)).unwrap();
    drop(log);
    let report = AuditLog::verify(&file, None).unwrap();
    assert!(
        report.ok && report.complete && report.end_proven,
        "{report}"
    );
    assert_eq!(report.proven, report.records, "{report}");
    let acts = acts_without_record(folder.path(), &file);
    println!(
        "{kills} kills, {} files, {} records, {} losses, {acts} acts",
        report.files,
        report.records,
        report.losses.len()
    );
    assert!(acts > 100 && kills > 10, "{acts} acts, {kills} kills");
}

/// Counts the acts that were done; each must be on record.
fn acts_without_record(folder: &Path, file: &Path) -> usize {
    let (records, _) = AuditLog::pick(file, &Filter::default()).unwrap();
    let recorded: HashMap<u64, (u64, u64)> = records
        .into_iter()
        .filter_map(|record| match record.event.kind {
            EventKind::Note { details, .. } => Some((
                record.seq,
                (details["by"].as_u64()?, details["number"].as_u64()?),
            )),
            _ => None,
        })
        .collect();
    let mut acts = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(by) = name.strip_prefix("acts-") else {
            continue;
        };
        let by: u64 = by.parse().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        // A line that a kill left open may be half of a number.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for act in whole.lines() {
            let (seq, number) = act.split_once(' ').unwrap();
            let want = Some(&(by, number.parse().unwrap()));
            assert_eq!(recorded.get(&seq.parse().unwrap()), want, "{by}: {act}");
            acts += 1;
        }
    }
    acts
}

#[test]
fn the_ledger_survives_kills_of_its_writers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.json");
    let mut pins = 0;
    for round in 0..12_u64 {
        let mut writer = start(&myself(), &["--exact", "worker"], "pin-for-ever", &file);
        thread::sleep(Duration::from_micros(60_000 + round * 3_337 % 20_000));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let ledger = FileLedger::file(&file).unwrap();
        let found = (0..50)
            .filter(|n| {
                ledger
                    .pin(PinKind::Definition, &format!("user/{n}"))
                    .unwrap()
                    .is_some()
            })
            .count();
        assert!(found >= pins, "{found} pins after {pins}");
        pins = found;
    }
    assert!(pins > 0);
}

/// With a limit on the size of files the record is refused whole, with the file and the way out;
/// the same whether the signal of that limit is ignored or would end the process.
#[test]
fn aud_06_a_full_disk_stops_the_record_and_no_more() {
    for ignored in ["trap '' XFSZ;", ""] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit.jsonl");
        let script = format!("ulimit -f 128; {ignored} exec \"$0\" \"$@\"");
        let args = ["-c", &script, &myself(), "--exact", "worker", "--nocapture"];
        let output = start("/bin/sh", &args, "fill", &file)
            .wait_with_output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && said.contains("filled"),
            "{said}{errors}"
        );
        let full = AuditLog::verify(file.with_extension("full"), None).unwrap();
        assert!(full.ok && full.losses.is_empty(), "{full}");
        let next = AuditLog::verify(&file, None).unwrap();
        assert!(next.ok, "{next}");
        assert_eq!(next.continues, Some(full.head));
    }
}
