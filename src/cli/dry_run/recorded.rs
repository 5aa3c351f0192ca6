//! What would be decided about a recorded session.

use std::path::Path;

use creance::{
    AuditLog, Decided, EventKind, Filter, Line, PolicyOutcome, PolicySet, Record, Tone, Workspace,
};
use serde_json::{Value, json};

use super::decided::{Policies, row, text, tone, word};
use super::servers::OnChange;
use crate::cli::audit::failed;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};
use crate::cli::paint::{Paint, UNBROKEN, natural};

/// What is decided again.
#[derive(Debug)]
pub(super) struct Session<'a> {
    pub(super) file: &'a Path,
    pub(super) run: Option<&'a str>,
}

/// Requests that are alike.
struct Case {
    principal: String,
    what: String,
    times: u64,
    recorded: Decided,
    now: Judged,
    other: Option<Judged>,
}

/// A decision with its policies, or why nobody can tell.
type Judged = Result<(PolicyOutcome, Vec<creance::Because>), String>;

pub(super) fn run(
    workspace: &Workspace,
    session: &Session<'_>,
    (form, on_change): (Form, OnChange),
) -> Outcome {
    let filter = Filter {
        run: session.run.map(str::to_owned),
        ..Filter::default()
    };
    let (records, unread) = AuditLog::pick(session.file, &filter).map_err(failed)?;
    if unread > 0 {
        out::note(&format!(
            "{unread} lines are no records of this version; `creance audit verify` says more"
        ));
    }
    let store = workspace.policies().clone().into_store()?;
    let other = workspace.policies().shadow.as_ref();
    let mut cases = Vec::new();
    for record in &records {
        add(&mut cases, record, (&store, other));
    }
    if form.is_json() {
        out::json(&cases.iter().map(Case::report).collect::<Vec<_>>());
    } else {
        let paint = Paint::for_stdout();
        let lines = lines(&cases, Paint::given_width());
        out::painted(paint.text(&lines).trim_end());
    }
    let differs = cases.iter().any(|case| case.is_same() != Some(true));
    Ok(if differs && on_change == OnChange::Fail {
        Exit::Failed
    } else {
        Exit::Done
    })
}

fn add(cases: &mut Vec<Case>, record: &Record, (store, other): (&PolicySet, Option<&PolicySet>)) {
    let EventKind::Decision {
        action,
        principal,
        resource,
        ..
    } = &record.event.kind
    else {
        return;
    };
    let Some(replay) = store.replay(record) else {
        return;
    };
    let judged = |replay: creance::Replay| {
        let verdict = replay.now?;
        Ok((verdict.outcome, verdict.because))
    };
    let case = Case {
        principal: principal.clone(),
        what: format!("{action} {resource}"),
        times: 1,
        recorded: replay.then,
        now: judged(replay),
        other: other.and_then(|other| other.replay(record)).map(judged),
    };
    match cases.iter_mut().find(|known| known.is_like(&case)) {
        Some(known) => known.times += 1,
        None => cases.push(case),
    }
}

impl Case {
    fn is_like(&self, other: &Self) -> bool {
        (
            &self.principal,
            &self.what,
            self.recorded,
            &self.now,
            &self.other,
        ) == (
            &other.principal,
            &other.what,
            other.recorded,
            &other.now,
            &other.other,
        )
    }

    /// Whether it is decided as it was; with another store, whether both decide alike. `None` when
    /// that cannot be told.
    fn is_same(&self) -> Option<bool> {
        let now = self.now.as_ref().ok()?.0;
        match &self.other {
            Some(other) => Some(other.as_ref().ok()?.0 == now),
            None => Some(kind(now) == self.recorded),
        }
    }

    fn report(&self) -> Value {
        let judged = |judged: &Judged| match judged {
            Ok((outcome, because)) => json!({ "outcome": outcome, "because": because }),
            Err(why) => json!({ "unknown": why }),
        };
        json!({
            "principal": self.principal,
            "request": self.what,
            "times": self.times,
            "recorded": self.recorded,
            "now": judged(&self.now),
            "other": self.other.as_ref().map(judged),
            "same": self.is_same(),
        })
    }
}

fn kind(outcome: PolicyOutcome) -> Decided {
    match outcome {
        PolicyOutcome::Allow => Decided::Allow,
        PolicyOutcome::Ask(_) => Decided::Ask,
        PolicyOutcome::Deny => Decided::Deny,
    }
}

fn recorded(decided: Decided) -> &'static str {
    match decided {
        Decided::Allow => "allow",
        Decided::Ask => "ask",
        Decided::Deny => "deny",
    }
}

fn lines(cases: &[Case], width: Option<usize>) -> Vec<Line> {
    let widest = || cases.iter().map(|case| natural(&case.what) + 20).max();
    let middle = width.map_or_else(|| widest().unwrap_or(0), |width| width.saturating_sub(36));
    let width = width.unwrap_or(UNBROKEN);
    let columns = [0, middle.clamp(44, UNBROKEN), 8, 13, 5];
    let mut policies = Policies::default();
    let mut lines = Vec::new();
    if !cases.is_empty() {
        let head = ["", "request", "recorded", "now", "by"].map(|name| (Tone::Label, name));
        lines.extend(row(head, &columns));
    }
    let mut principal = "";
    for case in cases {
        if case.principal != principal {
            principal = &case.principal;
            lines.extend(text(Tone::Title, principal, width));
        }
        let what = match case.times {
            1 => case.what.clone(),
            times => format!("{} ({times} times)", case.what),
        };
        let judged = (&*what, recorded(case.recorded), &case.now);
        lines.extend(case_row(judged, &mut policies, &columns));
        if let Some(other) = case.other.as_ref().filter(|other| **other != case.now) {
            let judged = ("  with the other store", "", other);
            lines.extend(case_row(judged, &mut policies, &columns));
        }
    }
    lines.extend(policies.lines(width));
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    lines.extend(text(Tone::Plain, &sum(cases), width));
    lines
}

fn case_row(
    (what, then, judged): (&str, &str, &Judged),
    policies: &mut Policies,
    columns: &[usize],
) -> Vec<Line> {
    let (shade, now, numbers) = match judged {
        Ok((outcome, because)) => (tone(*outcome), word(*outcome), policies.numbers(because)),
        Err(why) => {
            let number = policies.number("cannot be told", why);
            (Tone::Warning, "unknown".to_owned(), number.to_string())
        }
    };
    let cells = [
        (Tone::Plain, ""),
        (Tone::Plain, what),
        (Tone::Plain, then),
        (shade, &*now),
        (Tone::Label, &*numbers),
    ];
    row(cells, columns)
}

fn sum(cases: &[Case]) -> String {
    let count = |same: Option<bool>| -> u64 {
        let alike = cases.iter().filter(|case| case.is_same() == same);
        alike.map(|case| case.times).sum()
    };
    let all: u64 = cases.iter().map(|case| case.times).sum();
    let compared = cases.iter().any(|case| case.other.is_some());
    let as_what = if compared {
        "alike in both stores"
    } else {
        "as recorded"
    };
    format!(
        "{all} decisions: {} {as_what}, {} otherwise, {} cannot be told",
        count(Some(true)),
        count(Some(false)),
        count(None),
    )
}
