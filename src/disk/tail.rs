//! Finds the end of a log: its last whole record, and what stands after it that is none.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::audit::{Envelope, Head, LINE_MAX};
use crate::digest::Digest;

/// The end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    /// The last whole record.
    pub(super) record: Head,
    /// The time of that record, when it was read from the file.
    pub(super) at_ms: Option<i64>,
    /// Digest of the last line, whether it is a record or not.
    pub(super) last_line: Digest,
    /// How many bytes after the last record are no record, without a last line end.
    pub(super) lost_bytes: u64,
    /// Whether the last line has its line end.
    pub(super) ended: bool,
}

impl Tail {
    pub(super) fn of(record: Head) -> Self {
        Self {
            record,
            at_ms: None,
            last_line: record.digest,
            lost_bytes: 0,
            ended: true,
        }
    }

    /// Whether nothing stands after the last record.
    pub(super) fn is_clean(&self) -> bool {
        self.lost_bytes == 0 && self.ended
    }
}

/// How far back a record is looked for. Crashes leave one torn line, or a tail of NUL bytes.
const BACK_MAX: u64 = 16 * LINE_MAX as u64;
const STEP: u64 = 64 * 1024;

/// Reads the end of a log of `length` bytes; `None` when there is no record to go on from.
pub(super) fn read_tail(file: &File, length: u64) -> io::Result<Option<Tail>> {
    if length == 0 {
        return Ok(Some(Tail::of(Head::empty())));
    }
    let mut step = STEP;
    loop {
        let from = length.saturating_sub(step);
        let bytes = read_from(file, from, length - from)?;
        let lines = if from == 0 {
            Some(bytes.as_slice())
        } else {
            // The first line of the piece is cut.
            bytes
                .iter()
                .position(|b| *b == b'\n')
                .and_then(|at| bytes.get(at + 1..))
        };
        if let Some(tail) = lines.and_then(tail_of) {
            return Ok(Some(tail));
        }
        if from == 0 {
            return Ok(first_line_torn(&bytes));
        }
        if step >= BACK_MAX {
            return Ok(None);
        }
        step *= 4;
    }
}

fn read_from(mut file: &File, from: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn tail_of(bytes: &[u8]) -> Option<Tail> {
    let (body, ended) = match bytes.strip_suffix(b"\n") {
        Some(body) => (body, true),
        None => (bytes, false),
    };
    let mut lost_bytes: u64 = 0;
    let mut last_line = None;
    for line in body.rsplit(|b| *b == b'\n') {
        let digest = Digest::of(line);
        let last_line = *last_line.get_or_insert(digest);
        if let Some((seq, at_ms)) = seq(line) {
            return Some(Tail {
                record: Head { seq, digest },
                at_ms,
                last_line,
                // Line ends count between lines only.
                lost_bytes: lost_bytes.saturating_sub(1),
                ended,
            });
        }
        lost_bytes += line.len() as u64 + 1;
    }
    None
}

/// The number and time of a record; also of one in a format that is only near to ours, so that a log is
/// gone on with rather than given up.
fn seq(line: &[u8]) -> Option<(u64, Option<i64>)> {
    #[derive(serde::Deserialize)]
    struct Numbered {
        seq: u64,
    }
    match Envelope::parse(line) {
        Ok(envelope) => Some((envelope.seq, Some(envelope.at_ms))),
        Err(_) => serde_json::from_slice(line)
            .ok()
            .map(|Numbered { seq }| (seq, None)),
    }
}

/// A log whose very first write was torn: a piece of a first record, or the NUL bytes that a power
/// cut leaves. Anything else is somebody else's file.
fn first_line_torn(bytes: &[u8]) -> Option<Tail> {
    const START: &[u8] = br#"{"v":1,"seq":1,"prev":""#;
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let torn =
        body.iter().zip(START).all(|(found, want)| found == want) || body.iter().all(|b| *b == 0);
    (torn && !body.contains(&b'\n')).then(|| Tail {
        record: Head::empty(),
        at_ms: None,
        last_line: Digest::of(body),
        lost_bytes: body.len() as u64,
        ended: body.len() != bytes.len(),
    })
}
