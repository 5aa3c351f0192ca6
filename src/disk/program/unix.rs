//! What Unix says about files: identity, owner, rights. Opens without waiting for a peer.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Access, CWD, Mode, OFlags, access, openat};

use crate::grant::FileStamp;

/// Opens a file for reading. A FIFO or device does not make it wait (`O_NONBLOCK`).
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(flags(OFlags::NONBLOCK | OFlags::NOCTTY))
        .open(path)
}

/// Opens `root/a/b` for parts `a`, `b`: no part below the root may be a link, each is opened in the
/// folder that was opened before it.
pub(crate) fn open_below(root: &Path, parts: &[&str]) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut at = openat(CWD, root, flags | OFlags::DIRECTORY, Mode::empty())?;
    for part in parts {
        at = openat(&at, *part, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(File::from(at))
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

/// Whether it belongs to this user or to root.
pub(crate) fn is_own(metadata: &Metadata) -> bool {
    let user = rustix::process::geteuid().as_raw();
    metadata.uid() == user || is_root(metadata)
}

/// Whether it belongs to root.
pub(crate) fn is_root(metadata: &Metadata) -> bool {
    metadata.uid() == 0
}

/// New folders are for their owner alone.
pub(crate) fn private(builder: &mut std::fs::DirBuilder) {
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
}

/// Whether a group other than root's may change it.
pub(crate) fn is_open_to_group(metadata: &Metadata) -> bool {
    metadata.mode() & 0o020 != 0 && metadata.gid() != 0
}
