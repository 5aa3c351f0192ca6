//! One record as it stands in the log, and the head of a log: what its last line is known by.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;

use super::event::{Event, OutcomeKind};

/// The version of the record format, `audit-record/1`.
pub(crate) const VERSION: u64 = 1;

/// The longest line that is written, in bytes: a bound for readers and for the closing of a torn
/// line.
pub(crate) const LINE_MAX: usize = 4 * 1024 * 1024;

/// One record of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of the format.
    pub v: u64,
    /// Its number: 1, 2, 3, … Order comes from here, never from the clock.
    pub seq: u64,
    /// SHA-256 of the line before, without its line end; of no bytes for the first line.
    pub prev: Digest,
    /// Of the first record under new keys: what they are known by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Digest>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
    /// The code made of the line before it with this record's own key, which is erased; none in
    /// logs of versions before 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<Digest>,
}

/// What a log's last line is known by. Note it elsewhere to find out later that the end of the log
/// was cut off or rewritten: the chain alone cannot tell that. Displays and parses as `57:9f86…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The number of the last record; 0 in an empty log.
    pub seq: u64,
    /// SHA-256 of its line, without the line end.
    pub digest: Digest,
}

impl Head {
    /// The head of an empty log.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            seq: 0,
            digest: Digest::of(""),
        }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.digest)
    }
}

/// The text is no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadError;

impl fmt::Display for HeadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a head is a number, a colon and 64 hexadecimal digits")
    }
}

impl std::error::Error for HeadError {}

impl FromStr for Head {
    type Err = HeadError;

    fn from_str(text: &str) -> Result<Self, HeadError> {
        let (seq, digest) = text.split_once(':').ok_or(HeadError)?;
        Ok(Self {
            seq: seq.parse().map_err(|_| HeadError)?,
            digest: digest.parse().map_err(|_| HeadError)?,
        })
    }
}

/// What the check and the writer need of a line. Fields and kinds of events that a later version
/// adds are let through; what is here must be there once and well-formed.
#[derive(Debug, Deserialize)]
pub(crate) struct Envelope {
    pub(crate) v: u64,
    pub(crate) seq: u64,
    pub(crate) prev: Digest,
    pub(crate) at_ms: i64,
    pub(crate) run: String,
    pub(crate) event: String,
    #[serde(default)]
    pub(crate) key: Option<Digest>,
    #[serde(default)]
    pub(crate) outcome: Option<OutcomeKind>,
    #[serde(default)]
    pub(crate) action: Option<String>,
    #[serde(default)]
    pub(crate) of: Option<u64>,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) details: Option<Value>,
}

impl Envelope {
    /// Reads a line (without its line end), or says why it is no record.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        let envelope: Self = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if envelope.v != VERSION {
            return Err(format!(
                "record format {} is not known here (this version reads {VERSION})",
                envelope.v
            ));
        }
        Ok(envelope)
    }

    /// The details of a note with this name.
    pub(crate) fn note(&self, name: &str) -> Option<&Value> {
        (self.event == "note" && self.name.as_deref() == Some(name))
            .then_some(self.details.as_ref())
            .flatten()
    }
}
