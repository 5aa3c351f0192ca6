//! Links events into a chain of lines, and the notes that a writer leaves where the chain would
//! not hold by itself: a torn line that was closed off, a log that was removed, replaced or cut.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::digest::Digest;

use super::event::{Event, EventKind};
use super::json::write_line;
use super::record::{Head, VERSION};

/// A record on its way into the log.
#[derive(Serialize)]
struct Line<'a> {
    v: u64,
    seq: u64,
    prev: Digest,
    #[serde(flatten)]
    event: &'a Event,
}

/// Adds one event to a buffer as the line after `head`, with its line end; gives the new head.
pub(crate) fn link(buffer: &mut Vec<u8>, head: Head, event: &Event) -> Result<Head, String> {
    let seq = head
        .seq
        .checked_add(1)
        .ok_or("the last record has the highest number there is")?;
    let line = Line {
        v: VERSION,
        seq,
        prev: head.digest,
        event,
    };
    let start = buffer.len();
    write_line(buffer, &line).map_err(|error| error.to_string())?;
    let digest = Digest::of(buffer.get(start..).unwrap_or_default());
    buffer.push(b'\n');
    Ok(Head { seq, digest })
}

/// A note of a loss that a writer found, and what the check needs to believe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mend {
    /// What followed `after` was no whole record and was closed off.
    TornLine(TornLine),
    /// The file no longer held what this writer knew.
    Continued(Continued),
    /// Records before this one may not have reached the disk.
    SyncFailed(String),
}

/// See [`Mend::TornLine`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TornLine {
    /// How many bytes are no record, without the last line end.
    pub(crate) lost_bytes: u64,
    /// The last whole record before them: without this a change of that record would go unseen.
    pub(crate) after: Head,
}

/// See [`Mend::Continued`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Continued {
    /// The last record that this writer knew.
    pub(crate) after: Head,
    /// What was found.
    pub(crate) why: String,
}

impl Mend {
    pub(crate) const TORN_LINE: &'static str = "torn-line-closed";
    pub(crate) const CONTINUED: &'static str = "log-continued";
    pub(crate) const SYNC_FAILED: &'static str = "sync-failed";

    /// Adds the note to a buffer; `at` lends its time and run. `head` is the line before.
    pub(crate) fn link(
        &self,
        buffer: &mut Vec<u8>,
        head: Head,
        at: &Event,
    ) -> Result<Head, String> {
        let (name, details) = match self {
            Self::TornLine(torn) => (Self::TORN_LINE, to_value(torn)),
            Self::Continued(continued) => (Self::CONTINUED, to_value(continued)),
            Self::SyncFailed(cause) => (Self::SYNC_FAILED, json!({ "cause": cause })),
        };
        let head = match self {
            Self::Continued(continued) => Head {
                seq: continued.after.seq.max(head.seq),
                ..head
            },
            Self::TornLine(_) | Self::SyncFailed(_) => head,
        };
        let event = Event {
            at_ms: at.at_ms,
            run: at.run.clone(),
            kind: EventKind::Note {
                name: name.to_owned(),
                details,
            },
        };
        link(buffer, head, &event)
    }
}

fn to_value(details: &impl Serialize) -> Value {
    serde_json::to_value(details).unwrap_or_default()
}
