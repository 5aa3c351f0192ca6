//! The writer: a tree to compact text. What was read is written the same, but for white space and
//! for escapes that were not needed.

use std::fmt::{self, Write as _};

use super::number::Number;
use super::read::plain_length;
use super::value::{Json, Object};

impl Json {
    /// Appends the compact text.
    pub(crate) fn write_to(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(number) => write_number(number, out),
            Self::String(text) => write_string(text, out),
            Self::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    separate(at, out);
                    element.write_to(out);
                }
                out.push(']');
            }
            Self::Object(object) => object.write_to(out),
        }
    }

    /// The text that two trees share if and only if they hold the same values: keys sorted, numbers
    /// of one value spelled one way. For digests, not for sending.
    pub(crate) fn canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    fn write_canonical(&self, out: &mut String) {
        match self {
            Self::Number(number) => out.push_str(&number.canonical_text()),
            Self::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    separate(at, out);
                    element.write_canonical(out);
                }
                out.push(']');
            }
            Self::Object(object) => {
                let mut members: Vec<_> = object.iter().collect();
                members.sort_unstable_by_key(|(key, _)| *key);
                out.push('{');
                for (at, (key, value)) in members.into_iter().enumerate() {
                    separate(at, out);
                    write_string(key, out);
                    out.push(':');
                    value.write_canonical(out);
                }
                out.push('}');
            }
            Self::Null | Self::Bool(_) | Self::String(_) => self.write_to(out),
        }
    }
}

impl Object {
    /// Appends the compact text.
    pub(crate) fn write_to(&self, out: &mut String) {
        out.push('{');
        for (at, (key, value)) in self.iter().enumerate() {
            separate(at, out);
            write_string(key, out);
            out.push(':');
            value.write_to(out);
        }
        out.push('}');
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write_to(&mut out);
        f.write_str(&out)
    }
}

fn separate(at: usize, out: &mut String) {
    if at > 0 {
        out.push(',');
    }
}

fn write_number(number: &Number, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{number}");
}

/// Appends a string in quotes.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    loop {
        let (plain, odd) = rest.split_at(plain_length(rest.as_bytes()));
        out.push_str(plain);
        let mut letters = odd.chars();
        let Some(letter) = letters.next() else { break };
        escape(letter, out);
        rest = letters.as_str();
    }
    out.push('"');
}

fn escape(letter: char, out: &mut String) {
    match letter {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        other => {
            let _ = write!(out, "\\u{:04x}", u32::from(other));
        }
    }
}
