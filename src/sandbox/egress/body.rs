//! Where a request's body ends. A body that two readers could end at two places is refused: that is
//! what request smuggling lives on.

use super::head::{Fields, Misfit, RequestHead, Version};

/// The framing of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// So many bytes are still to come.
    Length(u64),
    /// Chunks, to the last one.
    Chunked(Chunks),
}

impl Body {
    /// The framing that a head announces.
    pub(super) fn of(head: &RequestHead) -> Result<Self, Misfit> {
        let coded = head.fields.all("transfer-encoding").count();
        let length = length(&head.fields)?;
        if coded == 0 {
            return Ok(Self::Length(length.unwrap_or(0)));
        }
        if length.is_some() {
            return Err("both a length and a transfer coding are given");
        }
        if head.version == Version::One0 {
            return Err("HTTP/1.0 has no transfer coding");
        }
        let value = head.fields.one("transfer-encoding")?;
        if !value.is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return Err("the only transfer coding is `chunked`");
        }
        Ok(Self::Chunked(Chunks::default()))
    }

    /// Whether nothing is to come.
    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Length(rest) => *rest == 0,
            Self::Chunked(chunks) => chunks.state == State::Done,
        }
    }

    /// How many of these bytes belong to the body.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<usize, Misfit> {
        match self {
            Self::Length(rest) => {
                let here = bytes
                    .len()
                    .min(usize::try_from(*rest).unwrap_or(usize::MAX));
                *rest = rest.saturating_sub(here as u64);
                Ok(here)
            }
            Self::Chunked(chunks) => chunks.take(bytes),
        }
    }
}

/// A length: one field, digits only.
fn length(fields: &Fields) -> Result<Option<u64>, Misfit> {
    let Some(text) = fields.one("content-length")? else {
        return Ok(None);
    };
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(length) if digits && length <= i64::MAX as u64 => Ok(Some(length)),
        _ => Err("the length is no number"),
    }
}

/// Reads chunks without changing them: sizes in digits alone, no extensions, no trailers, each line
/// ended by CR LF.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chunks {
    state: State,
}

/// What comes next. The number is the size of the chunk so far, or what is left of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The first digit of a size.
    #[default]
    Start,
    /// More digits: the size so far and how many digits it has.
    Size(u64, u8),
    /// LF after a size.
    SizeEnd(u64),
    /// Bytes of the chunk.
    Data(u64),
    /// CR after the bytes.
    DataCr,
    /// LF after the bytes.
    DataLf,
    /// CR of the last, empty line.
    LastCr,
    /// LF of the last line.
    LastLf,
    /// Nothing.
    Done,
}

impl Chunks {
    fn take(&mut self, bytes: &[u8]) -> Result<usize, Misfit> {
        let mut rest = bytes;
        while self.state != State::Done {
            let Some(byte) = rest.first() else { break };
            let (state, used) = match self.state {
                State::Data(left) => within(left, rest.len()),
                state => (state.after(*byte)?, 1),
            };
            self.state = state;
            rest = rest.get(used..).unwrap_or_default();
        }
        Ok(bytes.len() - rest.len())
    }
}

/// Inside a chunk of which `left` bytes are to come, with so many bytes at hand: what comes next, and
/// how many of them were used.
fn within(left: u64, at_hand: usize) -> (State, usize) {
    let used = at_hand.min(usize::try_from(left).unwrap_or(usize::MAX));
    match left.saturating_sub(used as u64) {
        0 => (State::DataCr, used),
        left => (State::Data(left), used),
    }
}

impl State {
    fn after(self, byte: u8) -> Result<Self, Misfit> {
        match (self, byte) {
            (Self::Start, _) => digit(byte).map(|digit| Self::Size(digit, 1)),
            (Self::Size(size, _), b'\r') => Ok(Self::SizeEnd(size)),
            (Self::Size(size, count @ ..15), _) => {
                digit(byte).map(|digit| Self::Size(size << 4 | digit, count + 1))
            }
            (Self::SizeEnd(0), b'\n') => Ok(Self::LastCr),
            (Self::SizeEnd(size), b'\n') => Ok(Self::Data(size)),
            (Self::DataCr, b'\r') => Ok(Self::DataLf),
            (Self::DataLf, b'\n') => Ok(Self::Start),
            (Self::LastCr, b'\r') => Ok(Self::LastLf),
            (Self::LastLf, b'\n') => Ok(Self::Done),
            (Self::LastCr, _) => Err("a chunked body has trailers"),
            _ => Err("a chunked body is not well formed"),
        }
    }
}

fn digit(byte: u8) -> Result<u64, Misfit> {
    char::from(byte)
        .to_digit(16)
        .map(u64::from)
        .ok_or("a chunk size is digits alone, without extensions")
}
