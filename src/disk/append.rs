//! Appends records to one log file under its lock: notices what other processes wrote, what was
//! torn, removed, replaced or cut, and moves the chain only after a record was written whole.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::audit::{AuditError, Continued, Event, Head, LINE_MAX, Mend, Receipt, TornLine, link};

use super::os::{self, FileId};
use super::tail::{Tail, read_tail};

/// How long another process may hold the lock. Each holds it for one write.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// How often the file may be replaced between opening and locking it.
const REOPEN_MAX: u32 = 16;

/// One log file, and how far this process knows it.
#[derive(Debug)]
pub(super) struct Appender {
    path: PathBuf,
    open: Option<Open>,
    /// The last record that this process wrote or read.
    known: Option<Head>,
    /// Why the file had to be opened anew.
    reopened: Option<&'static str>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    file: Arc<File>,
    id: FileId,
    /// The length at which `known` is the last record; `None` when that is uncertain.
    end: Option<u64>,
}

/// The lock of a file; given back when dropped.
#[derive(Debug)]
struct Locked(Arc<File>);

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing the file would do it too; there is nothing to do about an error.
        drop(self.0.unlock());
    }
}

impl Appender {
    /// Opens (or creates) a log and reads its end.
    pub(super) fn open(path: PathBuf) -> Result<Self, AuditError> {
        let mut appender = Self {
            path,
            open: None,
            known: None,
            reopened: None,
            buffer: Vec::new(),
        };
        let (_locked, length) = appender.lock()?;
        let tail = appender.tail(length)?;
        appender.known = Some(tail.record);
        Ok(appender)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn head(&self) -> Head {
        self.known.unwrap_or_else(Head::empty)
    }

    /// The open file, for syncing.
    pub(super) fn file(&self) -> Option<&Arc<File>> {
        self.open.as_ref().map(|open| &open.file)
    }

    /// Writes one record; `first` is a note to write before it.
    pub(super) fn append(
        &mut self,
        event: &Event,
        first: Option<Mend>,
    ) -> Result<Receipt, AuditError> {
        let (locked, length) = self.lock()?;
        let tail = self.tail(length)?;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let linked = self.link(&mut buffer, tail, event, first);
        let written = linked.and_then(|head| {
            self.write(&locked, length, &buffer)?;
            Ok(head)
        });
        self.buffer = buffer;
        let head = written?;
        self.known = Some(head);
        self.reopened = None;
        Ok(Receipt { seq: head.seq })
    }

    /// The lines to write: notes of what was found, then the event.
    fn link(
        &self,
        buffer: &mut Vec<u8>,
        tail: Tail,
        event: &Event,
        first: Option<Mend>,
    ) -> Result<Head, AuditError> {
        let refused = |why: String| AuditError {
            what: format!("cannot record an event in `{}`: {why}", self.path.display()),
            source: None,
        };
        if !tail.ended {
            buffer.push(b'\n');
        }
        let mut head = Head {
            seq: tail.record.seq,
            digest: tail.last_line,
        };
        for mend in self.mends(tail).into_iter().chain(first) {
            if let (Mend::Continued(continued), 0) = (&mend, tail.record.seq)
                && tail.lost_bytes == 0
            {
                // A new file: its first line goes on from the old one's last.
                head = continued.after;
            }
            head = mend.link(buffer, head, event).map_err(refused)?;
        }
        let start = buffer.len();
        let head = link(buffer, head, event).map_err(refused)?;
        if buffer.len() - start > LINE_MAX {
            return Err(refused(format!(
                "the record is longer than {LINE_MAX} bytes"
            )));
        }
        Ok(head)
    }

    fn mends(&self, tail: Tail) -> Vec<Mend> {
        let mut mends = Vec::new();
        if tail.lost_bytes > 0 || !tail.ended {
            mends.push(Mend::TornLine(TornLine {
                lost_bytes: tail.lost_bytes,
                after: tail.record,
            }));
        }
        if let Some(known) = self.known
            && tail.record.seq < known.seq
        {
            mends.push(Mend::Continued(Continued {
                after: known,
                why: self
                    .reopened
                    .unwrap_or("the end of the file was cut off")
                    .to_owned(),
            }));
        }
        mends
    }

    /// One write of everything; when it falls short, what was written of it is taken back.
    fn write(&mut self, locked: &Locked, length: u64, bytes: &[u8]) -> Result<(), AuditError> {
        let end = length.saturating_add(bytes.len() as u64);
        if os::file_size_max().is_some_and(|max| end > max) {
            return Err(self.error(io::Error::from(io::ErrorKind::FileTooLarge)));
        }
        let mut file: &File = &locked.0;
        let failed = loop {
            match file.write(bytes) {
                Ok(written) if written == bytes.len() => {
                    self.set_end(Some(end));
                    return Ok(());
                }
                Ok(_) => break io::Error::from(io::ErrorKind::StorageFull),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break error,
            }
        };
        // Should this fail too, the next append closes the torn line off.
        let taken_back = file.set_len(length).is_ok();
        self.set_end(taken_back.then_some(length));
        Err(self.error(failed))
    }

    fn set_end(&mut self, end: Option<u64>) {
        if let Some(open) = &mut self.open {
            open.end = end;
        }
    }

    /// The end of the locked file: known, or read anew when anybody else wrote.
    fn tail(&mut self, length: u64) -> Result<Tail, AuditError> {
        let Some(open) = &mut self.open else {
            return Err(self.error(io::Error::from(io::ErrorKind::NotFound)));
        };
        if let (Some(known), Some(end)) = (self.known, open.end)
            && end == length
        {
            return Ok(Tail::of(known));
        }
        open.end = None;
        let read = read_tail(&open.file, length);
        let tail = read.map_err(|error| self.error(error))?.ok_or_else(|| AuditError {
            what: format!(
                "`{}` does not end with an audit record: it is left as it is; move it away or name \
                 another file for the audit log",
                self.path.display()
            ),
            source: None,
        })?;
        if tail.lost_bytes == 0 && tail.ended && self.known.is_none_or(|k| k.seq <= tail.record.seq)
        {
            self.known = Some(tail.record);
            self.set_end(Some(length));
        }
        Ok(tail)
    }

    /// Locks the file that now stands at the path; gives its length.
    fn lock(&mut self) -> Result<(Locked, u64), AuditError> {
        for _ in 0..REOPEN_MAX {
            let open = match self.open.take() {
                Some(open) => open,
                None => open_file(&self.path).map_err(|error| self.refusal(error))?,
            };
            let file = Arc::clone(&open.file);
            let id = open.id;
            self.open = Some(open);
            lock_file(&file).map_err(|error| self.error(error))?;
            let locked = Locked(file);
            match self.path.symlink_metadata() {
                Ok(meta) if os::identity(&meta) == id && meta.is_file() => {
                    return Ok((locked, meta.len()));
                }
                Ok(_) => self.let_go(&locked, "the file was replaced"),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.let_go(&locked, "the file was removed");
                }
                Err(error) => return Err(self.error(error)),
            }
        }
        Err(self.error(io::Error::other("the file is replaced again and again")))
    }

    /// The file at the path is another one now. Others may have written to the old one after us,
    /// so its end is read a last time.
    fn let_go(&mut self, locked: &Locked, why: &'static str) {
        let length = locked.0.metadata().map(|meta| meta.len());
        let tail = length.and_then(|length| read_tail(&locked.0, length));
        if let (Some(known), Ok(Some(tail))) = (self.known, tail)
            && tail.record.seq > known.seq
        {
            self.known = Some(tail.record);
        }
        self.reopened = Some(why);
        self.open = None;
    }

    fn refusal(&self, error: Refusal) -> AuditError {
        match error {
            Refusal::Io(error) => self.error(error),
            Refusal::Unsafe(why) => AuditError {
                what: format!("the audit log `{}` is not used: {why}", self.path.display()),
                source: None,
            },
        }
    }

    fn error(&self, cause: io::Error) -> AuditError {
        let way_out = match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on its disk",
            io::ErrorKind::FileTooLarge => {
                "raise the file size limit (`ulimit -f`) or move the file away"
            }
            io::ErrorKind::ReadOnlyFilesystem => "make its disk writable",
            io::ErrorKind::PermissionDenied => "give this user the right to write it",
            io::ErrorKind::WouldBlock => "find the process that holds its lock",
            _ => "see to the file",
        };
        AuditError {
            what: format!(
                "cannot write the audit log `{}`, so nothing is allowed; {way_out}, then it goes on by itself",
                self.path.display()
            ),
            source: Some(cause),
        }
    }
}

/// Why a file is not opened as a log.
enum Refusal {
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
fn open_file(path: &Path) -> Result<Open, Refusal> {
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
