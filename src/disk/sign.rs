//! The key that signs a log's checkpoints: 32 random bytes beside the log, as hexadecimal digits,
//! readable by this user alone.

use std::io;
use std::path::Path;

use zeroize::Zeroizing;

use crate::digest::{Digest, KeyPair};

use super::log_names;
use super::read::{ReadErrorKind, safe_read};
use super::write::write_atomic;

/// The pair of keys of a log, when it has one.
pub(super) fn existing(log: &Path) -> io::Result<Option<KeyPair>> {
    let path = log_names::signing_key(log);
    let bytes = match safe_read(&path, 128) {
        Ok(bytes) => Zeroizing::new(bytes),
        Err(error) if matches!(error.kind, ReadErrorKind::Missing) => return Ok(None),
        Err(error) => return Err(io::Error::other(error)),
    };
    let seed: Option<Digest> = std::str::from_utf8(&bytes)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    match seed {
        Some(seed) => Ok(Some(KeyPair::new(seed.as_bytes()))),
        None => Err(io::Error::other(format!(
            "`{}` holds no signing key: remove it, and a new one is made; checkpoints of the old \
             one are then given with `--signer`",
            path.display()
        ))),
    }
}

/// The pair of keys of a log, made when it has none.
pub(super) fn existing_or_new(log: &Path) -> io::Result<KeyPair> {
    if let Some(pair) = existing(log)? {
        return Ok(pair);
    }
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(seed.as_mut()).map_err(io::Error::other)?;
    let text = Zeroizing::new(format!("{}\n", Digest::from_bytes(*seed)));
    write_atomic(&log_names::signing_key(log), text.as_bytes())?;
    Ok(KeyPair::new(&seed))
}
