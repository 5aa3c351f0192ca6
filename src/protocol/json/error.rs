//! Why bytes are not the JSON that Creance takes, and where.

use std::fmt;

/// Bytes that were refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    /// The byte at which reading stopped, counted from 0.
    pub(crate) offset: usize,
    /// Why.
    pub(crate) reason: Reason,
}

/// Why bytes were refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Not JSON; what was expected instead.
    Syntax(&'static str),
    /// The text ends inside a value.
    End,
    /// Something stands after the value.
    Trailing,
    /// An object has the same key twice. Two readers of such a text may see two different values.
    Duplicate(String),
    /// Nested deeper than this.
    Depth(usize),
    /// More bytes than this.
    Size(usize),
    /// Not UTF-8.
    Utf8,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.offset;
        match &self.reason {
            Reason::Syntax(expected) => write!(f, "not JSON at byte {at}: {expected}"),
            Reason::End => write!(f, "not JSON at byte {at}: the text ends inside a value"),
            Reason::Trailing => write!(f, "not JSON at byte {at}: more text after the value"),
            Reason::Duplicate(key) => {
                let shown = crate::clean::line(key, 64);
                write!(
                    f,
                    "the key `{shown}` stands twice in one object (byte {at}); send each key once"
                )
            }
            Reason::Depth(most) => write!(f, "nested deeper than {most} levels at byte {at}"),
            Reason::Size(most) => write!(f, "larger than {most} bytes"),
            Reason::Utf8 => write!(f, "not UTF-8 at byte {at}"),
        }
    }
}

impl std::error::Error for JsonError {}
