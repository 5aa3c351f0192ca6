//! Reads files that a stranger may have put there: no link is followed, no FIFO waited for, no
//! device touched, nothing read beyond a limit, and what was checked is the handle that is read.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::os;

/// Why a file was not read.
#[derive(Debug)]
pub(crate) struct ReadError {
    pub(crate) path: PathBuf,
    pub(crate) kind: ReadErrorKind,
}

#[derive(Debug)]
pub(crate) enum ReadErrorKind {
    /// There is nothing.
    Missing,
    /// The path, or a folder on the way to it, is a symbolic link.
    Link,
    /// A folder, FIFO, socket or device.
    NotAFile,
    /// Larger than the limit, in bytes.
    TooLarge(u64),
    /// The system refused.
    Io(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path.display(), self.kind)
    }
}

impl fmt::Display for ReadErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("does not exist"),
            Self::Link => f.write_str("is or lies behind a symbolic link, which is not followed"),
            Self::NotAFile => f.write_str("is not a regular file"),
            Self::TooLarge(limit) => write!(f, "is larger than {limit} bytes"),
            Self::Io(cause) => write!(f, "cannot be read: {cause}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            ReadErrorKind::Io(cause) => Some(cause),
            _ => None,
        }
    }
}

/// Reads a regular file of at most `limit` bytes; its last part may be no link.
pub(crate) fn safe_read(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let fail = |kind| ReadError {
        path: path.to_owned(),
        kind,
    };
    // Opening a device can already do something, so look first; what counts is looked at again on
    // the handle.
    let meta = path.symlink_metadata().map_err(|error| fail(kind(error)))?;
    if meta.file_type().is_symlink() {
        return Err(fail(ReadErrorKind::Link));
    }
    if !meta.is_file() {
        return Err(fail(ReadErrorKind::NotAFile));
    }
    let opened = os::guarded(OpenOptions::new().read(true)).open(path);
    (regular(opened).and_then(|(file, _)| read_regular(file, limit))).map_err(fail)
}

/// Reads a regular file of at most `limit` bytes below a folder; no part of `relative` may be a
/// link. For files of a cloned repository.
pub(crate) fn safe_read_below(
    root: &Path,
    relative: &Path,
    limit: u64,
) -> Result<Vec<u8>, ReadError> {
    (open_below(root, relative).and_then(|(file, _)| read_regular(file, limit))).map_err(|kind| {
        ReadError {
            path: root.join(relative),
            kind,
        }
    })
}

/// Opens a regular file below a folder; no part of `relative` may be a link.
pub(super) fn open_below(root: &Path, relative: &Path) -> Result<(File, Metadata), ReadErrorKind> {
    regular(os::open_below(root, relative)).map_err(|kind| match kind {
        // A link in the place of a folder on the way.
        ReadErrorKind::Io(cause) if cause.kind() == io::ErrorKind::NotADirectory => {
            ReadErrorKind::Link
        }
        kind => kind,
    })
}

/// What was opened, when it is a regular file.
pub(super) fn regular(opened: io::Result<File>) -> Result<(File, Metadata), ReadErrorKind> {
    let file = opened.map_err(kind)?;
    let meta = file.metadata().map_err(ReadErrorKind::Io)?;
    if !meta.is_file() {
        return Err(ReadErrorKind::NotAFile);
    }
    Ok((file, meta))
}

/// The content of a regular file of at most `limit` bytes.
pub(super) fn read_regular(file: File, limit: u64) -> Result<Vec<u8>, ReadErrorKind> {
    if file.metadata().map_err(ReadErrorKind::Io)?.len() > limit {
        return Err(ReadErrorKind::TooLarge(limit));
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    let read = read.map_err(ReadErrorKind::Io)?;
    if read as u64 > limit {
        return Err(ReadErrorKind::TooLarge(limit));
    }
    Ok(bytes)
}

fn kind(error: io::Error) -> ReadErrorKind {
    if error.kind() == io::ErrorKind::NotFound {
        ReadErrorKind::Missing
    } else if os::is_link_error(&error) {
        ReadErrorKind::Link
    } else {
        ReadErrorKind::Io(error)
    }
}

#[cfg(unix)]
#[cfg(test)]
#[path = "tests/read.rs"]
mod tests;
