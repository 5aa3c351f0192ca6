//! A build without HTTP, which says so.

use super::source::Source;

/// Fetches nothing.
pub(crate) fn fetch(source: Source<'_>) -> Result<Vec<u8>, String> {
    let Source {
        url,
        authority: _,
        max: _,
    } = source;
    Err(format!(
        "{url} is not fetched: this build of Creance has no HTTP (the feature `http`)"
    ))
}
