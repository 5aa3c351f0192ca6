//! All servers at a glance: one row each, the strictest decision of each kind of grant.

use std::collections::BTreeSet;

use creance::{Line, Outlook, PolicyOutcome, Tone};

use super::decided::{text, tone};
use super::servers::{Seen, differs, part};
use crate::cli::paint::Table;

/// Kinds of grants that are shown even where no server asks for one.
const ALWAYS: [&str; 3] = ["read", "write", "network"];

pub(super) fn lines(all: &[Seen], width: usize) -> Vec<Line> {
    let kinds = kinds(all);
    let compared = all.iter().any(|(_, seen)| seen.as_ref().is_ok_and(differs));
    let mut head = vec!["server", "start"];
    head.extend(kinds.iter().map(String::as_str));
    head.push("tools");
    if compared {
        head.push("otherwise");
    }
    let mut table = Table::with(&head);
    for (id, seen) in all {
        let cells = match seen {
            Ok(outlook) => cells(outlook, &kinds),
            Err(_) => vec![(Tone::Refused, "unknown".to_owned())],
        };
        let in_use = seen.as_ref().is_ok_and(|outlook| outlook.enabled) || seen.is_err();
        let off = if in_use { "" } else { " (off)" };
        let mut row = vec![(Tone::Plain, format!("{id}{off}"))];
        row.extend(cells);
        if compared && seen.as_ref().is_ok_and(differs) {
            row.push((Tone::Warning, "yes".to_owned()));
        }
        table.cells(row);
    }
    let mut lines = vec![Line::default()];
    lines.extend(table.lines(width));
    lines.push(Line::default());
    lines.extend(text(Tone::Plain, &sum(all), width));
    lines.extend(text(Tone::Quiet, LEGEND, width));
    lines
}

const LEGEND: &str = "ask (once), ask (session), ask (always): a person is asked, and an answer \
                      holds no longer than that. Tools are called without arguments here: what is in \
                      them may decide otherwise (`creance dry-run call`).";

fn kinds(all: &[Seen]) -> Vec<String> {
    let outlooks = all.iter().filter_map(|(_, seen)| seen.as_ref().ok());
    let asked: BTreeSet<String> = outlooks
        .flat_map(|outlook| outlook.start.parts.iter().skip(1))
        .map(|(what, _, _)| part(what).0.to_owned())
        .filter(|kind| !ALWAYS.contains(&kind.as_str()))
        .collect();
    ALWAYS.into_iter().map(str::to_owned).chain(asked).collect()
}

fn cells(outlook: &Outlook, kinds: &[String]) -> Vec<(Tone, String)> {
    let parts = &outlook.start.parts;
    let mut cells = vec![cell(Some(outlook.start.outcome))];
    for kind in kinds {
        let grants = parts.iter().skip(1);
        let grants = grants.filter(|(what, _, _)| part(what).0 == kind.as_str());
        cells.push(cell(grants.map(|part| part.1).reduce(PolicyOutcome::and)));
    }
    cells.push(tools(outlook));
    cells
}

fn cell(outcome: Option<PolicyOutcome>) -> (Tone, String) {
    match outcome {
        Some(outcome) => (tone(outcome), short(outcome).to_owned()),
        None => (Tone::Quiet, "-".to_owned()),
    }
}

fn short(outcome: PolicyOutcome) -> &'static str {
    match outcome {
        PolicyOutcome::Allow => "allow",
        PolicyOutcome::Ask(_) => "ask",
        PolicyOutcome::Deny => "deny",
    }
}

/// Tools are called one by one: each outcome that one of them has.
fn tools(outlook: &Outlook) -> (Tone, String) {
    let outcomes = outlook.tools.iter().map(|tool| tool.call.outcome);
    let strictest = outcomes.clone().reduce(PolicyOutcome::and);
    let words: BTreeSet<&str> = outcomes.map(short).collect();
    let words: Vec<&str> = words.into_iter().collect();
    (strictest.map_or(Tone::Plain, tone), words.join(", "))
}

fn sum(all: &[Seen]) -> String {
    let count = |wanted: &str| {
        let outlooks = all.iter().filter_map(|(_, seen)| seen.as_ref().ok());
        let used = outlooks.filter(|outlook| outlook.enabled);
        used.filter(|outlook| short(outlook.start.outcome) == wanted)
            .count()
    };
    let unknown = all.iter().filter(|(_, seen)| seen.is_err()).count();
    let mut text = format!(
        "{} servers: {} start, {} after a question, {} not at all",
        all.len(),
        count("allow"),
        count("ask"),
        count("deny"),
    );
    let off = all
        .iter()
        .filter(|(_, seen)| seen.as_ref().is_ok_and(|one| !one.enabled));
    let off = off.count();
    if off > 0 {
        text.push_str(&format!(", {off} off"));
    }
    if unknown > 0 {
        text.push_str(&format!(", {unknown} unknown"));
    }
    text
}
