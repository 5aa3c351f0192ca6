//! The ledger on disk: shared, durable, never silently empty.

use std::fs::{read_to_string, write};

use crate::digest::Digest;
use crate::request::Holding;

use super::*;

fn key(resource: &str) -> Key {
    Key {
        action: "tool.call",
        principal: "cli".to_owned(),
        resource: resource.to_owned(),
        fingerprint: Digest::of("same"),
        scope: "this tool".to_owned(),
        holding: Holding::Each,
    }
}

fn entry(resource: &str, answer: Answer) -> Entry {
    let key = key(resource);
    Entry {
        action: key.action.to_owned(),
        principal: key.principal,
        resource: key.resource,
        fingerprint: key.fingerprint,
        scope: key.scope,
        answer,
        channel: "terminal".to_owned(),
        at_ms: 1000,
        until_ms: None,
        holding: key.holding,
    }
}

fn pin(text: &str) -> PinRecord {
    PinRecord {
        digest: Digest::of(text),
        parts: [("part".to_owned(), Digest::of("part"))].into(),
        shown: text.to_owned(),
        at_ms: 1000,
        lasting: true,
    }
}

fn answer(ledger: &FileLedger, resource: &str, now_ms: i64) -> Option<Answer> {
    ledger
        .answer(&[key(resource)], now_ms)
        .unwrap()
        .map(|entry| entry.answer)
}

#[test]
fn processes_share_what_lasts_and_keep_what_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/ledger.json");
    let one = FileLedger::file(&path).unwrap();
    let other = FileLedger::file(&path).unwrap();
    one.set_pin(PinKind::Tools, "user/a", pin("a")).unwrap();
    one.remember(entry("user/a/read", Answer::Remembered))
        .unwrap();
    one.remember(entry("user/ab/read", Answer::Remembered))
        .unwrap();
    one.remember(entry("user/a/write", Answer::Session))
        .unwrap();
    assert_eq!(other.pin(PinKind::Tools, "user/a").unwrap(), Some(pin("a")));
    assert_eq!(other.pin(PinKind::Artefact, "user/a").unwrap(), None);
    assert_eq!(
        answer(&other, "user/a/read", 2000),
        Some(Answer::Remembered)
    );
    assert_eq!(answer(&other, "user/a/write", 2000), None);
    assert_eq!(answer(&one, "user/a/write", 2000), Some(Answer::Session));
    one.remember(entry("user/a/read", Answer::Session)).unwrap();
    assert_eq!(answer(&one, "user/a/read", 2000), Some(Answer::Session));
    assert_eq!(one.entries().unwrap().len(), 4);
    assert_eq!(other.forget("user/a").unwrap(), 2);
    assert_eq!(one.forget("user/a").unwrap(), 2);
    assert_eq!(answer(&one, "user/a/read", 2000), None);
    assert_eq!(answer(&one, "user/ab/read", 2000), Some(Answer::Remembered));
}

#[test]
fn answers_end_and_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = FileLedger::file(folder.path().join("ledger.json")).unwrap();
    let ending = |until| Entry {
        until_ms: Some(until),
        ..entry("user/a/read", Answer::Remembered)
    };
    ledger.remember(ending(1500)).unwrap();
    ledger.remember(ending(1800)).unwrap();
    assert_eq!(ledger.entries().unwrap().len(), 1);
    assert_eq!(
        answer(&ledger, "user/a/read", 1799),
        Some(Answer::Remembered)
    );
    assert_eq!(answer(&ledger, "user/a/read", 1800), None);
    let later = Entry {
        at_ms: 2000,
        ..entry("user/b/read", Answer::Remembered)
    };
    ledger.remember(later).unwrap();
    assert_eq!(ledger.entries().unwrap().len(), 1);
    for never in [Answer::None, Answer::Once] {
        assert!(ledger.remember(entry("user/a/read", never)).is_err());
    }
}

/// Which of several answers about one thing hold after the last one was given.
#[test]
fn a_newer_state_ends_an_older_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.json");
    let state = |name: &str, (answer, holding)| Entry {
        fingerprint: Digest::of(name),
        holding,
        ..entry("user/a", answer)
    };
    let check = |first, second, want: &[&str]| {
        let _ = std::fs::remove_file(&path);
        let ledger = FileLedger::file(&path).unwrap();
        ledger.remember(state("old", first)).unwrap();
        ledger.remember(state("new", second)).unwrap();
        let other = Entry {
            scope: "another scope".to_owned(),
            ..state("other", second)
        };
        ledger.remember(other).unwrap();
        let held = |name: &str| {
            let key = Key {
                fingerprint: Digest::of(name),
                ..key("user/a")
            };
            ledger.answer(&[key], 2000).unwrap().is_some()
        };
        let held: Vec<&str> = (["old", "new", "other"].into_iter())
            .filter(|name| held(name))
            .collect();
        assert_eq!(held, want, "{first:?} {second:?}");
    };
    let (always, session) = (Answer::Remembered, Answer::Session);
    let (each, latest) = (Holding::Each, Holding::Latest);
    let all = ["old", "new", "other"];
    let newer = ["new", "other"];
    check((always, each), (always, each), &all);
    check((always, latest), (always, latest), &newer);
    check((session, latest), (session, latest), &newer);
    check((session, latest), (always, latest), &newer);
    // For this session only: what was agreed to for good stays agreed to.
    check((always, latest), (session, latest), &all);
}

#[test]
fn one_answer_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = FileLedger::file(folder.path().join("ledger.json")).unwrap();
    let kept = entry("user/a/read", Answer::Remembered);
    let other = entry("user/b/read", Answer::Remembered);
    assert_ne!(kept.id(), other.id());
    ledger.remember(kept.clone()).unwrap();
    ledger.remember(other).unwrap();
    assert!(ledger.revoke(&kept.id()).unwrap());
    assert!(!ledger.revoke(&kept.id()).unwrap());
    assert_eq!(answer(&ledger, "user/a/read", 2000), None);
    assert_eq!(
        answer(&ledger, "user/b/read", 2000),
        Some(Answer::Remembered)
    );
}

#[test]
fn a_damaged_store_is_never_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.json");
    let ledger = FileLedger::file(&path).unwrap();
    ledger
        .set_pin(PinKind::Definition, "user/a", pin("a"))
        .unwrap();
    ledger
        .remember(entry("user/a/read", Answer::Remembered))
        .unwrap();
    let good = read_to_string(&path).unwrap();
    let check = |text: &str, want: &str| {
        write(&path, text).unwrap();
        for error in [
            ledger.pin(PinKind::Definition, "user/a").unwrap_err(),
            ledger
                .set_pin(PinKind::Definition, "user/a", pin("b"))
                .unwrap_err(),
            ledger.answer(&[key("user/a/read")], 2000).unwrap_err(),
            FileLedger::file(&path).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(
                error.contains(want) && error.contains("ledger.json.bak"),
                "{error}"
            );
        }
        assert_eq!(read_to_string(&path).unwrap(), text);
    };
    check("", "EOF");
    check(good.get(..good.len() / 2).unwrap(), "EOF");
    check("[]", "invalid");
    check(&good.replace("\"v\": 1", "\"v\": 2"), "version 2");
    check(
        &good.replace("\"remembered\"", "\"once\""),
        "an answer `once`",
    );
    check(&good.replace("\"answers\"", "\"answer\""), "unknown field");
    write(&path, &good).unwrap();
    assert_eq!(
        answer(&ledger, "user/a/read", 2000),
        Some(Answer::Remembered)
    );
    assert!(folder.path().join("ledger.json.bak").exists());
}

#[cfg(unix)]
#[test]
fn a_store_that_others_can_change_is_refused() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.json");
    let ledger = FileLedger::file(&path).unwrap();
    ledger
        .set_pin(PinKind::Definition, "user/a", pin("a"))
        .unwrap();
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    assert!(
        ledger
            .entries()
            .unwrap_err()
            .to_string()
            .contains("this user alone")
    );
    std::fs::rename(&path, folder.path().join("moved")).unwrap();
    symlink(folder.path().join("moved"), &path).unwrap();
    assert!(ledger.entries().is_err());
    assert!(
        ledger
            .set_pin(PinKind::Definition, "user/a", pin("b"))
            .is_err()
    );
}

#[test]
fn threads_with_ledgers_of_their_own_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.json");
    let subject = |writer, number| format!("user/{writer}-{number}");
    let write = |writer| {
        let ledger = FileLedger::file(&path).unwrap();
        for number in 0..10 {
            let subject = subject(writer, number);
            ledger
                .set_pin(PinKind::Tools, &subject, pin(&subject))
                .unwrap();
        }
    };
    std::thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || write(writer));
        }
    });
    let ledger = FileLedger::file(&path).unwrap();
    for subject in (0..40).map(|n| subject(n / 10, n % 10)) {
        assert!(
            ledger.pin(PinKind::Tools, &subject).unwrap().is_some(),
            "{subject}"
        );
    }
}
