//! A question as lines: the same for the prompt and for `creance approve`. Pure.
//! Everything that will happen is shown in full; untrusted text always stands behind a bar.

use crate::request::{Answer, Because, Layer, Question};

use super::line::{Line, Tone};
use super::visible::{wrap, wrap_one};

/// The whole question, wrapped to a width in columns. Nothing is cut, and no line holds a control
/// character.
#[must_use]
pub fn render(question: &Question, width: usize) -> Vec<Line> {
    let mut lines = vec![title(&question.asked.title)];
    let asker = format!("{} asks for {}", question.asker, question.action);
    lines.extend(wrap_one(&asker, width, ["  ", "    "]));
    for detail in &question.asked.details {
        let mut label = Line::new(Tone::Plain, "  ");
        label.push_untrusted(Tone::Label, &detail.label);
        lines.push(label);
        lines.extend(wrap(&detail.text, width, BAR));
    }
    for warning in &question.asked.warnings {
        lines.extend(warn(warning, width));
    }
    for because in &question.because {
        lines.extend(reason(because, width));
    }
    if !question.asked.complete {
        let text = "not all of it can be shown, so agreeing is not offered";
        lines.extend(warn(text, width));
    }
    lines
}

/// The answers that are offered, from the strongest to the longest-lived. `No` always is.
pub(super) fn offered(question: &Question) -> Vec<Answer> {
    let agreeing = question.asked.complete && question.longest != Answer::None;
    let accepted = Answer::LADDER
        .into_iter()
        .rev()
        .filter(|answer| agreeing && *answer >= question.longest);
    accepted.chain([Answer::None]).collect()
}

const BAR: [&str; 2] = ["  │ ", "  │   "];

fn title(text: &str) -> Line {
    let mut line = Line::new(Tone::Title, "? ");
    line.push_untrusted(Tone::Title, text);
    line
}

fn warn(text: &str, width: usize) -> Vec<Line> {
    wrap_one(text, width, ["  ! ", "    "])
        .iter()
        .map(|line| Line::new(Tone::Warning, &line.to_string()))
        .collect()
}

/// A policy and its reason. A project's text comes with the cloned repository: it stands behind a
/// bar, and is said to be the project's.
fn reason(because: &Because, width: usize) -> Vec<Line> {
    let policy = format!("asked by policy {}", because.policy);
    let gutters = ["  - ", "    "];
    match (because.layer, because.reason.is_empty()) {
        (_, true) => wrap_one(&policy, width, gutters),
        (Layer::Project, false) => {
            let head = format!("{policy}, which the project explains so:");
            let mut lines = wrap_one(&head, width, gutters);
            lines.extend(wrap(&because.reason, width, BAR));
            lines
        }
        (Layer::Builtin | Layer::Org | Layer::User, false) => {
            wrap_one(&format!("{policy}: {}", because.reason), width, gutters)
        }
    }
}

#[cfg(test)]
#[path = "tests/render.rs"]
mod tests;
