//! What is wrong with a configuration: where, which field, why, and the way out. Never a value.

use std::fmt;
use std::path::Path;

use crate::clean;
use crate::request::ServerId;

/// A place in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin {
    /// The file.
    pub(crate) file: Box<Path>,
    /// The line, from 1; 0 when the whole file is meant.
    pub(crate) line: usize,
    /// The column in characters, from 1.
    pub(crate) column: usize,
}

impl Origin {
    /// The whole file.
    pub(crate) fn of_file(file: impl Into<Box<Path>>) -> Self {
        Self {
            file: file.into(),
            line: 0,
            column: 0,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&clean::line(&self.file.to_string_lossy(), PATH_MAX))?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        Ok(())
    }
}

/// One fault of a configuration. It costs the server it names, or the setting, or the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigProblem {
    /// Where.
    pub(crate) origin: Origin,
    /// The server that it costs; `None` when it is about a setting or the whole file.
    pub(crate) server: Option<Box<ServerId>>,
    /// The field, `mcpServers.b.env.KEY`; empty when the whole file is meant. Cleaned.
    pub(crate) field: String,
    /// Why, in a few words that follow the field: `needs NOT_SET`.
    pub(crate) reason: String,
    /// The way out; may be empty.
    pub(crate) help: Box<str>,
    /// The variable that is not set, when that is all: the entry itself is right.
    pub(crate) missing: Option<Box<str>>,
}

impl ConfigProblem {
    /// A problem of a whole file.
    pub(crate) fn of_file(file: impl Into<Box<Path>>, reason: impl Into<String>) -> Self {
        Self {
            origin: Origin::of_file(file),
            server: None,
            field: String::new(),
            reason: reason.into(),
            help: Box::default(),
            missing: None,
        }
    }

    /// The same with a way out.
    pub(crate) fn with_help(mut self, help: impl Into<Box<str>>) -> Self {
        self.help = help.into();
        self
    }

    /// Field and reason without the place: `mcpServers.b.env.KEY needs NOT_SET`.
    pub(crate) fn what(&self) -> String {
        if self.field.is_empty() {
            return self.reason.clone();
        }
        format!("{} {}", self.field, self.reason)
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.what())?;
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigProblem {}

/// Longest name in a message.
pub(crate) const NAME_MAX: usize = 100;
/// Longest path in a message (`PATH_MAX` of Linux).
const PATH_MAX: usize = 4096;

/// The known key that a mistyped one most likely means.
pub(crate) fn nearest<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    // A key of a hostile file may be a megabyte long.
    if key.len() > NAME_MAX {
        return None;
    }
    let folded = key.to_lowercase().replace(['_', '-'], "");
    let best = known
        .iter()
        .map(|&name| {
            let other = name.to_lowercase();
            let prefix =
                folded.len() >= 3 && (other.starts_with(&folded) || folded.starts_with(&other));
            let far = if prefix { 1 } else { distance(&folded, &other) };
            (far, name)
        })
        .min()?;
    let (far, name) = best;
    (far <= 1 + folded.chars().count() / 4).then_some(name)
}

/// Edits (insert, delete, replace) between two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], k: usize| row.get(k).copied().unwrap_or(usize::MAX - 1);
            let replaced = at(&row, j) + usize::from(x != *y);
            next.push(replaced.min(at(&row, j + 1) + 1).min(at(&next, j) + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_found() {
        let known = [
            "command",
            "args",
            "env",
            "network",
            "writePaths",
            "timeoutMs",
        ];
        for (key, want) in [
            ("comand", Some("command")),
            ("Command", Some("command")),
            ("timeout", Some("timeoutMs")),
            ("write_paths", Some("writePaths")),
            ("arg", Some("args")),
            ("headers", None),
            ("x", None),
        ] {
            assert_eq!(nearest(key, &known), want, "{key}");
        }
        assert_eq!(nearest(&"a".repeat(1 << 20), &known), None);
    }
}
