//! Records as people see and pick them.

use serde_json::json;

use super::*;
use crate::audit::{Event, Filter};
use crate::digest::Digest;
use crate::request::{Layer, Role};

fn record(seq: u64, kind: EventKind) -> Record {
    Record {
        v: 1,
        seq,
        prev: Digest::of(""),
        event: Event {
            at_ms: 1_700_000_000_000 + i64::try_from(seq).unwrap(),
            run: format!("run{}", seq % 2),
            kind,
        },
    }
}

fn decision(seq: u64, resource: &str, outcome: OutcomeKind) -> Record {
    record(
        seq,
        EventKind::Decision {
            action: "tool.call".to_owned(),
            principal: "agent/cli".to_owned(),
            resource: resource.to_owned(),
            facts: json!({ "text": "a\u{1b}[2Kb" }),
            outcome,
            because: vec![Because {
                policy: "user/a/b".to_owned(),
                layer: Layer::User,
                role: Role::RequiresAnswer,
                reason: "why\nnot".to_owned(),
            }],
            answer: Answer::Session,
            channel: Some("terminal".to_owned()),
            asked: true,
            store: Digest::of("store"),
            judged_us: 42,
        },
    )
}

fn outcome(seq: u64, of: u64) -> Record {
    record(
        seq,
        EventKind::Outcome(Outcome {
            of,
            ok: false,
            result: "timed-out".to_owned(),
            details: json!({}),
            took_ms: 5,
        }),
    )
}

fn note(seq: u64) -> Record {
    record(
        seq,
        EventKind::Note {
            name: "server-stopped".to_owned(),
            details: json!({ "server": "user/files" }),
        },
    )
}

/// A forged line, a cursor movement or a turned text stays visible text on its own line.
#[test]
fn aud_04_the_view_escapes() {
    let record = decision(1, "user/f/t\n{\"x\u{1b}[1A\u{202e}", OutcomeKind::Deny);
    assert_eq!(
        record.view(Shape::Line, Paint::Plain),
        "2023-11-14T22:13:20.001Z      1 DENY  tool.call user/f/t\\n{\"x\\u{1b}[1A\\u{202e} by \
         agent/cli, answered session (terminal): user/a/b (why\\nnot)"
    );
    let full = record.view(Shape::Full, Paint::Plain);
    assert_eq!(full.lines().count(), 7);
    assert!(!full.contains('\u{1b}'));
    assert!(
        record
            .view(Shape::Line, Paint::Ansi)
            .contains("\u{1b}[31mDENY \u{1b}[0m")
    );
    assert_eq!(
        outcome(2, 1).view(Shape::Line, Paint::Plain),
        "2023-11-14T22:13:20.002Z      2 fail  of 1: timed-out (5 ms)"
    );
    let mut odd = note(3);
    odd.event.at_ms = i64::MIN;
    assert!(
        odd.view(Shape::Line, Paint::Plain)
            .starts_with("-9223372036854775808 ms")
    );
}

#[test]
fn records_are_picked() {
    let records = [
        decision(1, "user/files/read", OutcomeKind::Allow),
        outcome(2, 1),
        decision(3, "user/files2/read", OutcomeKind::Deny),
        note(4),
        decision(5, "project/files/read", OutcomeKind::Deny),
    ];
    let check = |filter: Filter, want: &[u64]| {
        let picked = filter.pick(records.clone());
        assert_eq!(
            picked.iter().map(|r| r.seq).collect::<Vec<_>>(),
            want,
            "{filter:?}"
        );
    };
    let some = |text: &str| Some(text.to_owned());
    check(Filter::default(), &[1, 2, 3, 4, 5]);
    check(
        Filter {
            last: Some(2),
            ..Filter::default()
        },
        &[4, 5],
    );
    check(
        Filter {
            since_ms: Some(1_700_000_000_003),
            ..Filter::default()
        },
        &[3, 4, 5],
    );
    check(
        Filter {
            server: some("files"),
            ..Filter::default()
        },
        &[1, 2, 4, 5],
    );
    check(
        Filter {
            server: some("user/files"),
            ..Filter::default()
        },
        &[1, 2, 4],
    );
    check(
        Filter {
            outcome: Some(OutcomeKind::Deny),
            ..Filter::default()
        },
        &[3, 5],
    );
    check(
        Filter {
            action: some("tool.*"),
            ..Filter::default()
        },
        &[1, 2, 3, 5],
    );
    check(
        Filter {
            action: some("server.start"),
            ..Filter::default()
        },
        &[],
    );
    check(
        Filter {
            run: some("run0"),
            ..Filter::default()
        },
        &[2, 4],
    );
}
