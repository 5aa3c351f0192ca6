//! Placeholder.
pub(crate) fn main(_: &[String]) {}
pub(crate) fn answers() {}
pub(crate) fn servers() {}
pub(crate) fn changes() {}
