//! Doors for the benches, which are other crates and see only what is public. Thin wrappers, so that
//! nothing else has to be public.

/// What a model reads of an untrusted text.
#[must_use]
pub fn clean_text(raw: &str) -> std::borrow::Cow<'_, str> {
    crate::clean::text(raw)
}

/// Free text with secrets masked.
#[must_use]
pub fn clean_mask(raw: &str) -> std::borrow::Cow<'_, str> {
    crate::clean::mask(raw)
}

pub use crate::protocol::bench::round_trip;
pub use crate::sandbox::door::{Running, start, start_here};
