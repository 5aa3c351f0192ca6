//! Follows a log: the records that were added since the last look, also when it goes on in a new
//! file.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::audit::{AuditError, Record};

use super::log_reader::open_all;
use super::os::{self, FileId};

/// Follows a log.
#[derive(Debug)]
pub struct Follow {
    path: PathBuf,
    open: Option<Open>,
    /// The number of the last record that was given.
    last: u64,
}

#[derive(Debug)]
struct Open {
    file: File,
    id: FileId,
    /// Up to where it was read.
    read: u64,
}

impl Follow {
    /// Follows from behind record `last` on.
    #[must_use]
    pub fn after(path: impl AsRef<Path>, last: u64) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            open: None,
            last,
        }
    }

    /// The records that were added since the last call. Does not wait.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub fn next_records(&mut self) -> Result<Vec<Record>, AuditError> {
        match self.here() {
            Ok(Some(bytes)) => Ok(self.records(&bytes)),
            Ok(None) => self.everywhere(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(cause) => Err(AuditError {
                what: format!("cannot follow the audit log `{}`", self.path.display()),
                source: Some(cause),
            }),
        }
    }

    /// What was added to the file that is open; `None` when it is not the log any more.
    fn here(&mut self) -> io::Result<Option<Vec<u8>>> {
        let meta = self.path.symlink_metadata()?;
        let Some(open) = &mut self.open else {
            return Ok(None);
        };
        if os::identity(&meta) != open.id || meta.len() < open.read {
            return Ok(None);
        }
        open.file.seek(SeekFrom::Start(open.read))?;
        let mut bytes = Vec::new();
        (&open.file)
            .take(meta.len() - open.read)
            .read_to_end(&mut bytes)?;
        // A line that is still being written comes with the next look.
        let whole = bytes
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        bytes.truncate(whole);
        open.read += whole as u64;
        Ok(Some(bytes))
    }

    /// Reads all files anew.
    fn everywhere(&mut self) -> Result<Vec<Record>, AuditError> {
        let mut added = Vec::new();
        let mut files = open_all(&self.path)?.files;
        let current = files.last().and_then(super::log_reader::LogLines::file);
        self.open = current.and_then(|(file, read)| {
            let id = os::identity(&file.metadata().ok()?);
            Some(Open { file, id, read })
        });
        for line in files.drain(..).flatten() {
            added.extend(self.records(&line?));
        }
        Ok(added)
    }

    fn records(&mut self, bytes: &[u8]) -> Vec<Record> {
        let mut records = Vec::new();
        for line in bytes.split(|b| *b == b'\n') {
            let record: Option<Record> = serde_json::from_slice(line).ok();
            if let Some(record) = record.filter(|record| record.seq > self.last) {
                self.last = record.seq;
                records.push(record);
            }
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{AuditSink as _, Event, EventKind};
    use crate::disk::{AuditLog, Rotation};

    #[test]
    fn added_records_are_seen_over_new_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let log = AuditLog::file(&path).unwrap().with_rotation(Rotation {
            max_bytes: 2000,
            ..Rotation::default()
        });
        let mut written = 0;
        let mut write = |count: usize| {
            for _ in 0..count {
                let kind = EventKind::Note {
                    name: "x".repeat(100),
                    details: serde_json::Value::Null,
                };
                let run = String::new();
                written = log
                    .append(&Event {
                        at_ms: 1,
                        run,
                        kind,
                    })
                    .unwrap()
                    .seq;
            }
            written
        };
        let mut follow = Follow::after(&path, write(3));
        let mut seen = 3;
        for count in [0, 1, 2, 30, 1, 0, 50] {
            let last = write(count);
            for record in follow.next_records().unwrap() {
                seen += 1;
                assert_eq!(record.seq, seen);
            }
            assert_eq!(seen, last);
        }
    }
}
