//! The key file of an audit log: holds the key of the next record alone. Each key is overwritten
//! in place when its record is written, so that nothing on the disk makes an earlier code.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::audit::{Head, KeyState, StartKey};

use super::log_names;
use super::os;
use super::read::safe_read;
use super::write::write_atomic;

/// Starting keys are a line each; more than this is no such file.
const START_MAX: u64 = 1 << 20;

/// The keys of one log. Everything here happens under the lock of the log.
#[derive(Debug)]
pub(super) struct LogKeys {
    path: PathBuf,
    start: PathBuf,
    file: Option<File>,
    state: Option<KeyState>,
}

impl LogKeys {
    pub(super) fn of(log: &Path) -> Self {
        Self {
            path: log_names::keys(log),
            start: log_names::start_keys(log),
            file: None,
            state: None,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The last record that is known, by the file or by this process.
    pub(super) fn head(&self) -> Option<Head> {
        self.state.as_ref().map(|state| state.head)
    }

    /// Whether there is no key file yet.
    pub(super) fn is_absent(&self) -> bool {
        self.file.is_none()
    }

    /// Goes on to a record that another process wrote to a file that is no longer the log.
    pub(super) fn learn(&mut self, last: Head) {
        let newer = |state: &KeyState| state.head.seq < last.seq;
        if let Some(state) = self.state.take_if(|state| newer(state)) {
            self.state = state.clone().forward(last).or(Some(state));
        }
    }

    /// Reads what other processes wrote. What this process knows stays when that is later: an older
    /// file in place of ours takes nothing back.
    pub(super) fn reload(&mut self) -> io::Result<()> {
        self.file = open(&self.path)?;
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let read = read_state(file)?;
        let newer = match (&read, &self.state) {
            (Some(read), Some(known)) => read.age() > known.age(),
            (read, None) => read.is_some(),
            (None, Some(_)) => false,
        };
        if newer {
            self.state = read;
        }
        Ok(())
    }

    /// The keys for going on after `last`, the last whole record of the log; new ones where none
    /// fit.
    pub(super) fn after(&mut self, last: Head) -> io::Result<KeyState> {
        let state = match self.state.take() {
            Some(state) if state.head.seq >= last.seq => Some(state),
            Some(state) => state.forward(last),
            None => None,
        };
        let state = match state {
            Some(state) => state,
            None => self.begin(last)?,
        };
        self.state = Some(state.clone());
        Ok(state)
    }

    /// New keys. The starting key is kept before anything is written with it.
    fn begin(&self, last: Head) -> io::Result<KeyState> {
        let first = last.seq.checked_add(1);
        let first = first.ok_or_else(|| io::Error::other("there is no further record number"))?;
        let start = self.new_start(first)?;
        Ok(KeyState::begin(&start, last))
    }

    /// Makes a starting key and keeps it.
    pub(super) fn new_start(&self, first: u64) -> io::Result<StartKey> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let start = StartKey::new(first, random);
        let mut text = String::new();
        for key in start_keys(&self.start)?.iter().chain([&start]) {
            text.push_str(&key.reveal());
            text.push('\n');
        }
        write_atomic(&self.start, text.as_bytes())?;
        Ok(start)
    }

    /// Keeps the keys of what comes next, over those of what was written.
    pub(super) fn save(&mut self, state: KeyState) -> io::Result<()> {
        let bytes = state.encode();
        self.state = Some(state);
        if let Some(file) = &self.file
            && os::is_linked(&file.metadata()?)
        {
            return os::write_at_start(file, &bytes);
        }
        write_atomic(&self.path, &bytes)?;
        self.file = open(&self.path)?;
        Ok(())
    }
}

/// The state beside a log, for readers; `None` when there is none, or none that is whole.
pub(super) fn read(log: &Path) -> io::Result<Option<KeyState>> {
    match open(&log_names::keys(log))? {
        Some(mut file) => read_state(&mut file),
        None => Ok(None),
    }
}

/// The starting keys in a file; none when there is no file. Lines that are none are an error.
pub(super) fn start_keys(path: &Path) -> io::Result<Vec<StartKey>> {
    use super::read::ReadErrorKind;
    let bytes = match safe_read(path, START_MAX) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind, ReadErrorKind::Missing) => return Ok(Vec::new()),
        Err(error) => return Err(io::Error::other(error)),
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            line.parse()
                .map_err(|error| io::Error::other(format!("`{}`: {error}", path.display())))
        })
        .collect()
}

/// Takes the starting keys off the disk.
pub(super) fn take_start_keys(log: &Path) -> io::Result<Vec<StartKey>> {
    let path = log_names::start_keys(log);
    let keys = start_keys(&path)?;
    if keys.is_empty() {
        return Ok(keys);
    }
    let file = os::guarded(OpenOptions::new().write(true)).open(&path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or_default();
    os::write_at_start(&file, &vec![b'\n'; length])?;
    file.sync_all()?;
    std::fs::remove_file(&path)?;
    if let Some(folder) = path.parent() {
        os::sync_folder(folder)?;
    }
    Ok(keys)
}

fn open(path: &Path) -> io::Result<Option<File>> {
    let opened = os::guarded(OpenOptions::new().read(true).write(true)).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let meta = file.metadata()?;
    if !meta.is_file() || !os::is_own(&meta) {
        return Err(io::Error::other("it is no regular file of this user"));
    }
    os::make_private(&file, &meta)?;
    Ok(Some(file))
}

fn read_state(file: &mut File) -> io::Result<Option<KeyState>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(KeyState::SIZE as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(KeyState::decode(&bytes))
}
