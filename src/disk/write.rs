//! Replaces a file as a whole: after a crash or on a full disk the old content is still there.

use std::fs::Permissions;
use std::io::{self, Write};
use std::path::Path;

use super::os;

/// Replaces a file with new content, private to this user, durable when this returns.
pub(crate) fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_atomic_as(path, bytes, None)
}

/// The same with the rights that a file had which is there already.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let rights = path.metadata().ok().map(|meta| meta.permissions());
    write_atomic_as(path, bytes, rights.as_ref())
}

/// The same with the rights that the file had.
pub(super) fn write_atomic_as(
    path: &Path,
    bytes: &[u8],
    rights: Option<&Permissions>,
) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path has no file name",
        ));
    };
    if os::file_size_max().is_some_and(|max| bytes.len() as u64 > max) {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    // Created with mode 0600, in the same folder so that the rename stays within one file system.
    let mut file = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".new")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(rights) = rights {
        file.as_file().set_permissions(rights.clone())?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    os::sync_folder(folder)
}
