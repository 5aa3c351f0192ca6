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
        key: None,
        mac: None,
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
            facts: json!({ "text": "a\u{1b}[2Kb" }).into(),
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
    let check = |set: fn(&mut Filter), want: &[u64]| {
        let mut filter = Filter::default();
        set(&mut filter);
        let picked = filter.pick(records.clone());
        let picked: Vec<_> = picked.iter().map(|record| record.seq).collect();
        assert_eq!(picked, want, "{filter:?}");
    };
    check(|_| (), &[1, 2, 3, 4, 5]);
    check(|f| f.last = Some(2), &[4, 5]);
    check(|f| f.since_ms = Some(1_700_000_000_003), &[3, 4, 5]);
    check(|f| f.server = Some("files".to_owned()), &[1, 2, 4, 5]);
    check(|f| f.server = Some("user/files".to_owned()), &[1, 2, 4]);
    check(|f| f.outcome = Some(OutcomeKind::Deny), &[3, 5]);
    check(|f| f.action = Some("tool.*".to_owned()), &[1, 2, 3, 5]);
    check(|f| f.action = Some("server.start".to_owned()), &[]);
    check(|f| f.run = Some("run0".to_owned()), &[2, 4]);
}
