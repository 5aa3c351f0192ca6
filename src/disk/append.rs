//! Appends records to one log under its lock: notices what other processes wrote, what was torn,
//! removed, replaced or cut, and moves chain and keys only after a record was written whole.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::audit::{
    AuditError, Continued, Event, Head, KeyState, LINE_MAX, Mend, Receipt, StartKey, TornLine, link,
};

use super::log_file::{Locked, Open, Refusal, lock_file, open_file};
use super::log_keys::LogKeys;
use super::os;
use super::rotate::{self, Pruning, Rotation};
use super::tail::{Tail, read_tail};

/// How often the file may be replaced between opening and locking it.
const REOPEN_MAX: u32 = 16;

/// One log, and how far this process knows it.
#[derive(Debug)]
pub(super) struct Appender {
    path: PathBuf,
    open: Option<Open>,
    /// The last record that this process knows, and the keys of the next one.
    keys: LogKeys,
    rotation: Rotation,
    /// Why the file had to be opened anew.
    reopened: Option<&'static str>,
    buffer: Vec<u8>,
}

/// Where the next record goes.
struct Place {
    locked: Locked,
    length: u64,
    tail: Tail,
    keys: KeyState,
}

impl Appender {
    /// Opens (or creates) a log and reads its end.
    pub(super) fn open(path: PathBuf) -> Result<Self, AuditError> {
        let mut appender = Self {
            keys: LogKeys::of(&path),
            path,
            open: None,
            rotation: Rotation::default(),
            reopened: None,
            buffer: Vec::new(),
        };
        let place = appender.place()?;
        // So that the first key is there before the first record.
        if appender.keys.is_absent() {
            let kept = appender.keys.save(place.keys);
            kept.map_err(|error| appender.key_error(error))?;
        }
        Ok(appender)
    }

    pub(super) fn set_rotation(&mut self, rotation: Rotation) {
        self.rotation = rotation;
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn head(&self) -> Head {
        self.keys.head().unwrap_or_else(Head::empty)
    }

    /// The open file, for syncing.
    pub(super) fn file(&self) -> Option<&Arc<File>> {
        self.open.as_ref().map(|open| &open.file)
    }

    /// Writes one record, and `notes` before it.
    pub(super) fn append(
        &mut self,
        event: &Event,
        notes: Vec<Mend>,
    ) -> Result<Receipt, AuditError> {
        let (mut place, pruning) = self.place_in_time(event)?;
        let pruned = pruning.as_ref().map(Pruning::note);
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let notes = notes.into_iter().chain(pruned);
        let linked = self.link(&mut buffer, &mut place, event, notes);
        let written = linked.and_then(|head| {
            self.write(&place.locked, place.length, &buffer)?;
            Ok(head)
        });
        self.buffer = buffer;
        let head = written?;
        self.reopened = None;
        // Under the lock still: the next writer finds the keys of the next record.
        let kept = self.keys.save(place.keys);
        kept.map_err(|error| self.key_error(error))?;
        if let Some(pruning) = pruning {
            pruning.delete();
        }
        Ok(Receipt { seq: head.seq })
    }

    /// Ends the keys in use and begins new ones. The last record under the old ones names the new
    /// ones; `at` lends it its time and run.
    pub(super) fn renew_keys(&mut self, at: &Event) -> Result<StartKey, AuditError> {
        let mut place = self.place()?;
        if self.mend(place.tail, &place.keys).is_some() {
            // The end of the log is put in order first.
            drop(place.locked);
            self.append(at, Vec::new())?;
            place = self.place()?;
        }
        let start = place
            .keys
            .head
            .seq
            .checked_add(2)
            .ok_or(io::ErrorKind::Other);
        let start = start
            .map_err(io::Error::from)
            .and_then(|first| self.keys.new_start(first));
        let start = start.map_err(|error| self.key_error(error))?;
        let mut buffer = Vec::new();
        let event = Mend::keys_renewed(at, &start);
        let head = self.link(&mut buffer, &mut place, &event, std::iter::empty())?;
        if head.seq.checked_add(1) != Some(start.first()) {
            let other = io::Error::other("another process wrote at the same time; try again");
            return Err(self.key_error(other));
        }
        self.write(&place.locked, place.length, &buffer)?;
        let kept = self.keys.save(KeyState::begin(&start, head));
        kept.map_err(|error| self.key_error(error))?;
        Ok(start)
    }

    /// Where the next record goes: in a new file, when the one that is there is full or old.
    fn place_in_time(&mut self, event: &Event) -> Result<(Place, Option<Pruning>), AuditError> {
        let place = self.place()?;
        if !place.tail.is_clean() || place.keys.head != place.tail.record {
            return Ok((place, None));
        }
        let Some(open) = &mut self.open else {
            return Ok((place, None));
        };
        if !self.rotation.is_due(open, place.length, event.at_ms) {
            return Ok((place, None));
        }
        if let Err(error) = self.rotate(place.keys) {
            // Nothing is lost by a file that is longer than it should be.
            tracing::warn!("`{}` is full and stays: {error}", self.path.display());
            drop(place.locked);
            return Ok((self.place()?, None));
        }
        self.reopened = Some(Mend::ROTATED);
        self.open = None;
        drop(place.locked);
        let pruning = Pruning::of(&self.path, self.rotation, event.at_ms);
        Ok((self.place()?, pruning))
    }

    /// Moves the full file away. Whoever writes next, in this process or another, knows by the keys
    /// that it was done.
    fn rotate(&mut self, keys: KeyState) -> io::Result<()> {
        self.keys.save(KeyState {
            rotated: true,
            ..keys
        })?;
        let first = self.open.as_ref().and_then(|open| open.first);
        rotate::move_away(&self.path, first.map_or(0, |(seq, _)| seq))
    }

    /// The lines to write: notes of what was found, then the event.
    fn link(
        &self,
        buffer: &mut Vec<u8>,
        place: &mut Place,
        event: &Event,
        notes: impl Iterator<Item = Mend>,
    ) -> Result<Head, AuditError> {
        let refused = |why: String| AuditError {
            what: format!("cannot record an event in `{}`: {why}", self.path.display()),
            source: None,
        };
        let tail = place.tail;
        if !tail.ended {
            buffer.push(b'\n');
        }
        let mut head = Head {
            seq: tail.record.seq,
            digest: tail.last_line,
        };
        for mend in self.mend(tail, &place.keys).into_iter().chain(notes) {
            if let (Mend::Continued(continued), 0) = (&mend, tail.record.seq)
                && tail.lost_bytes == 0
            {
                // A new file: its first line goes on from the old one's last.
                head = continued.after;
            }
            head = (mend.link(buffer, head, event, Some(&mut place.keys))).map_err(refused)?;
        }
        let start = buffer.len();
        let head = link(buffer, head, event, Some(&mut place.keys)).map_err(refused)?;
        if buffer.len() - start > LINE_MAX {
            return Err(refused(format!(
                "the record is longer than {LINE_MAX} bytes"
            )));
        }
        Ok(head)
    }

    /// The note that the end of the log wants, if any.
    fn mend(&self, tail: Tail, keys: &KeyState) -> Option<Mend> {
        let torn = (!tail.is_clean()).then_some(TornLine {
            lost_bytes: tail.lost_bytes,
            after: tail.record,
        });
        let after = keys.head;
        if tail.record.seq >= after.seq {
            return torn.map(Mend::TornLine);
        }
        let why = match self.reopened {
            _ if keys.rotated => Mend::ROTATED,
            Some(why) => why,
            None if tail.record.seq == 0 => "the file was removed",
            None => "the end of the file was cut off",
        };
        Some(Mend::Continued(Continued {
            after,
            why: why.to_owned(),
            torn,
        }))
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

    /// Locks the log and finds its end: known, or read anew when anybody else wrote.
    fn place(&mut self) -> Result<Place, AuditError> {
        let (locked, length) = self.lock()?;
        let tail = self.tail(length)?;
        let keys = self.keys.after(tail.record);
        let keys = keys.map_err(|error| self.key_error(error))?;
        if tail.is_clean() && tail.record.seq == keys.head.seq {
            self.set_end(Some(length));
        }
        Ok(Place {
            locked,
            length,
            tail,
            keys,
        })
    }

    fn tail(&mut self, length: u64) -> Result<Tail, AuditError> {
        let Some(open) = &mut self.open else {
            return Err(self.error(io::Error::from(io::ErrorKind::NotFound)));
        };
        if let (Some(known), Some(end)) = (self.keys.head(), open.end)
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
        let reloaded = self.keys.reload();
        reloaded.map_err(|error| self.key_error(error))?;
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
        if let Ok(Some(tail)) = tail {
            self.keys.learn(tail.record);
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

    fn key_error(&self, cause: io::Error) -> AuditError {
        AuditError {
            what: format!(
                "cannot keep the keys of the audit log in `{}`, so nothing is allowed; make the \
                 file writable for this user alone, or make room on its disk, then it goes on by \
                 itself",
                self.keys.path().display()
            ),
            source: Some(cause),
        }
    }
}
