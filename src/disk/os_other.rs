//! What the operating system knows of files, on systems that are not Unix. Access there is ruled by
//! lists that a new file inherits from the user's own folder.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// Where an organisation's administrator puts policies and settings.
pub(super) const ORG_FOLDER: &str = r"C:\ProgramData\creance";

/// What tells one file from another: here its time of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    created: Option<SystemTime>,
}

pub(super) fn identity(meta: &Metadata) -> FileId {
    FileId {
        created: meta.created().ok(),
    }
}

/// Nothing is kept open: an open file could not be replaced.
#[derive(Debug)]
pub(super) struct Held;

pub(super) fn hold(_file: File) -> Held {
    Held
}

pub(super) type Changed = Option<SystemTime>;

pub(super) fn changed(meta: &Metadata) -> Changed {
    meta.modified().ok()
}

pub(super) fn guarded(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub(super) fn is_own(_meta: &Metadata) -> bool {
    true
}

pub(super) fn is_linked(_meta: &Metadata) -> bool {
    true
}

/// Writes over the start of a file.
pub(super) fn write_at_start(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)
}

pub(super) fn is_roots(_meta: &Metadata) -> bool {
    true
}

pub(super) fn others_write(_meta: &Metadata) -> bool {
    false
}

pub(super) fn anybody_writes(_meta: &Metadata) -> bool {
    false
}

pub(super) fn is_sticky(_meta: &Metadata) -> bool {
    false
}

pub(super) fn make_private(_file: &File, _meta: &Metadata) -> io::Result<()> {
    Ok(())
}

pub(super) fn create_private_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

pub(super) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn file_size_max() -> Option<u64> {
    None
}

/// Opens a file below a folder; a link on the way is refused.
pub(super) fn open_below(root: &Path, relative: &Path) -> io::Result<File> {
    let mut path = root.to_owned();
    for part in relative.components() {
        let Component::Normal(name) = part else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        path.push(name);
        if path.symlink_metadata()?.file_type().is_symlink() {
            return Err(io::Error::other("a link is on the way"));
        }
    }
    File::open(path)
}

pub(super) fn is_link_error(_error: &io::Error) -> bool {
    false
}

/// The path of a URL (`/C:/x`) from these bytes.
pub(super) fn path_from(bytes: Vec<u8>) -> Option<PathBuf> {
    let text = String::from_utf8(bytes).ok()?;
    Some(PathBuf::from(text.trim_start_matches('/')))
}

/// The user's name.
pub(super) fn user() -> String {
    std::env::var("USERNAME").unwrap_or_default()
}

/// Nobody is kept out by modes here.
#[cfg(feature = "http")]
pub(super) fn others_may(_meta: &Metadata) -> bool {
    false
}
