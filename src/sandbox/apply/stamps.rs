//! The last look at the files that were hashed: the same file, not only the same name.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

use crate::grant::FileStamp;
use crate::sandbox::spawn::StageError;

/// What is done with a stamped file that cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unseen {
    /// On the machine itself: it is gone.
    Refuse,
    /// In the view: the program cannot use what it cannot see.
    Skip,
}

/// Refuses when a file is no longer what was hashed.
pub(super) fn check(stamps: &[FileStamp], unseen: Unseen) -> Result<(), StageError> {
    for stamp in stamps {
        match fs::symlink_metadata(&stamp.path) {
            Ok(found) if same(stamp, &found) => {}
            Err(error) if unseen == Unseen::Skip && hidden(error.kind()) => {}
            Ok(_) => return Err(changed(stamp, "changed")),
            Err(_) => return Err(changed(stamp, "disappeared")),
        }
    }
    Ok(())
}

fn same(stamp: &FileStamp, found: &fs::Metadata) -> bool {
    let changed_ns = i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec());
    stamp.device == found.dev()
        && stamp.inode == found.ino()
        && stamp.size == found.size()
        && stamp.changed_ns == changed_ns
}

fn hidden(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::PermissionDenied)
}

fn changed(stamp: &FileStamp, how: &str) -> StageError {
    StageError::new(
        "stamp",
        format!(
            "`{}` {how} after it was checked: start again to check it anew",
            stamp.path.display()
        ),
    )
}
