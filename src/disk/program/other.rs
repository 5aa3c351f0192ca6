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

/// Opens `root/a/b` for parts `a`, `b`: no part below the root may be a link.
pub(crate) fn open_below(root: &Path, parts: &[&str]) -> io::Result<File> {
    let mut path = root.to_owned();
    for part in parts {
        path.push(part);
        if std::fs::symlink_metadata(&path)?.is_symlink() {
            return Err(io::Error::other("is a link"));
        }
    }
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

/// Whether it belongs to this user: not known here.
pub(crate) fn is_own(_metadata: &Metadata) -> bool {
    true
}

/// Whether it belongs to the system: not known here.
pub(crate) fn is_root(_metadata: &Metadata) -> bool {
    true
}

/// New folders are for their owner alone: the user's folder sees to that here.
pub(crate) fn private(_builder: &mut std::fs::DirBuilder) {}

/// Whether a group may change it: not known here.
pub(crate) fn is_open_to_group(_metadata: &Metadata) -> bool {
    false
}
