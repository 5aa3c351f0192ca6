//! A JSON number as it was written. `1`, `1.0`, `1e400` and a forty-digit integer all stay what
//! they are; whole numbers that fit a machine word are kept without a copy of their text.

use std::borrow::Cow;
use std::fmt;

/// A number, exact.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Number(Repr);

// INVARIANT: `Whole` holds every number whose text is the canonical decimal text of an `i64`, and
// `Text` all others, so that equality of representations is equality of texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Repr {
    Whole(i64),
    Text(Box<str>),
}

impl Number {
    /// The number that a text denotes, when the text is one JSON number and nothing else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let length = scan(text.as_bytes()).ok()?;
        (length == text.len()).then(|| Self::from_scanned(text))
    }

    /// The number of a text that [`scan`] accepted as a whole.
    pub(super) fn from_scanned(text: &str) -> Self {
        match canonical(text) {
            Some(whole) => Self(Repr::Whole(whole)),
            None => Self(Repr::Text(text.into())),
        }
    }

    /// Its text, exactly as it was written.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Whole(whole) => Cow::Owned(whole.to_string()),
            Repr::Text(text) => Cow::Borrowed(text),
        }
    }

    /// The machine word that it is, when it is written as one.
    pub(crate) fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Whole(whole) => Some(whole),
            Repr::Text(_) => None,
        }
    }

    /// Whether it is written as a whole number: digits only, with or without a sign.
    pub(crate) fn is_whole(&self) -> bool {
        match &self.0 {
            Repr::Whole(_) => true,
            Repr::Text(text) => !text.contains(['.', 'e', 'E']),
        }
    }

    /// One text for all spellings of the same value, for digests.
    pub(crate) fn canonical_text(&self) -> String {
        let (negative, digits, exponent) = decimal(&self.text());
        let sign = if negative { "-" } else { "" };
        if exponent == "0" {
            return format!("{sign}{digits}");
        }
        format!("{sign}{digits}e{exponent}")
    }
}

impl From<i64> for Number {
    fn from(whole: i64) -> Self {
        Self(Repr::Whole(whole))
    }
}

impl From<u64> for Number {
    fn from(whole: u64) -> Self {
        i64::try_from(whole).map_or_else(
            |_| Self(Repr::Text(whole.to_string().into())),
            |whole| Self(Repr::Whole(whole)),
        )
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Whole(whole) => write!(f, "{whole}"),
            Repr::Text(text) => f.write_str(text),
        }
    }
}

/// The length of the number at the start of some bytes, or where and why there is none.
pub(super) fn scan(bytes: &[u8]) -> Result<usize, (usize, &'static str)> {
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    match bytes.get(at) {
        Some(b'0') => at += 1,
        Some(b'1'..=b'9') => at = digits(bytes, at),
        _ => return Err((at, "a number needs a digit here")),
    }
    if matches!(bytes.get(at), Some(b'0'..=b'9')) {
        return Err((at, "a number must not start with a zero"));
    }
    if bytes.get(at) == Some(&b'.') {
        let end = digits(bytes, at + 1);
        if end == at + 1 {
            return Err((end, "a number needs a digit after its point"));
        }
        at = end;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let start = at + 1 + sign;
        let end = digits(bytes, start);
        if end == start {
            return Err((end, "a number needs a digit in its exponent"));
        }
        at = end;
    }
    Ok(at)
}

fn digits(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// The `i64` whose decimal text this is, letter by letter.
fn canonical(text: &str) -> Option<i64> {
    // Nineteen digits may overflow: `parse` checks that. "-0" is the one accepted text that the
    // word would print differently.
    if text.len() > 20 || text == "-0" {
        return None;
    }
    text.parse().ok()
}

/// Sign, digits without outer zeros, and the power of ten they are multiplied by, as text.
pub(super) fn decimal(text: &str) -> (bool, String, String) {
    let negative = text.starts_with('-');
    let body = text.trim_start_matches('-');
    let (mantissa, exponent) = body.split_once(['e', 'E']).unwrap_or((body, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let kept = all.trim_start_matches('0');
    let trimmed = kept.trim_end_matches('0');
    if trimmed.is_empty() {
        return (negative, "0".to_owned(), "0".to_owned());
    }
    let shift = i128::try_from(kept.len() - trimmed.len()).unwrap_or(0)
        - i128::try_from(fraction.len()).unwrap_or(0);
    let exponent = exponent.trim_start_matches('+');
    let sum = exponent
        .parse::<i128>()
        .ok()
        .and_then(|e| e.checked_add(shift));
    // Exponents that no word holds stay apart by their texts.
    let power = sum.map_or_else(|| format!("{exponent}+{shift}"), |sum| sum.to_string());
    (negative, trimmed.to_owned(), power)
}
