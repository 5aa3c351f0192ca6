//! Terminal sequences (ECMA-48, 7-bit and 8-bit forms), removed as sequences. A sequence that does
//! not end loses its introducer only, so that it cannot swallow the text behind it.

use std::borrow::Cow;

const ESC: char = '\u{1b}';

/// The longest payload of a control string, in bytes.
const STRING_MAX: usize = 4096;

/// The text without terminal sequences and without any escape character.
pub(super) fn strip(text: &str) -> Cow<'_, str> {
    if !text.contains(is_introducer) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut strings = Strings { text, stop: None };
    let mut rest = text;
    while let Some((before, from)) = rest
        .find(is_introducer)
        .and_then(|at| rest.split_at_checked(at))
    {
        out.push_str(before);
        rest = strings.behind(from);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn is_introducer(c: char) -> bool {
    matches!(
        c,
        ESC | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}' | '\u{9e}' | '\u{9f}'
    )
}

/// What ends a control string, well or badly.
fn is_stop(c: char) -> bool {
    matches!(c, '\u{7}' | '\u{9c}' | ESC | '\u{18}' | '\u{1a}' | '\n')
}

/// Finds the ends of control strings. It remembers the next stop, so that many introducers in
/// front of one far end cost one search and not one each.
struct Strings<'a> {
    text: &'a str,
    stop: Option<usize>,
}

impl<'a> Strings<'a> {
    /// What stands behind the sequence at the start of `from`.
    fn behind(&mut self, from: &'a str) -> &'a str {
        let mut chars = from.chars();
        let first = chars.next();
        let behind_first = chars.as_str();
        let kind = match first {
            Some('\u{90}') => Some('P'),
            Some('\u{98}') => Some('X'),
            Some('\u{9b}') => Some('['),
            Some('\u{9d}') => Some(']'),
            Some('\u{9e}') => Some('^'),
            Some('\u{9f}') => Some('_'),
            _ => chars.next(),
        };
        let body = chars.as_str();
        match kind {
            Some('[') => control_sequence(body).unwrap_or(body),
            Some(']' | 'P' | 'X' | '^' | '_') => self.string(body).unwrap_or(body),
            Some(' '..='/') => escape_sequence(behind_first).unwrap_or(behind_first),
            Some('0'..='~') => body,
            _ => behind_first,
        }
    }

    /// What stands behind the control string whose payload starts at `body`.
    fn string(&mut self, body: &'a str) -> Option<&'a str> {
        let start = self.text.len() - body.len();
        let stop = match self.stop {
            Some(stop) if stop >= start => stop,
            _ => start + body.find(is_stop).unwrap_or(body.len()),
        };
        self.stop = Some(stop);
        if stop - start > STRING_MAX {
            return None;
        }
        let mut end = body.get(stop - start..)?.chars();
        match end.next()? {
            '\n' => None,
            ESC => end.as_str().strip_prefix('\\'),
            _ => Some(end.as_str()),
        }
    }
}

/// Parameters, intermediates, one final character.
fn control_sequence(body: &str) -> Option<&str> {
    body.trim_start_matches(|c| matches!(c, '0'..='?'))
        .trim_start_matches(|c| matches!(c, ' '..='/'))
        .strip_prefix(|c| matches!(c, '@'..='~'))
}

/// Intermediates and one final character: character sets, alignment test.
fn escape_sequence(body: &str) -> Option<&str> {
    body.trim_start_matches(|c| matches!(c, ' '..='/'))
        .strip_prefix(|c| matches!(c, '0'..='~'))
}
