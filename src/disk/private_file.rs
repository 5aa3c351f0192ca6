//! Files with secrets of this user: read only when nobody else could have read or written them.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::path::Path;

use super::os;
use super::write::write_atomic;

/// The text of a private file; `None` when there is none.
///
/// # Errors
/// It cannot be read, or others may read it.
pub(crate) fn read_private(path: &Path) -> Result<Option<String>, String> {
    let failed = |why: &dyn std::fmt::Display| format!("`{}`: {why}", path.display());
    let mut file = match os::guarded(OpenOptions::new().read(true)).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    let meta = file.metadata().map_err(|e| failed(&e))?;
    if !meta.is_file() {
        return Err(failed(&"this is no file"));
    }
    if !os::is_own(&meta) {
        return Err(failed(&"it belongs to another user"));
    }
    if os::others_may(&meta) {
        return Err(failed(&"others may read or write it (`chmod 600` it)"));
    }
    let mut text = String::new();
    let mut bounded = (&mut file).take(FILE_MAX + 1);
    bounded.read_to_string(&mut text).map_err(|e| failed(&e))?;
    if text.len() as u64 > FILE_MAX {
        return Err(failed(&"it is too large"));
    }
    Ok(Some(text))
}

/// Writes a private file.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), String> {
    write_atomic(path, text.as_bytes()).map_err(|e| format!("`{}`: {e}", path.display()))
}

const FILE_MAX: u64 = 256 * 1024;
