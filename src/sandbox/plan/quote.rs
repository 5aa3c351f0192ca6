//! Texts of strangers inside a Seatbelt profile: a name is a name there, whatever is in it.

use std::fmt;

/// A text with its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quoted(String);

impl fmt::Display for Quoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text as a string literal. The backslash comes first by going over the text once: escaped one
/// after the other, `"` would become `\\"`, which ends the string.
pub(super) fn quoted(text: &str) -> Quoted {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            c if c.is_ascii_control() => literal.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => literal.push(c),
        }
    }
    literal.push('"');
    Quoted(literal)
}

/// A regular expression, as a string literal, for a path and everything below it in any spelling of
/// its ASCII letters.
pub(super) fn caseless(path: &str) -> Quoted {
    let mut expression = String::with_capacity(path.len() * 2);
    expression.push('^');
    for c in path.chars() {
        match c {
            c if c.is_ascii_alphabetic() => {
                let (lower, upper) = (c.to_ascii_lowercase(), c.to_ascii_uppercase());
                expression.extend(['[', lower, upper, ']']);
            }
            // Outside brackets and after a backslash each of these is itself.
            '\\' | '^' | '$' | '.' | '[' | ']' | '|' | '(' | ')' | '?' | '*' | '+' | '{' | '}' => {
                expression.extend(['\\', c]);
            }
            c => expression.push(c),
        }
    }
    expression.push_str("(/|$)");
    quoted(&expression)
}
