//! A record as people read it: one line, or in full. Everything that came from outside is shown
//! with its control characters escaped.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::request::{Answer, Because};

use super::event::{EventKind, Outcome, OutcomeKind};
use super::record::Record;
use crate::clean::visible;

/// How much of a record is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// One line.
    #[default]
    Line,
    /// One line, then its facts, policies and chain.
    Full,
}

/// Whether colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// Plain text.
    #[default]
    Plain,
    /// ANSI colours.
    Ansi,
}

impl Record {
    /// The record as people read it, without a line end.
    #[must_use]
    pub fn view(&self, shape: Shape, paint: Paint) -> String {
        let line = format!(
            "{} {:>6} {}",
            time(self.event.at_ms),
            self.seq,
            self.event.kind.line(paint)
        );
        match shape {
            Shape::Line => line,
            Shape::Full => line + &self.rest(),
        }
    }

    fn rest(&self) -> String {
        let mut text = String::new();
        let mut field = |name: &str, value: &str| {
            let _infallible = write!(text, "\n    {name}: {}", visible(value));
        };
        field("run", &self.event.run);
        match &self.event.kind {
            EventKind::Decision {
                facts,
                because,
                store,
                judged_us,
                ..
            } => {
                for one in because {
                    let role = word(&one.role);
                    field(&format!("policy ({role})"), &because_text(one));
                }
                field("facts", &facts.to_string());
                field("store", &store.to_string());
                field("judged", &format!("{judged_us} µs"));
            }
            EventKind::Outcome(Outcome { details, .. }) | EventKind::Note { details, .. } => {
                field("details", &details.to_string());
            }
        }
        field("prev", &self.prev.to_string());
        text
    }
}

impl EventKind {
    fn line(&self, paint: Paint) -> String {
        match self {
            Self::Decision { .. } => self.decision_line(paint),
            Self::Outcome(Outcome {
                of,
                ok,
                result,
                took_ms,
                ..
            }) => {
                let tint = if *ok { "32" } else { "33" };
                let done = paint.tint(tint, &format!("{:<5}", if *ok { "done" } else { "fail" }));
                format!("{done} of {of}: {} ({took_ms} ms)", visible(result))
            }
            Self::Note { name, .. } => {
                format!("{} {}", paint.tint("2", "note "), visible(name))
            }
        }
    }

    fn decision_line(&self, paint: Paint) -> String {
        let Self::Decision {
            action,
            principal,
            resource,
            outcome,
            because,
            answer,
            channel,
            ..
        } = self
        else {
            return String::new();
        };
        let verdict = match outcome {
            OutcomeKind::Allow => paint.tint("32", "allow"),
            OutcomeKind::Deny => paint.tint("31", "DENY "),
        };
        let mut line = format!(
            "{verdict} {} {} by {}",
            visible(action),
            visible(resource),
            visible(principal)
        );
        if *answer != Answer::None {
            let _infallible = write!(line, ", answered {}", answer.word());
        }
        if let Some(channel) = channel {
            let _infallible = write!(line, " ({})", visible(channel));
        }
        if let Some(first) = because.first() {
            let _infallible = write!(line, ": {}", because_text(first));
        }
        line
    }
}

impl Paint {
    fn tint(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

fn because_text(because: &Because) -> String {
    if because.reason.is_empty() {
        return visible(&because.policy);
    }
    format!(
        "{} ({})",
        visible(&because.policy),
        visible(&because.reason)
    )
}

pub(super) fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

/// A time in UTC, to the millisecond. A time before 1970 or after 9999 (a hostile record) is shown
/// as it stands.
pub(super) fn time(at_ms: i64) -> String {
    let readable = u64::try_from(at_ms)
        .ok()
        .filter(|ms| *ms <= 253_402_300_799_999);
    let at = readable.and_then(|ms| SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms)));
    match at {
        Some(at) => humantime::format_rfc3339_millis(at).to_string(),
        None => format!("{at_ms} ms"),
    }
}

#[cfg(test)]
#[path = "tests/view.rs"]
mod tests;
