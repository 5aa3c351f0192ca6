//! A question as lines: the same for the prompt and for `creance approve`. Pure.
//! Everything that will happen is shown in full; untrusted text always stands behind a bar.

use crate::request::{Answer, Because, Layer, Question};

use super::line::{Line, Tone};
use super::visible::{push_visible, wrap};

/// The whole question, wrapped to a width in columns. Nothing is cut, and no line holds a control
/// character.
#[must_use]
pub fn render(question: &Question, width: usize) -> Vec<Line> {
    let mut lines = vec![title(&question.asked.title)];
    lines.extend(wrap(
        &format!("{} asks for {}", question.asker, question.action),
        width,
        ["  ", "    "],
    ));
    for detail in &question.asked.details {
        let mut label = Line::new(Tone::Plain, "  ");
        push_visible(&mut label, Tone::Label, &detail.label);
        lines.push(label);
        lines.extend(wrap(&detail.text, width, BAR));
    }
    lines.extend(
        question
            .asked
            .warnings
            .iter()
            .flat_map(|warning| wrap(warning, width, ["  ! ", "    "]))
            .map(|line| Line::new(Tone::Warning, &line.to_string())),
    );
    lines.extend(question.because.iter().flat_map(|b| reason(b, width)));
    if !question.asked.complete {
        let text = "not all of it can be shown, so agreeing is not offered";
        lines.extend(
            wrap(text, width, ["  ! ", "    "])
                .iter()
                .map(|line| Line::new(Tone::Warning, &line.to_string())),
        );
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
    push_visible(&mut line, Tone::Title, text);
    line
}

/// A policy and its reason. A project's text comes with the cloned repository: it is quoted, and
/// said to be the project's.
fn reason(because: &Because, width: usize) -> Vec<Line> {
    let text = match (because.layer, because.reason.is_empty()) {
        (_, true) => format!("asked by policy {}", because.policy),
        (Layer::Project, false) => format!(
            "asked by policy {}; the project says: \"{}\"",
            because.policy, because.reason
        ),
        (Layer::Builtin | Layer::Org | Layer::User, false) => {
            format!("asked by policy {}: {}", because.policy, because.reason)
        }
    };
    wrap(&text, width, ["  - ", "    "])
}

#[cfg(test)]
mod tests;
