//! What became of one attempt, as whoever tried it says.

use serde::{Deserialize, Serialize};

/// What an attempt got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Got {
    /// It got through.
    Through,
    /// It was stopped.
    Stopped,
    /// It was sent off without an error: only the host can see whether it arrived.
    Sent,
    /// It could not be tried on this machine.
    Skipped,
}

/// One attempt's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The row of the table.
    pub(crate) id: String,
    /// What it got.
    pub(crate) got: Got,
    /// The error that stopped it, or why it was not tried.
    pub(crate) detail: String,
}

impl Answer {
    /// An answer.
    pub(crate) fn new(id: &str, got: Got, detail: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            got,
            detail: detail.into(),
        }
    }
}
