//! A build without HTTP, which says so.

use super::source::Source;

/// Fetches nothing.
pub(crate) fn fetch(source: Source<'_>) -> Result<Vec<u8>, String> {
    let Source {
        url,
        authority,
        max,
    } = source;
    let by = authority.map_or(
        "the system's authorities",
        |_| "the authority that is named",
    );
    Err(format!(
        "{url} ({by}, {max} bytes at most) is not fetched: this build of Creance has no HTTP (the feature `http`)"
    ))
}
