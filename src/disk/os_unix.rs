//! What the operating system knows of files, on Unix. `os_other.rs` has the same functions for
//! systems without owners, modes and links to guard against.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, geteuid, getrlimit};

/// Where an organisation's administrator puts policies and settings. Fixed: no variable or flag
/// moves it, so no agent can.
pub(super) const ORG_FOLDER: &str = "/etc/creance";

/// What tells one file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

/// Which file this is.
pub(super) fn identity(meta: &Metadata) -> FileId {
    FileId {
        device: meta.dev(),
        inode: meta.ino(),
    }
}

/// When a file's content or owner last changed.
pub(super) type Changed = (i64, i64);

/// A file kept open: as long as it is, no new file gets its number, so that a replaced file is
/// noticed.
pub(super) type Held = File;

pub(super) fn hold(file: File) -> Held {
    file
}

/// For noticing edits in place.
pub(super) fn changed(meta: &Metadata) -> Changed {
    (meta.ctime(), meta.ctime_nsec())
}

/// Makes an open follow no link and wait for no FIFO; a new file is private.
pub(super) fn guarded(options: &mut OpenOptions) -> &mut OpenOptions {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    options.custom_flags(flags.bits().cast_signed()).mode(0o600)
}

/// Whether this user owns the file.
pub(super) fn is_own(meta: &Metadata) -> bool {
    meta.uid() == geteuid().as_raw()
}

/// Whether a folder still has a name for the file.
pub(super) fn is_linked(meta: &Metadata) -> bool {
    meta.nlink() > 0
}

/// Writes over the start of a file.
pub(super) fn write_at_start(file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, 0)
}

/// Whether root owns the file.
pub(super) fn is_roots(meta: &Metadata) -> bool {
    meta.uid() == 0
}

/// Whether group or others may write.
pub(super) fn others_write(meta: &Metadata) -> bool {
    meta.mode() & 0o022 != 0
}

/// Whether group or others may do anything with the file.
#[cfg(feature = "http")]
pub(super) fn others_may(meta: &Metadata) -> bool {
    meta.mode() & 0o077 != 0
}

/// Whether anybody may write.
pub(super) fn anybody_writes(meta: &Metadata) -> bool {
    meta.mode() & 0o002 != 0
}

/// Whether only its owner may remove an entry of this folder.
pub(super) fn is_sticky(meta: &Metadata) -> bool {
    meta.mode() & 0o1000 != 0
}

/// Takes all rights from group and others, where they have some.
pub(super) fn make_private(file: &File, meta: &Metadata) -> io::Result<()> {
    if meta.mode() & 0o077 == 0 {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(meta.mode() & 0o700))
}

/// Creates a folder, and those above it, for this user alone.
pub(super) fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// How large a file of this process may grow. Beyond it the kernel would end the process with
/// SIGXFSZ, unless that is ignored.
pub(super) fn file_size_max() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

/// Opens a file below a folder without following any link on the way.
pub(super) fn open_below(root: &Path, relative: &Path) -> io::Result<File> {
    let folder_flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open(root, folder_flags, Mode::empty())?;
    let mut parts = relative.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let flags = if parts.peek().is_some() {
            folder_flags | OFlags::NOFOLLOW
        } else {
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC
        };
        folder = rustix::fs::openat(&folder, name, flags, Mode::empty())?;
    }
    Ok(File::from(folder))
}

/// Whether an open failed because the path is a link. (Linux says ELOOP, FreeBSD EMLINK; a link in
/// the place of a folder is ENOTDIR.)
pub(super) fn is_link_error(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [rustix::io::Errno::LOOP, rustix::io::Errno::MLINK]
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}

/// A path of these bytes.
pub(super) fn path_from(bytes: Vec<u8>) -> Option<PathBuf> {
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// The user's name by the system's list of users, else `uid:1000`.
pub(super) fn user() -> String {
    let uid = geteuid().as_raw();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_of(uid, &users).map_or_else(|| format!("uid:{uid}"), str::to_owned)
}

fn name_of(uid: u32, users: &str) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id.parse() == Ok(uid)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_named_by_the_system() {
        let users = "root:x:0:0:root:/root:/bin/sh\n# no\nme:x:1000:1000::/home/me:/bin/sh\n";
        assert_eq!(name_of(0, users), Some("root"));
        assert_eq!(name_of(1000, users), Some("me"));
        assert_eq!(name_of(7, users), None);
    }
}
