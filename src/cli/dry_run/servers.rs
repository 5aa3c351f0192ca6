//! What would be decided about every configured server: its start, each grant, each tool.

use std::collections::BTreeMap;

use creance::{
    Answer, Error, Forecast, Line, Outlook, PolicyOutcome, Tone, ToolOutlook, Workspace,
};
use serde_json::{Value, json};

use super::decided::{Policies, row, text, tone, word};
use super::matrix;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};
use crate::cli::paint::{Paint, UNBROKEN, natural};

/// A server, and what would be decided about it; or why nobody can tell.
pub(super) type Seen = (String, Result<Outlook, Error>);

/// Whether a difference is a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnChange {
    Go,
    Fail,
}

pub(super) fn run(workspace: &Workspace, form: Form, on_change: OnChange) -> Outcome {
    let agent = workspace.cli_agent();
    let ids = workspace.server_ids().into_iter();
    let all: Vec<Seen> = ids
        .map(|id| (id.clone(), workspace.outlook(&id, &agent)))
        .collect();
    if form.is_json() {
        out::json(&all.iter().map(report).collect::<Vec<_>>());
    } else if all.is_empty() {
        out::line(super::super::server::none(workspace));
    } else {
        let paint = Paint::for_stdout();
        let lines = lines(&all, Paint::given_width().map(|width| width.min(WIDTH_MAX)));
        out::painted(paint.text(&lines).trim_end());
    }
    // What cannot be told may be a difference.
    let differs = all.iter().any(|(_, seen)| match seen {
        Ok(outlook) => differs(outlook),
        Err(_) => true,
    });
    Ok(if differs && on_change == OnChange::Fail {
        Exit::Failed
    } else {
        Exit::Done
    })
}

/// Wider, an eye loses the row.
const WIDTH_MAX: usize = 110;

/// Whether the other store would decide anything otherwise.
pub(super) fn differs(outlook: &Outlook) -> bool {
    let mut calls = outlook.tools.iter().map(|tool| &tool.call);
    outlook.start.shadow.is_some() || calls.any(|call| call.shadow.is_some())
}

fn report((id, seen): &Seen) -> Value {
    match seen {
        Ok(outlook) => json!(outlook),
        Err(error) => json!({ "server": id, "resource": id, "error": error.to_string() }),
    }
}

fn lines(all: &[Seen], width: Option<usize>) -> Vec<Line> {
    let middle = width.map_or_else(|| widest(all), |width| width.saturating_sub(35));
    let width = width.unwrap_or(UNBROKEN);
    let mut page = Page {
        columns: [0, 7, middle, 13, 5],
        width,
        lines: Vec::new(),
        policies: Policies::default(),
        notes: Vec::new(),
    };
    for (id, seen) in all {
        match seen {
            Ok(outlook) => page.server(outlook),
            Err(error) => page.unknown(id, &error.to_string()),
        }
    }
    page.lines.extend(page.policies.lines(width));
    page.told(all.len());
    page.lines.extend(matrix::lines(all, width));
    page.lines
}

/// The longest text that has a decision beside it.
fn widest(all: &[Seen]) -> usize {
    let outlooks = all.iter().filter_map(|(_, seen)| seen.as_ref().ok());
    let texts = outlooks.flat_map(|outlook| {
        let parts = outlook
            .start
            .parts
            .iter()
            .map(|one| part(&one.0).1.to_owned());
        let tools = tools(&outlook.tools).into_iter().map(|(names, _)| names);
        let texts = parts.chain(tools).chain([outlook.command.clone()]);
        texts.collect::<Vec<_>>()
    });
    let columns = texts.map(|text| natural(&text));
    columns.max().unwrap_or(0).clamp(45, UNBROKEN)
}

/// The lines so far, and what is told below them.
struct Page {
    columns: [usize; 5],
    width: usize,
    lines: Vec<Line>,
    policies: Policies,
    /// Each with the servers that it is about.
    notes: Vec<(String, Vec<String>)>,
}

impl Page {
    fn title(&mut self, id: &str) {
        if !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        self.lines.extend(text(Tone::Title, id, self.width));
    }

    /// A line without a decision.
    fn about(&mut self, tone: Tone, kind: &str, what: &str) {
        let columns = [0, 7, self.width.saturating_sub(11)];
        let cells = [(Tone::Plain, ""), (Tone::Label, kind), (tone, what)];
        self.lines.extend(row(cells, &columns));
    }

    fn decision(&mut self, (kind, what): (&str, &str), outcome: PolicyOutcome, numbers: &str) {
        let cells = [
            (Tone::Plain, ""),
            (Tone::Label, kind),
            (Tone::Plain, what),
            (tone(outcome), &*word(outcome)),
            (Tone::Label, numbers),
        ];
        self.lines.extend(row(cells, &self.columns));
    }

    fn unknown(&mut self, id: &str, why: &str) {
        self.title(id);
        self.about(Tone::Refused, "unknown", why);
    }

    fn server(&mut self, outlook: &Outlook) {
        let off = if outlook.enabled { "" } else { " (off)" };
        self.title(&format!("{}{off}", outlook.server));
        let start = &outlook.start;
        let mut parts: Vec<_> = start.parts.iter().enumerate().collect();
        parts.sort_by_key(|(_, (what, _, _))| rank(part(what).0));
        for (at, (what, outcome, because)) in parts {
            let what = match part(what) {
                (kind, _) if at == 0 => (kind, &*outlook.command),
                ("network", "whole") => ("network", "the whole network"),
                part => part,
            };
            let numbers = self.policies.numbers(because);
            self.decision(what, *outcome, &numbers);
            self.otherwise(start, at);
        }
        if start.held != Answer::None {
            let held = format!("an answer on file is used: {}", start.held.word());
            self.about(Tone::Quiet, "", &held);
        }
        for (names, call) in tools(&outlook.tools) {
            let numbers = self.policies.numbers(&call.because);
            self.decision(("tool", &names), call.outcome, &numbers);
            self.otherwise(call, 0);
        }
        for note in &start.notes {
            self.note(note, &outlook.server);
        }
    }

    /// What the other store decides about this part, if that is something else.
    fn otherwise(&mut self, forecast: &Forecast, at: usize) {
        let other = forecast
            .shadow
            .as_ref()
            .and_then(|other| other.parts.get(at));
        let now = forecast.parts.get(at);
        let Some(((_, outcome, because), (_, now, _))) = other.zip(now) else {
            return;
        };
        if outcome != now {
            let numbers = self.policies.numbers(because);
            self.decision(("", "  with the other store"), *outcome, &numbers);
        }
    }

    fn note(&mut self, note: &str, server: &str) {
        let known = self.notes.iter_mut().find(|(text, _)| text == note);
        match known {
            Some((_, servers)) => servers.push(server.to_owned()),
            None => (self.notes).push((note.to_owned(), vec![server.to_owned()])),
        }
    }

    fn told(&mut self, all: usize) {
        if self.notes.is_empty() {
            return;
        }
        self.lines.push(Line::default());
        self.lines.push(Line::new(Tone::Title, "to know"));
        let columns = [0, self.width.saturating_sub(2)];
        for (note, servers) in std::mem::take(&mut self.notes) {
            let about = match servers.len() {
                many if many == all && many > 1 => "all servers:".to_owned(),
                _ => format!("{}:", servers.join(", ")),
            };
            let cells = [(Tone::Plain, ""), (Tone::Label, &*about)];
            self.lines.extend(row(cells, &columns));
            let cells = [(Tone::Plain, ""), (Tone::Plain, ""), (Tone::Plain, &*note)];
            let columns = [0, 0, self.width.saturating_sub(4)];
            self.lines.extend(row(cells, &columns));
        }
    }
}

/// `sandbox.read /w/p` as kind and what it is about.
pub(super) fn part(text: &str) -> (&str, &str) {
    let (action, what) = text.split_once(' ').unwrap_or((text, ""));
    let kind = action.split_once('.').map_or(action, |(_, kind)| kind);
    (kind, what)
}

/// Kinds stand together, from the start to what is least.
fn rank(kind: &str) -> usize {
    const ORDER: [&str; 5] = ["start", "read", "write", "network", "socket"];
    let at = ORDER.iter().position(|known| *known == kind);
    at.unwrap_or(ORDER.len())
}

/// Tools that are decided alike, by their names.
fn tools(all: &[ToolOutlook]) -> Vec<(String, &Forecast)> {
    let mut alike: Vec<(Vec<&str>, &Forecast)> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for tool in all {
        let call = &tool.call;
        let other = call
            .shadow
            .as_ref()
            .map(|other| (other.outcome, &other.because));
        let key = format!("{:?}", (call.outcome, &call.because, other));
        let name = match &tool.tool {
            Some(name) => name,
            None if all.len() > 1 => "any other",
            None => "any (none was listed here yet)",
        };
        let at = *known.entry(key).or_insert(alike.len());
        match alike.get_mut(at) {
            Some((names, _)) => names.push(name),
            None => alike.push((vec![name], call)),
        }
    }
    let named = alike.into_iter();
    named
        .map(|(names, call)| (names.join(", "), call))
        .collect()
}
