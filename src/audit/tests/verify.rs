//! What the check finds, and what it lets through.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::*;
use crate::audit::chain::link;
use crate::audit::{Event, EventKind, Outcome};
use crate::request::Answer;

fn event(kind: EventKind) -> Event {
    Event {
        at_ms: 1_700_000_000_000,
        run: "run".to_owned(),
        kind,
    }
}

fn note(name: &str) -> Event {
    event(EventKind::Note {
        name: name.to_owned(),
        details: json!({ "name": name }),
    })
}

fn decision(outcome: OutcomeKind) -> Event {
    event(EventKind::Decision {
        action: "tool.call".to_owned(),
        principal: "agent/cli".to_owned(),
        resource: "user/files/read".to_owned(),
        facts: json!({}).into(),
        outcome,
        because: Vec::new(),
        answer: Answer::None,
        channel: None,
        asked: false,
        store: Digest::of("store"),
        judged_us: 7,
    })
}

fn outcome(of: u64) -> Event {
    event(EventKind::Outcome(Outcome {
        of,
        ok: true,
        result: "done".to_owned(),
        details: Value::Null,
        took_ms: 1,
    }))
}

/// The lines of a log with these events, and its head.
fn log(events: &[Event]) -> (Vec<Vec<u8>>, Head) {
    let mut head = Head::empty();
    let mut lines = Vec::new();
    for event in events {
        let mut line = Vec::new();
        head = link(&mut line, head, event, None).unwrap();
        lines.push(line);
    }
    (lines, head)
}

fn faults(lines: &[Vec<u8>]) -> Vec<(u64, FaultKind)> {
    let report = verify(lines);
    assert_eq!(report.ok, report.faults.is_empty());
    report
        .faults
        .into_iter()
        .map(|fault| (fault.line, fault.kind))
        .collect()
}

#[test]
fn an_untouched_log_verifies() {
    let (lines, head) = log(&[
        note("a"),
        decision(OutcomeKind::Allow),
        outcome(2),
        note("b"),
    ]);
    let report = verify(&lines);
    assert!(report.ok, "{report}");
    assert_eq!((report.records, report.head), (4, head));
    assert_eq!(report.no_outcome, []);
    let empty = verify(Vec::<Vec<u8>>::new());
    assert_eq!((empty.ok, empty.head), (true, Head::empty()));
}

#[test]
fn changes_are_found() {
    let (good, _) = log(&[note("a"), note("b"), note("c"), note("d")]);
    let check = |change: fn(&mut Vec<Vec<u8>>), want: &[(u64, FaultKind)]| {
        let mut lines = good.clone();
        change(&mut lines);
        assert_eq!(faults(&lines), want);
    };
    check(|_| (), &[]);
    check(
        |lines| {
            let text = String::from_utf8(lines[1].clone()).unwrap();
            lines[1] = text.replace("\"b\"", "\"x\"").into_bytes();
        },
        &[(3, FaultKind::LineAboveChanged)],
    );
    check(
        |lines| drop(lines.remove(1)),
        &[(2, FaultKind::Missing { expected: 2 })],
    );
    check(|lines| drop(lines.remove(0)), &[(1, FaultKind::NoStart)]);
    check(
        |lines| lines.insert(2, lines[1].clone()),
        &[(3, FaultKind::OutOfOrder { expected: 3 })],
    );
    check(
        |lines| lines.swap(1, 2),
        &[
            (2, FaultKind::Missing { expected: 2 }),
            (3, FaultKind::OutOfOrder { expected: 4 }),
            (4, FaultKind::Missing { expected: 3 }),
        ],
    );
}

#[test]
fn a_cut_end_is_found_only_by_a_noted_head() {
    let (lines, head) = log(&[note("a"), note("b"), note("c")]);
    let with_noted = |lines: &[Vec<u8>], noted| {
        let mut verifier = Verifier::new().with_noted(noted);
        lines.iter().for_each(|line| verifier.line(line));
        verifier
            .finish()
            .faults
            .into_iter()
            .map(|fault| fault.kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(faults(&lines[..2]), []);
    assert_eq!(with_noted(&lines, head), []);
    assert_eq!(
        with_noted(&lines[..2], head),
        [FaultKind::CutOff { noted: 3 }]
    );
    let other = Head {
        digest: Digest::of("other"),
        ..head
    };
    assert_eq!(with_noted(&lines, other), [FaultKind::NotAsNoted]);
    assert_eq!(head.to_string().parse(), Ok(head));
}

/// The chain goes on over a torn line, and the note names the loss.
#[test]
fn aud_07_a_torn_line_that_was_closed_off_is_a_loss() {
    let (good, head) = log(&[note("a"), note("b")]);
    let torn = br#"{"v":1,"seq":3,"prev":"7f"#;
    let closed = |lost_bytes: usize, after: Head| {
        let mend = Mend::TornLine(TornLine {
            lost_bytes: lost_bytes as u64,
            after,
        });
        let mut note = Vec::new();
        let above = Head {
            digest: Digest::of(torn),
            ..head
        };
        mend.link(
            &mut note,
            above,
            &event(EventKind::Note {
                name: String::new(),
                details: Value::Null,
            }),
            None,
        )
        .unwrap();
        note
    };
    let with = |torn: &[u8], note: Vec<u8>| {
        let mut lines = good.clone();
        lines.push([torn, b"\n"].concat());
        lines.push(note);
        lines
    };
    let report = verify(with(torn, closed(torn.len(), head)));
    assert!(report.ok, "{report}");
    assert_eq!(
        report.losses,
        [Loss {
            file: None,
            line: 3,
            kind: LossKind::TornLine {
                bytes: torn.len() as u64
            }
        }]
    );

    let mut other = torn.to_vec();
    other[5] = b'2';
    assert_eq!(
        faults(&with(&other, closed(torn.len(), head))),
        [(4, FaultKind::LineAboveChanged)]
    );
    let wrong = Head {
        digest: Digest::of("other"),
        ..head
    };
    assert!(faults(&with(torn, closed(torn.len(), wrong))).contains(&(4, FaultKind::FalseNote)));
    assert!(faults(&with(torn, closed(1, head))).contains(&(4, FaultKind::FalseNote)));
    assert_eq!(faults(&with(torn, Vec::new())).len(), 1);

    let mut open = good.clone();
    open.push(torn.to_vec());
    let report = verify(open);
    assert!(report.ok);
    assert_eq!(report.losses.len(), 1);
}

#[test]
fn effects_are_matched_with_decisions() {
    let stop = note("run-stop");
    let (lines, _) = log(&[
        decision(OutcomeKind::Allow),
        decision(OutcomeKind::Deny),
        stop,
    ]);
    let report = verify(lines);
    assert!(report.ok);
    assert_eq!(report.no_outcome.len(), 1);
    assert!(report.no_outcome[0].run_ended);
    assert!(
        report
            .to_string()
            .contains("tool.call: no outcome recorded (run ended)")
    );

    let (lines, _) = log(&[decision(OutcomeKind::Deny), outcome(1)]);
    assert_eq!(faults(&lines), [(2, FaultKind::OutcomeOfNothing { of: 1 })]);
}

#[test]
fn what_a_later_version_adds_is_let_through() {
    let mut head = Head::empty();
    let mut lines = Vec::new();
    for extra in [
        json!({"event": "decision", "outcome": "deny", "more": [1]}),
        json!({"event": "new-kind"}),
    ] {
        let mut line =
            json!({"v": 1, "seq": head.seq + 1, "prev": head.digest, "at_ms": 5, "run": "r"});
        line.as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        let line = line.to_string();
        head = Head {
            seq: head.seq + 1,
            digest: Digest::of(&line),
        };
        lines.push(line.into_bytes());
    }
    assert_eq!(faults(&lines), []);
    let newer = br#"{"v":2,"seq":1,"prev":"","at_ms":5,"run":"r","event":"x"}"#;
    assert!(!verify([newer]).losses.is_empty() || !verify([newer]).ok);
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let kind = prop_oneof![
        (any::<String>(), any::<String>()).prop_map(|(name, value)| EventKind::Note {
            details: json!({ name.clone(): value }),
            name,
        }),
        (any::<String>(), any::<String>(), any::<u64>()).prop_map(|(resource, text, judged_us)| {
            let mut kind = decision(OutcomeKind::Deny).kind;
            if let EventKind::Decision {
                resource: r,
                facts,
                judged_us: j,
                ..
            } = &mut kind
            {
                *r = resource;
                *facts = json!([text]).into();
                *j = judged_us;
            }
            kind
        }),
        Just(decision(OutcomeKind::Allow).kind),
    ];
    let one = (any::<i64>(), any::<String>(), kind).prop_map(|(at_ms, run, kind)| Event {
        at_ms,
        run,
        kind,
    });
    vec(one, 2..12)
}

proptest! {
    #[test]
    fn any_events_make_one_line_each_and_verify(events in events()) {
        let (lines, head) = log(&events);
        for (line, event) in lines.iter().zip(&events) {
            prop_assert_eq!(line.iter().filter(|b| **b < 0x20 || **b == 0x7f).count(), 1);
            let record: crate::audit::Record = serde_json::from_slice(line).unwrap();
            prop_assert_eq!(&record.event, event);
        }
        let report = verify(&lines);
        prop_assert!(report.ok, "{}", report);
        prop_assert_eq!(report.head, head);
    }

    #[test]
    fn any_edited_byte_is_found(events in events(), at in any::<proptest::sample::Index>(), byte in any::<u8>()) {
        let (lines, head) = log(&events);
        let mut bytes = lines.concat();
        let at = at.index(bytes.len());
        proptest::prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        let lines: Vec<_> = bytes.split_inclusive(|b| *b == b'\n').collect();
        let report = verify(&lines);
        // The last line is linked to by no other: there the head tells.
        prop_assert!(!report.ok || report.head != head || !report.losses.is_empty());
        let in_last = at >= bytes.len() - lines.last().unwrap().len();
        prop_assert!(!report.ok || in_last || byte == b'\n' || !report.losses.is_empty());
    }

    #[test]
    fn any_removed_or_swapped_line_is_found(
        events in events(),
        one in any::<proptest::sample::Index>(),
        other in any::<proptest::sample::Index>(),
    ) {
        let (lines, head) = log(&events);
        let (one, other) = (one.index(lines.len()), other.index(lines.len()));
        let mut removed = lines.clone();
        removed.remove(one);
        let report = verify(&removed);
        prop_assert_eq!(report.ok, one == lines.len() - 1);
        prop_assert!(report.head != head || !report.ok);
        let mut swapped = lines.clone();
        swapped.swap(one, other);
        prop_assert_eq!(verify(&swapped).ok, one == other);
    }
}
