//! CSV (RFC 4180). A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula:
//! such a cell gets an apostrophe in front.

use serde_json::Value;

use crate::audit::event::EventKind;
use crate::audit::record::Record;
use crate::audit::view::{time, word};
use crate::clean::visible;

use super::format::text;

const NAMES: [&str; 20] = [
    "seq",
    "time",
    "run",
    "event",
    "action",
    "principal",
    "resource",
    "outcome",
    "policy",
    "role",
    "reason",
    "answer",
    "channel",
    "asked",
    "of",
    "result",
    "took_ms",
    "note",
    "details",
    "store",
];

pub(super) fn head() -> String {
    NAMES.join(",")
}

pub(super) fn line(record: &Record) -> String {
    let event = &record.event;
    let mut row = Row::default();
    row.set("seq", record.seq.to_string());
    row.set("time", time(event.at_ms));
    row.set("run", event.run.clone());
    match &event.kind {
        EventKind::Decision { .. } => decision(&mut row, &event.kind),
        EventKind::Outcome(outcome) => {
            row.set("event", "outcome");
            row.set("outcome", if outcome.ok { "done" } else { "fail" });
            row.set("of", outcome.of.to_string());
            row.set("result", outcome.result.clone());
            row.set("took_ms", outcome.took_ms.to_string());
            row.set("details", json(&outcome.details));
        }
        EventKind::Note { name, details } => {
            row.set("event", "note");
            row.set("note", name.clone());
            row.set("details", json(details));
        }
    }
    row.text()
}

fn decision(row: &mut Row, kind: &EventKind) {
    let EventKind::Decision {
        action,
        principal,
        resource,
        facts,
        outcome,
        because,
        answer,
        channel,
        asked,
        store,
        ..
    } = kind
    else {
        return;
    };
    row.set("event", "decision");
    row.set("action", action.clone());
    row.set("principal", principal.clone());
    row.set("resource", resource.clone());
    row.set("outcome", word(outcome));
    if let Some(first) = because.first() {
        row.set("policy", first.policy.clone());
        row.set("role", word(&first.role));
        row.set("reason", first.reason.clone());
    }
    row.set("answer", answer.word());
    row.set("channel", channel.clone().unwrap_or_default());
    row.set("asked", asked.to_string());
    row.set("details", json(&facts.value()));
    row.set("store", store.to_string());
}

fn json(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        value => text(value),
    }
}

/// The cells of one line, in the order of [`NAMES`].
#[derive(Default)]
struct Row([String; NAMES.len()]);

impl Row {
    fn set(&mut self, name: &str, value: impl Into<String>) {
        let at = NAMES.iter().position(|known| *known == name);
        if let Some(cell) = at.and_then(|at| self.0.get_mut(at)) {
            *cell = value.into();
        }
    }

    fn text(&self) -> String {
        let cells: Vec<String> = self.0.iter().map(|value| cell(value)).collect();
        cells.join(",")
    }
}

fn cell(value: &str) -> String {
    let value = visible(value);
    let formula = value.starts_with(['=', '+', '-', '@']);
    let value = if formula { format!("'{value}") } else { value };
    if value.contains([',', '"', '\'']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value
    }
}
