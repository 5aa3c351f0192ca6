//! Replaces a file as a whole: after a crash or on a full disk the old content is still there.

use std::fs::Permissions;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use super::os;
use super::project::project_root;
use super::surroundings::Surroundings;

/// Replaces a file with new content, private to this user, durable when this returns.
pub(crate) fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_atomic_as(path, bytes, None)
}

/// The same for a file that a person names, with the rights that it had. A name in the project is
/// that of a file in the project: a link that a stranger put there leads no write out of it.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = named_here(path)?;
    let rights = target.metadata().ok().map(|meta| meta.permissions());
    write_atomic_as(&target, bytes, rights.as_ref())
}

/// The same for what others are meant to read: a new file has the rights that files here have.
pub(crate) fn write_open(path: &Path, bytes: &[u8]) -> io::Result<()> {
    std::fs::write(named_here(path)?, bytes)
}

/// The file that a person's name means.
pub(crate) fn named_here(path: &Path) -> io::Result<PathBuf> {
    let around = Surroundings::read();
    let cwd = around.cwd.and_then(|cwd| cwd.canonicalize().ok());
    let cwd = cwd.unwrap_or_default();
    let root = project_root(&cwd, around.home.as_deref());
    named(path, &cwd, root.as_deref())
}

/// The file that a name means, seen from a working folder.
fn named(path: &Path, cwd: &Path, root: Option<&Path>) -> io::Result<PathBuf> {
    let Some(root) = root else {
        return regular(path.to_owned());
    };
    let (plain, leaves) = without_dots(&cwd.join(path), path);
    let is_root = |folder: &Path| folder.canonicalize().is_ok_and(|real| real == root);
    if !plain.ancestors().skip(1).any(is_root) {
        // `../results.xml` is plainly elsewhere; `docs/../../x` only looks as if it were here.
        if leaves {
            return Err(leads_out());
        }
        return regular(path.to_owned());
    }
    let (Some(folder), Some(name)) = (plain.parent(), plain.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let mut real = folder.canonicalize()?.join(name);
    if real.is_symlink() {
        real = real.canonicalize().map_err(|_| leads_out())?;
    }
    if !real.starts_with(root) {
        return Err(leads_out());
    }
    regular(real)
}

/// A path without `.` and `..`, and whether the name goes into a folder and by `..` out again.
fn without_dots(whole: &Path, named: &Path) -> (PathBuf, bool) {
    let mut plain = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    let mut parts = named.components();
    let entered = parts.any(|part| matches!(part, Component::Normal(_)));
    let leaves = entered && parts.any(|part| part == Component::ParentDir);
    (plain, leaves)
}

fn leads_out() -> io::Error {
    let why = "is or lies behind a link that leads out of the project, and is not written";
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// Nothing, or a regular file: a FIFO, a device or a folder is not replaced.
fn regular(path: PathBuf) -> io::Result<PathBuf> {
    match path.metadata() {
        Ok(meta) if !meta.is_file() => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "is no regular file, and is not written",
        )),
        _ => Ok(path),
    }
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

#[cfg(unix)]
#[cfg(test)]
#[path = "tests/write.rs"]
mod tests;
