//! Secrets in free text, masked as `[secret:kind:hash]`. Where they stand is found by `find`.
//!
//! The hash is the first eight digits of a SHA-256 over the secret, so that the same key can be
//! followed through a log. Only keys that an issuer made at random get one: nobody can guess
//! those. Passwords, card numbers and what else could be found by trying get a mask without a
//! hash, because a hash of something guessable gives it away.

use std::borrow::Cow;

use super::find::{Depth, Span, find};

/// Free text with every known secret masked. Hashes, UUIDs and words stay. Masking twice is
/// masking once.
pub(crate) fn mask(text: &str) -> Cow<'_, str> {
    covered(text, find(text, Depth::Outer))
}

/// A text with these spans replaced by their masks.
pub(super) fn covered(text: &str, mut spans: Vec<Span>) -> Cow<'_, str> {
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for span in spans {
        // One that overlaps an earlier one only hides more.
        if span.start >= done {
            out.push_str(text.get(done..span.start).unwrap_or_default());
            out.push_str(&span.mask);
        }
        done = done.max(span.end);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
