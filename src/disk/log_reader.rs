//! Reads a log line by line, its full files first, up to where it ended when reading began, without
//! holding up writers.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Take};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::audit::{AuditError, KeyState, LINE_MAX};

use super::log_keys;
use super::log_names;
use super::os;

const LOCK_TRIES: u32 = 500;
const LOCK_PAUSE: Duration = Duration::from_millis(2);

/// The lines of a log, each with its line end as far as it has one.
#[derive(Debug)]
pub(super) struct LogLines {
    path: PathBuf,
    reader: Take<BufReader<File>>,
}

impl LogLines {
    pub(super) fn open(path: &Path) -> Result<Self, AuditError> {
        let opened = open(path).map_err(|cause| unreadable(path, cause))?;
        Ok(Self::of(path, opened))
    }

    fn of(path: &Path, (file, length): (File, u64)) -> Self {
        Self {
            path: path.to_owned(),
            reader: BufReader::with_capacity(256 * 1024, file).take(length),
        }
    }

    /// Another handle of the file, and up to where it is read.
    pub(super) fn file(&self) -> Option<(File, u64)> {
        let file = self.reader.get_ref().get_ref().try_clone().ok()?;
        Some((file, self.reader.limit()))
    }

    /// The name of the file, without its folder.
    pub(super) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// The files of a log, and what the key file held when they were opened.
#[derive(Debug)]
pub(super) struct LogFiles {
    pub(super) files: Vec<LogLines>,
    pub(super) state: Option<KeyState>,
}

/// All files of a log in their order. The one that is written is opened first, so that none is
/// missed when it is moved away meanwhile.
pub(super) fn open_all(path: &Path) -> Result<LogFiles, AuditError> {
    let mut state = None;
    let current = open_with(path, || state = log_keys::read(path).transpose());
    let archives = log_names::archives(path).map_err(|cause| unreadable(path, cause))?;
    let current = match current {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !archives.is_empty() => None,
        opened => Some(opened.map_err(|cause| unreadable(path, cause))?),
    };
    let id = match &current {
        Some((file, _)) => {
            let meta = file.metadata().map_err(|cause| unreadable(path, cause))?;
            Some(os::identity(&meta))
        }
        None => None,
    };
    let mut files = Vec::new();
    for archive in archives {
        let moved = archive.path.symlink_metadata();
        if !moved.is_ok_and(|meta| Some(os::identity(&meta)) == id) {
            files.push(LogLines::open(&archive.path)?);
        }
    }
    files.extend(current.map(|opened| LogLines::of(path, opened)));
    let state = match state {
        None => log_keys::read(path),
        Some(read) => read.map(Some),
    };
    let state = state.map_err(|cause| unreadable(path, cause))?;
    Ok(LogFiles { files, state })
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    open_with(path, || ())
}

/// Opens a file and takes its length; `look` is called while no writer is at work.
fn open_with(path: &Path, look: impl FnOnce()) -> io::Result<(File, u64)> {
    let file = os::guarded(OpenOptions::new().read(true)).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // Under the lock no writer is in the middle of a line. A stopped process that holds the lock
    // does not stop the reader: it may then see an open end.
    let locked = (0..LOCK_TRIES).any(|attempt| {
        if attempt > 0 {
            thread::sleep(LOCK_PAUSE);
        }
        file.try_lock_shared().is_ok()
    });
    let length = file.metadata()?.len();
    look();
    if locked {
        file.unlock()?;
    }
    Ok((file, length))
}

fn unreadable(path: &Path, cause: io::Error) -> AuditError {
    AuditError {
        what: format!("cannot read the audit log `{}`", path.display()),
        source: Some(cause),
    }
}

impl Iterator for LogLines {
    type Item = Result<Vec<u8>, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        // No writer makes a longer line; a file that holds one is cut into pieces that are no
        // records, and so found.
        let mut piece = self.reader.by_ref().take(LINE_MAX as u64 + 1);
        match piece.read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) => Some(Ok(line)),
            Err(cause) => Some(Err(unreadable(&self.path, cause))),
        }
    }
}
