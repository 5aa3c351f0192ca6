//! Decisions in a table: a word, its colour, and the numbers of the policies behind it, which are
//! told once, below the table.

use creance::{Answer, Because, Line, PolicyOutcome, Tone};

use crate::cli::paint::row_lines;

/// What is decided, in a word or two: a longest answer that is enough is part of it.
pub(super) fn word(outcome: PolicyOutcome) -> String {
    match outcome {
        PolicyOutcome::Allow => "allow".to_owned(),
        PolicyOutcome::Deny => "deny".to_owned(),
        PolicyOutcome::Ask(longest) => format!("ask ({})", longest.word()),
    }
}

/// The same with all answers that are enough.
pub(super) fn words(outcome: PolicyOutcome) -> String {
    let PolicyOutcome::Ask(longest) = outcome else {
        return word(outcome);
    };
    let accepted: Vec<&str> = Answer::LADDER
        .into_iter()
        .filter(|answer| *answer >= longest)
        .map(Answer::word)
        .collect();
    format!("ask ({})", accepted.join(", "))
}

/// How it is shown.
pub(super) fn tone(outcome: PolicyOutcome) -> Tone {
    match outcome {
        PolicyOutcome::Allow => Tone::Plain,
        PolicyOutcome::Ask(_) => Tone::Warning,
        PolicyOutcome::Deny => Tone::Refused,
    }
}

/// Policies by the number that they have in this table, in the order in which they appear.
#[derive(Debug, Default)]
pub(super) struct Policies(Vec<(String, String)>);

impl Policies {
    /// Their numbers.
    pub(super) fn numbers(&mut self, because: &[Because]) -> String {
        let mut numbers: Vec<usize> = Vec::new();
        for one in because {
            let number = self.number(&one.policy, &one.reason);
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        let texts: Vec<String> = numbers.iter().map(usize::to_string).collect();
        texts.join(" ")
    }

    /// The number of one policy, or of what else decides.
    pub(super) fn number(&mut self, policy: &str, reason: &str) -> usize {
        let known = (self.0.iter()).position(|one| one.0 == policy && one.1 == reason);
        known.map_or_else(
            || {
                self.0.push((policy.to_owned(), reason.to_owned()));
                self.0.len()
            },
            |at| at + 1,
        )
    }

    /// What the numbers stand for.
    pub(super) fn lines(&self, width: usize) -> Vec<Line> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let columns = [0, 2, width.saturating_sub(6)];
        let mut lines = vec![Line::default(), Line::new(Tone::Title, "decided by")];
        for (at, (policy, reason)) in self.0.iter().enumerate() {
            lines.extend(row(
                [
                    (Tone::Plain, ""),
                    (Tone::Label, &(at + 1).to_string()),
                    (Tone::Label, policy),
                ],
                &columns,
            ));
            let reason = [(Tone::Plain, ""), (Tone::Plain, ""), (Tone::Plain, reason)];
            lines.extend(row(reason, &columns));
        }
        lines
    }
}

/// A row of cells that may hold any text.
pub(super) fn row<const N: usize>(cells: [(Tone, &str); N], columns: &[usize]) -> Vec<Line> {
    let cells = cells.map(|(tone, text)| (tone, text.to_owned()));
    row_lines(&cells, columns)
}

/// A text below a title, wrapped.
pub(super) fn text(tone: Tone, text: &str, width: usize) -> Vec<Line> {
    row([(tone, text)], &[width])
}
