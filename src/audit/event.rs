//! The events that go on record, and the sink that writes them.
//! The chain that links records is in `chain`; the file is in `disk`.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::request::{Answer, Because};

use super::facts::Facts;

/// What kind of event a record holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
#[non_exhaustive]
pub enum EventKind {
    /// A decision, written before its effect.
    Decision {
        /// The Cedar action.
        action: String,
        /// Who asked, `agent/claude-code`.
        principal: String,
        /// On what, `user/files/read_text_file`.
        resource: String,
        /// The facts it was judged by; secrets masked, values of arguments masked.
        facts: Facts,
        /// `allow` or `deny`.
        outcome: OutcomeKind,
        /// The deciding policies.
        because: Vec<Because>,
        /// The answer that was used, when one was needed.
        answer: Answer,
        /// How it came in.
        channel: Option<String>,
        /// Whether it was given just now (`asked`) or found on file.
        asked: bool,
        /// Digest of the policy store that decided.
        store: Digest,
        /// How long judging took, in microseconds, without waiting for a person.
        judged_us: u64,
    },
    /// What became of an allowed effect.
    Outcome(Outcome),
    /// Something worth keeping that is no decision: start and stop of a run, a loss found in the
    /// log, a reload of policies, a server that died, a change of trust.
    Note {
        /// Kebab-case name, `gateway-started`, `run-stop`, `server-stopped`, `torn-line-closed`.
        name: String,
        /// Details; secrets masked.
        details: Value,
    },
}

/// `allow` or `deny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeKind {
    /// The effect may happen.
    Allow,
    /// It may not.
    Deny,
}

/// What became of an allowed effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The sequence number of the decision's record.
    pub of: u64,
    /// Whether the effect did what was asked.
    pub ok: bool,
    /// `done`, `tool-error`, `timed-out`, `server-died`, `cancelled`, `not-started`, …
    pub result: String,
    /// Details: sizes, exit codes, confinement; secrets masked.
    pub details: Value,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// One event, as a sink gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// The run of Creance that writes it (random, one a process).
    pub run: String,
    /// The event.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Proof that a record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The record's sequence number in its log.
    pub seq: u64,
}

/// The record could not be written: the effect does not happen.
#[derive(Debug)]
pub struct AuditError {
    /// What was tried, with the file.
    pub what: String,
    /// The cause.
    pub source: Option<std::io::Error>,
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(cause) => write!(f, "{}: {cause}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for AuditError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

/// Writes events. `append` returns when the record is written; it blocks for one write and may be
/// called from several threads.
pub trait AuditSink: Send + Sync + fmt::Debug {
    /// Writes one record.
    ///
    /// # Errors
    /// When the record could not be written whole; the caller then lets no effect happen.
    fn append(&self, event: &Event) -> Result<Receipt, AuditError>;

    /// Waits until everything that was written is where it is kept for good. Called when a run ends.
    ///
    /// # Errors
    /// When that failed.
    fn flush(&self) -> Result<(), AuditError> {
        Ok(())
    }
}
