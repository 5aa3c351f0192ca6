//! Policy texts as they come in, and what can be wrong with them.

use std::fmt;

use crate::request::Layer;

/// One policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySource {
    /// Its layer.
    pub layer: Layer,
    /// Its name in messages; the last part without `.cedar` stands in the policies' ids.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// Something wrong with a policy file. A fatal one keeps the whole set from being used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyProblem {
    /// Whether the set is unusable.
    pub fatal: bool,
    /// The layer of the file.
    pub layer: Layer,
    /// The file.
    pub file: String,
    /// The line, from 1; 0 when the problem has no place.
    pub line: usize,
    /// The column, from 1; 0 when the problem has no place.
    pub column: usize,
    /// The policy's id, when it is known.
    pub policy: String,
    /// What is wrong, in one line.
    pub message: String,
    /// The way out; may be empty.
    pub hint: String,
}

impl PolicyProblem {
    /// A fatal problem of a file as a whole.
    pub(super) fn of_file(source: &PolicySource, message: impl Into<String>) -> Self {
        Self {
            fatal: true,
            layer: source.layer,
            file: source.file.clone(),
            line: 0,
            column: 0,
            policy: String::new(),
            message: message.into(),
            hint: String::new(),
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    pub(super) fn at(mut self, place: Place) -> Self {
        self.line = place.line;
        self.column = place.column;
        self
    }

    pub(super) fn policy(mut self, id: &str) -> Self {
        id.clone_into(&mut self.policy);
        self
    }

    pub(super) fn warning(mut self) -> Self {
        self.fatal = false;
        self
    }
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.file))?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        f.write_str(": ")?;
        if !self.fatal {
            f.write_str("warning: ")?;
        }
        if !self.policy.is_empty() {
            write!(f, "{}: ", self.policy)?;
        }
        f.write_str(&one_line(&self.message))?;
        if !self.hint.is_empty() {
            write!(f, " ({})", one_line(&self.hint))?;
        }
        Ok(())
    }
}

impl std::error::Error for PolicyProblem {}

/// A place in a text, line and column counted from 1 in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// A text as one line that no terminal takes for anything but text: white space collapsed, control
/// and direction characters replaced.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    line.replace(crate::clean::steers, "\u{fffd}")
}

/// Where the lines of a text begin.
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let after_each = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(after_each).collect(),
        }
    }

    /// The place of a byte offset.
    pub(super) fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        Place {
            line,
            column: before.chars().count() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_is_only_text() {
        for (text, want) in [
            ("a\n  b\tc", "a b c"),
            ("\u{1b}[31mred", "\u{fffd}[31mred"),
            ("a\u{202e}b\u{2028}c", "a\u{fffd}b c"),
        ] {
            assert_eq!(one_line(text), want);
        }
    }

    #[test]
    fn places_count_lines_and_characters() {
        let text = "ab\né x\n\nend";
        let lines = Lines::of(text);
        let check = |what: &str, want: (usize, usize)| {
            let place = lines.place(text.find(what).unwrap());
            assert_eq!((place.line, place.column), want, "{what}");
        };
        check("ab", (1, 1));
        check("b", (1, 2));
        check("x", (2, 3));
        check("end", (4, 1));
        let end = lines.place(text.len());
        assert_eq!((end.line, end.column), (4, 4));
    }
}
