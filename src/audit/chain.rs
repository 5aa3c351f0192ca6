//! Links events into a chain of lines, each with its code, and the notes that a writer leaves where the chain would
//! not hold by itself: a torn line that was closed off, a log that was removed, replaced or cut.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::digest::{Digest, Running};

use super::event::{Event, EventKind};
use super::json::write_line;
use super::keys::{KeyState, RecordKey, StartKey};
use super::record::{Head, VERSION};

/// A record on its way into the log.
#[derive(Serialize)]
struct Line<'a> {
    v: u64,
    seq: u64,
    prev: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Digest>,
    #[serde(flatten)]
    event: &'a Event,
}

/// What stands before and after the code of a record, which is the last member of its line.
const CODE: (&[u8], &[u8]) = (b",\"mac\":\"", b"\"}");

/// Adds one event to a buffer as the line after `head`, with its line end; gives the new head. The
/// keys go on by one record, so a failed write wants a copy of them from before.
pub(crate) fn link(
    buffer: &mut Vec<u8>,
    head: Head,
    event: &Event,
    keys: Option<&mut KeyState>,
) -> Result<Head, String> {
    let seq = head
        .seq
        .checked_add(1)
        .ok_or("the last record has the highest number there is")?;
    let state = match &keys {
        Some(keys) => {
            let state = KeyState::clone(keys).forward(head);
            Some(state.ok_or("the keys of the log are those of later records")?)
        }
        None => None,
    };
    let line = Line {
        v: VERSION,
        seq,
        prev: head.digest,
        key: state.as_ref().filter(|keys| keys.is_new()).map(|k| k.id),
        event,
    };
    let start = buffer.len();
    write_line(buffer, &line).map_err(|error| error.to_string())?;
    let digest = seal(buffer, start, state.as_ref().map(|keys| &keys.key));
    buffer.push(b'\n');
    let head = Head { seq, digest };
    if let (Some(keys), Some(state)) = (keys, state) {
        *keys = KeyState {
            head,
            rotated: false,
            key: state.key.next(),
            ..state
        };
    }
    Ok(head)
}

/// Puts the code into the line that starts at `start`; gives the digest of the whole line.
fn seal(buffer: &mut Vec<u8>, start: usize, key: Option<&RecordKey>) -> Digest {
    let mut digest = Running::default();
    let Some(key) = key else {
        digest.add(buffer.get(start..).unwrap_or_default());
        return digest.now();
    };
    // Without the closing brace, which comes after the code.
    buffer.pop();
    digest.add(buffer.get(start..).unwrap_or_default());
    let code = key.code(digest.now()).to_string();
    let body = buffer.len();
    buffer.extend_from_slice(CODE.0);
    buffer.extend_from_slice(code.as_bytes());
    buffer.extend_from_slice(CODE.1);
    digest.add(buffer.get(body..).unwrap_or_default());
    digest.now()
}

/// The digest that the code of a line was made of, and the code, when it has one.
pub(super) fn unseal(line: &[u8]) -> Option<(Digest, Digest)> {
    let rest = line.strip_suffix(CODE.1)?;
    let (rest, code) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
    let body = rest.strip_suffix(CODE.0)?;
    let code = std::str::from_utf8(code).ok()?.parse().ok()?;
    Some((Digest::of(body), code))
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
    /// Older files of the log were deleted, as the settings say.
    Pruned(Pruned),
    /// A checkpoint could not be put where it should be.
    CheckpointNotKept(String),
}

/// See [`Mend::Pruned`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pruned {
    /// The last record that is not kept.
    pub(crate) through: Head,
    /// The names of the files.
    pub(crate) files: Vec<String>,
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
    /// A line above that is not whole, which is closed off at the same time: its own note could not
    /// come first, as the keys of the numbers up to `after` are erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) torn: Option<TornLine>,
}

impl Mend {
    pub(crate) const TORN_LINE: &'static str = "torn-line-closed";
    pub(crate) const CONTINUED: &'static str = "log-continued";
    pub(crate) const SYNC_FAILED: &'static str = "sync-failed";
    const NOT_KEPT: &'static str = "checkpoint-not-kept";
    pub(crate) const PRUNED: &'static str = "log-pruned";
    /// The last record under some keys, which names the next ones.
    pub(crate) const KEYS_RENEWED: &'static str = "keys-renewed";
    /// Why a file goes on from another one that was full or old.
    pub(crate) const ROTATED: &'static str = "rotated";

    /// The last event under some keys, which names the next ones; `at` lends its time and run.
    pub(crate) fn keys_renewed(at: &Event, next: &StartKey) -> Event {
        Event {
            at_ms: at.at_ms,
            run: at.run.clone(),
            kind: EventKind::Note {
                name: Self::KEYS_RENEWED.to_owned(),
                details: json!({ "next": next.id() }),
            },
        }
    }

    /// Adds the note to a buffer; `at` lends its time and run. `head` is the line before.
    pub(crate) fn link(
        &self,
        buffer: &mut Vec<u8>,
        head: Head,
        at: &Event,
        keys: Option<&mut KeyState>,
    ) -> Result<Head, String> {
        let (name, details) = match self {
            Self::TornLine(torn) => (Self::TORN_LINE, to_value(torn)),
            Self::Continued(continued) => (Self::CONTINUED, to_value(continued)),
            Self::SyncFailed(cause) => (Self::SYNC_FAILED, json!({ "cause": cause })),
            Self::Pruned(pruned) => (Self::PRUNED, to_value(pruned)),
            Self::CheckpointNotKept(cause) => (Self::NOT_KEPT, json!({ "cause": cause })),
        };
        let head = match self {
            Self::Continued(continued) => Head {
                seq: continued.after.seq.max(head.seq),
                ..head
            },
            _ => head,
        };
        let event = Event {
            at_ms: at.at_ms,
            run: at.run.clone(),
            kind: EventKind::Note {
                name: name.to_owned(),
                details,
            },
        };
        link(buffer, head, &event, keys)
    }
}

fn to_value(details: &impl Serialize) -> Value {
    serde_json::to_value(details).unwrap_or_default()
}
