//! What can be known of a message that cannot be read: its id, so that the call which waits for it
//! can be failed at once. Nothing that is found here is ever judged, sent on or believed.

use crate::protocol::json::{Json, read};

use super::id::Id;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Salvaged {
    /// The id, if exactly one stands at the top level.
    pub(crate) id: Option<Id>,
    /// Whether a member `method` stands at the top level.
    pub(crate) calls: bool,
    /// Whether a member `result` or `error` stands at the top level.
    pub(crate) answers: bool,
}

/// Looks through the top level of a broken, too deep, too long or cut-off object.
pub(crate) fn salvage(bytes: &[u8]) -> Salvaged {
    let mut found = Salvaged::default();
    let mut ids = 0_usize;
    let mut depth = 0_usize;
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let (text, after) = rest.split_at(string_length(rest));
                rest = after.get(1..).unwrap_or_default();
                if depth == 1
                    && let Some(value) = after_colon(rest)
                {
                    ids += usize::from(text == b"id");
                    note(text, value, &mut found);
                }
            }
            _ => {}
        }
    }
    if ids != 1 {
        found.id = None;
    }
    found
}

fn note(key: &[u8], value: &[u8], found: &mut Salvaged) {
    match key {
        b"id" => found.id = short_value(value),
        b"method" => found.calls = true,
        b"result" | b"error" => found.answers = true,
        _ => {}
    }
}

/// The length of a string's text, up to its closing quote or the end.
fn string_length(bytes: &[u8]) -> usize {
    let mut escaped = false;
    let end = bytes.iter().position(|&byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    });
    end.unwrap_or(bytes.len())
}

fn after_colon(bytes: &[u8]) -> Option<&[u8]> {
    bytes.trim_ascii_start().strip_prefix(b":")
}

/// A string or number of at most 256 bytes.
fn short_value(bytes: &[u8]) -> Option<Id> {
    let bytes = bytes.trim_ascii_start();
    let head = bytes.get(..256).unwrap_or(bytes);
    let end = match head.strip_prefix(b"\"") {
        Some(text) => string_length(text) + 2,
        None => head
            .iter()
            .position(|b| !b.is_ascii_digit() && *b != b'-')?,
    };
    let json: Json = read(head.get(..end)?).ok()?.json;
    Id::from_json(&json)
}
