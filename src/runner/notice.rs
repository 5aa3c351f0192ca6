//! What is said about policy files, with its place in them.

use std::fmt;

use serde::Serialize;

/// Something to say about a policy file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyNotice {
    /// Whether the store that holds it cannot be used.
    pub fatal: bool,
    /// `file:line:column: what, and the way out`.
    pub text: String,
    /// Its parts, when it is about a place in a file.
    #[serde(flatten)]
    pub place: Option<NoticePlace>,
}

/// What a notice is about. Its texts are on one line each and steer no terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoticePlace {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The line's text; empty for the file as a whole.
    pub source: String,
    /// The policy's id, when it is known.
    pub policy: String,
    /// What is wrong.
    pub message: String,
    /// The way out; may be empty.
    pub hint: String,
}

impl fmt::Display for PolicyNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
