//! The folder of the sockets: the user's own, closed to everybody else. Who can write into it can
//! pose as an asking process.

use std::fs::{DirBuilder, Metadata};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use super::super::wire::ApprovalError;

/// Makes the folder when it is missing, and checks it.
pub(super) fn make(folder: &Path) -> Result<(), ApprovalError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| bad(folder, error.to_string()))?;
    check(folder)
}

/// Checks that it is a folder, not a link, owned by this user, and closed to others.
pub(super) fn check(folder: &Path) -> Result<(), ApprovalError> {
    let metadata =
        std::fs::symlink_metadata(folder).map_err(|error| bad(folder, error.to_string()))?;
    match fault(&metadata) {
        None => Ok(()),
        Some(why) => Err(bad(folder, why)),
    }
}

fn fault(metadata: &Metadata) -> Option<String> {
    let user = rustix::process::geteuid().as_raw();
    let mode = metadata.mode() & 0o7777;
    if !metadata.is_dir() {
        Some("is not a folder; remove it".to_owned())
    } else if metadata.uid() != user {
        Some(format!(
            "belongs to user {}, not to you; remove it",
            metadata.uid()
        ))
    } else if mode & 0o077 != 0 {
        Some(format!(
            "is open to others (mode {mode:o}); run chmod 700 on it"
        ))
    } else {
        None
    }
}

fn bad(folder: &Path, why: String) -> ApprovalError {
    ApprovalError::Folder {
        path: folder.to_owned(),
        why,
    }
}
