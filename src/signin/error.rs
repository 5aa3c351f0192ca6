//! Why somebody is not signed in: one line, without a token, a code, or text of the sign-in server
//! beyond its short code.

use std::fmt;

use crate::clean;

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nobody is signed in, or the sign-in has ended.
    NotSignedIn,
    /// The server or its sign-in server describes itself in a way that is not safe, or not at all.
    Description,
    /// Creance is not known there, and cannot make itself known.
    Registration,
    /// The person, or the sign-in server, said no.
    Refused,
    /// The answer is not that of the sign-in server that was asked.
    Foreign,
    /// The callback's port is taken.
    Port,
    /// Nobody came back in time, or it was given up.
    NoAnswer,
    /// The network, or what answers there.
    Network,
    /// Where tokens are kept.
    Store,
}

/// Why somebody is not signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignInError {
    pub(crate) trouble: Trouble,
    text: String,
}

impl SignInError {
    pub(crate) fn new(trouble: Trouble, text: impl AsRef<str>) -> Self {
        let text = clean::line(&clean::mask(text.as_ref()), 1_000);
        Self { trouble, text }
    }
}

impl fmt::Display for SignInError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for SignInError {}

/// The short code of an OAuth error (RFC 6749, 5.2): anything else that stands there is not shown.
pub(super) fn short_code(text: &str) -> &str {
    let is_code = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let fits = !text.is_empty() && text.len() <= 40 && text.bytes().all(is_code);
    if fits {
        text
    } else {
        "an error that has no short code"
    }
}
