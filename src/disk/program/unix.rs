//! What Unix says about files: identity, owner, rights. Opens without waiting for a peer.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Access, OFlags, access};

use crate::grant::FileStamp;

/// Opens a file for reading. A FIFO or device does not make it wait (`O_NONBLOCK`).
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(flags(OFlags::NONBLOCK | OFlags::NOCTTY))
        .open(path)
}

fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

/// What the file is now.
pub(crate) fn stamp(path: &Path, metadata: &Metadata) -> FileStamp {
    FileStamp {
        path: path.to_owned(),
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.len(),
        changed_ns: i128::from(metadata.ctime()) * 1_000_000_000
            + i128::from(metadata.ctime_nsec()),
    }
}

/// Whether this process may execute the file.
pub(crate) fn is_executable(path: &Path) -> bool {
    access(path, Access::EXEC_OK).is_ok()
}

/// Whether everybody may change it. In a folder with the sticky bit everybody may only add.
pub(crate) fn is_open_to_all(metadata: &Metadata) -> bool {
    let sticky_folder = metadata.is_dir() && metadata.mode() & 0o1000 != 0;
    metadata.mode() & 0o002 != 0 && !sticky_folder
}
