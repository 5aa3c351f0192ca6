//! When a log goes on in a new file, and which full files are no longer kept. Deleting is on record
//! before it is done.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::audit::{Envelope, LINE_MAX, Mend, Pruned};

use super::log_file::Open;
use super::log_names::{self, Archive};
use super::os;
use super::tail::read_tail;

/// When a new file is begun, and how long full ones are kept. Nothing is deleted unless it is said
/// how many files to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// A file is full at so many bytes.
    pub max_bytes: u64,
    /// A file is old when its first record is older than this, in milliseconds.
    pub max_age_ms: Option<i64>,
    /// How many full files are kept.
    pub keep_files: Option<usize>,
    /// A file whose last record is younger than this, in milliseconds, is kept all the same.
    pub keep_ms: Option<i64>,
}

impl Default for Rotation {
    fn default() -> Self {
        Self {
            max_bytes: 64 * 1024 * 1024,
            max_age_ms: None,
            keep_files: None,
            keep_ms: None,
        }
    }
}

impl Rotation {
    /// Whether a file that is this long is full or old. A clock that was set back makes no file old.
    pub(super) fn is_due(self, open: &mut Open, length: u64, now_ms: i64) -> bool {
        if length == 0 || (length < self.max_bytes && self.max_age_ms.is_none()) {
            return false;
        }
        if open.first.is_none() {
            open.first = first_record(&open.file).ok().flatten();
        }
        let Some((_, born_ms)) = open.first else {
            return false;
        };
        let old = |max: i64| now_ms.saturating_sub(born_ms) >= max;
        length >= self.max_bytes || self.max_age_ms.is_some_and(old)
    }
}

/// Number and time of the first record of a file.
fn first_record(file: &File) -> io::Result<Option<(u64, i64)>> {
    let mut line = Vec::new();
    let mut file: &File = file;
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::new(file.take(LINE_MAX as u64));
    // The first line of a log may be a torn one that was closed off.
    for _ in 0..3 {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        if let Ok(record) = Envelope::parse(&line) {
            return Ok(Some((record.seq, record.at_ms)));
        }
    }
    Ok(None)
}

/// Moves the file of a log away.
pub(super) fn move_away(log: &Path, first: u64) -> io::Result<()> {
    let archive = log_names::archive(log, first)?;
    std::fs::rename(log, archive)?;
    match log.parent() {
        Some(folder) => os::sync_folder(folder),
        None => Ok(()),
    }
}

/// Full files that are no longer kept.
#[derive(Debug)]
pub(super) struct Pruning {
    files: Vec<PathBuf>,
    pruned: Pruned,
}

impl Pruning {
    /// What is no longer kept of a log, if anything.
    pub(super) fn of(log: &Path, rotation: Rotation, now_ms: i64) -> Option<Self> {
        let keep = rotation.keep_files?;
        let archives = log_names::archives(log).ok()?;
        let more = archives.len().saturating_sub(keep);
        let old = |archive: &&Archive| {
            rotation.keep_ms.is_none_or(|keep_ms| {
                last_ms(&archive.path).is_some_and(|last| now_ms.saturating_sub(last) >= keep_ms)
            })
        };
        let files: Vec<PathBuf> = (archives.iter().take(more).take_while(old))
            .map(|archive| archive.path.clone())
            .collect();
        let through = head_of(files.last()?)?.0;
        let name = |path: &PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
        let names = files.iter().filter_map(name).collect();
        Some(Self {
            files,
            pruned: Pruned {
                through,
                files: names,
            },
        })
    }

    /// The note that goes on record first.
    pub(super) fn note(&self) -> Mend {
        Mend::Pruned(self.pruned.clone())
    }

    /// Deletes them. What cannot be deleted stays, and is on record a second time.
    pub(super) fn delete(self) {
        for file in self.files {
            if let Err(error) = std::fs::remove_file(&file) {
                tracing::warn!("`{}` cannot be deleted: {error}", file.display());
            }
        }
    }
}

fn last_ms(path: &Path) -> Option<i64> {
    head_of(path).map(|(_, at_ms)| at_ms)
}

/// The last record of a file, and its time.
fn head_of(path: &Path) -> Option<(crate::audit::Head, i64)> {
    let file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let tail = read_tail(&file, length).ok()??;
    tail.at_ms.map(|at_ms| (tail.record, at_ms))
}
