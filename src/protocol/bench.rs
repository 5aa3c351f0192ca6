//! What benches may call of this module.

use super::json::{JsonError, read};

/// Reads a text and writes it again: what the relay does with each message.
///
/// # Errors
/// Why the text is refused.
pub fn round_trip(text: &[u8]) -> Result<String, impl std::error::Error + use<>> {
    let parsed = read(text)?;
    let mut out = String::with_capacity(text.len());
    parsed.json.write_to(&mut out);
    Ok::<_, JsonError>(out)
}
