//! One value as one line of JSON in which nothing hides: line ends of every kind, control
//! characters and characters that turn or hide text are escaped, so a value cannot forge a line.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::clean::steers;

/// Compact JSON whose strings are escaped as [`steers`] says. The escapes are JSON's own, so a
/// reader gets the text back as it was.
struct OneLine;

impl Formatter for OneLine {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        if fragment.bytes().all(|byte| byte < 0x7f) {
            return writer.write_all(fragment.as_bytes());
        }
        for piece in fragment.split_inclusive(steers) {
            let Some(last) = piece.chars().next_back().filter(|c| steers(*c)) else {
                writer.write_all(piece.as_bytes())?;
                continue;
            };
            let plain = piece.strip_suffix(last).unwrap_or_default();
            writer.write_all(plain.as_bytes())?;
            for unit in last.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

/// Adds a value to a buffer as one line of JSON, without a line end.
pub(crate) fn write_line(
    buffer: &mut Vec<u8>,
    value: &impl Serialize,
) -> Result<(), serde_json::Error> {
    value.serialize(&mut Serializer::with_formatter(buffer, OneLine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_and_read_back() {
        let check = |text: &str, want: &str| {
            let mut line = Vec::new();
            write_line(&mut line, &text).unwrap();
            let line = String::from_utf8(line).unwrap();
            assert_eq!(line, want);
            assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
        };
        check("plain é 漢 🦅", "\"plain é 漢 🦅\"");
        check("a\nb\r\u{0}\u{1b}\"", r#""a\nb\r\u0000\u001b\"""#);
        check("\u{7f}\u{85}\u{9b}x", r#""\u007f\u0085\u009bx""#);
        check("a\u{2028}b\u{2029}\u{202e}", r#""a\u2028b\u2029\u202e""#);
        check("\u{e0041}", r#""\udb40\udc41""#);
    }
}
