//! What other systems say about files: less than Unix; owners and rights are not looked at.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::grant::FileStamp;

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// What the file is now: size and time of the last change.
pub(crate) fn stamp(path: &Path, metadata: &Metadata) -> FileStamp {
    let modified = metadata.modified().ok();
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    FileStamp {
        path: path.to_owned(),
        device: 0,
        inode: 0,
        size: metadata.len(),
        changed_ns: since.map_or(0, |since| {
            i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
        }),
    }
}

/// Whether this process may execute the file.
pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Whether everybody may change it: not known here.
pub(crate) fn is_open_to_all(_metadata: &Metadata) -> bool {
    false
}
