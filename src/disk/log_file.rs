//! One log file: opened so that nobody else can have put it there, and locked while it is written.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::os::{self, FileId};

/// How long another process may hold the lock. Each holds it for one write.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// An open log file.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) file: Arc<File>,
    pub(super) id: FileId,
    /// The length at which the last known record is the last one; `None` when that is uncertain.
    pub(super) end: Option<u64>,
    /// Number and time of its first record, once they were read.
    pub(super) first: Option<(u64, i64)>,
}

/// The lock of a file; given back when dropped.
#[derive(Debug)]
pub(super) struct Locked(pub(super) Arc<File>);

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing the file would do it too; there is nothing to do about an error.
        drop(self.0.unlock());
    }
}

/// Why a file is not opened as a log.
pub(super) enum Refusal {
    Io(io::Error),
    Unsafe(&'static str),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Opens or creates the log: a regular file of this user alone, in a folder where nobody else can
/// replace it.
pub(super) fn open_file(path: &Path) -> Result<Open, Refusal> {
    let folder = path.parent().ok_or(Refusal::Unsafe("it is no file name"))?;
    if let Ok(meta) = path.symlink_metadata() {
        check_file(&meta)?;
    } else {
        os::create_private_folder(folder)?;
    }
    check_folder(&folder.metadata()?)?;
    let mut options = OpenOptions::new();
    let opened = os::guarded(options.read(true).append(true).create(true)).open(path);
    let file = opened.map_err(|error| match error {
        error if os::is_link_error(&error) => Refusal::Unsafe("it is a symbolic link"),
        error => Refusal::Io(error),
    })?;
    let meta = file.metadata()?;
    check_file(&meta)?;
    os::make_private(&file, &meta)?;
    if meta.len() == 0 {
        os::sync_folder(folder)?;
    }
    Ok(Open {
        id: os::identity(&meta),
        file: Arc::new(file),
        end: None,
        first: None,
    })
}

fn check_file(meta: &Metadata) -> Result<(), Refusal> {
    if meta.file_type().is_symlink() {
        return Err(Refusal::Unsafe("it is a symbolic link"));
    }
    if !meta.is_file() {
        return Err(Refusal::Unsafe("it is not a regular file"));
    }
    if !os::is_own(meta) {
        return Err(Refusal::Unsafe("it belongs to another user"));
    }
    Ok(())
}

fn check_folder(meta: &Metadata) -> Result<(), Refusal> {
    if os::others_write(meta) && !os::is_sticky(meta) {
        return Err(Refusal::Unsafe(
            "others may write to its folder; take that right away (`chmod go-w`)",
        ));
    }
    if !os::is_own(meta) && !os::is_roots(meta) {
        return Err(Refusal::Unsafe("its folder belongs to another user"));
    }
    Ok(())
}

/// Takes the lock, waiting a bounded time: a stopped process that holds it must not hang this one.
pub(super) fn lock_file(file: &File) -> io::Result<()> {
    let mut pause = Duration::from_micros(20);
    let mut deadline = None;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => {}
        }
        let deadline = *deadline.get_or_insert_with(|| Instant::now() + LOCK_WAIT);
        if Instant::now() >= deadline {
            return Err(io::Error::from(io::ErrorKind::WouldBlock));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(1));
    }
}
