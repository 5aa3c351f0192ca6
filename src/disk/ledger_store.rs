//! The file behind the ledger: read again when another process changed it, changed under a lock,
//! replaced as a whole.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::request::{Answer, Entry, PinKind, PinRecord};

use super::log_file::lock_file;
use super::os;
use super::write::write_atomic;

/// The version of the file's format.
const VERSION: u64 = 1;
/// The largest file that is read.
const SIZE_MAX: u64 = 64 * 1024 * 1024;

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Store {
    /// The version of the format.
    v: u64,
    /// Pins by kind and subject.
    pub(super) pins: BTreeMap<PinKind, BTreeMap<String, PinRecord>>,
    /// Remembered answers.
    pub(super) answers: Vec<Entry>,
}

impl Store {
    fn empty() -> Self {
        Self {
            v: VERSION,
            pins: BTreeMap::new(),
            answers: Vec::new(),
        }
    }

    /// How many pins and answers it holds.
    pub(super) fn count(&self) -> usize {
        self.pins.values().map(BTreeMap::len).sum::<usize>() + self.answers.len()
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        /// What every version has.
        #[derive(Deserialize)]
        struct Versioned {
            v: u64,
        }
        let Versioned { v } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if v != VERSION {
            return Err(format!(
                "its format is version {v}, and this Creance reads version {VERSION}"
            ));
        }
        let store: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        // Only what was meant to last may come from a file: an edited `once` would be the
        // strongest answer there is.
        match store
            .answers
            .iter()
            .find(|entry| entry.answer != Answer::Remembered)
        {
            Some(entry) => Err(format!("it holds an answer `{}`", entry.answer.word())),
            None => Ok(store),
        }
    }
}

/// The file, and its content as last read.
#[derive(Debug)]
pub(super) struct LedgerFile {
    path: PathBuf,
    cached: Option<Cached>,
}

#[derive(Debug)]
struct Cached {
    _held: os::Held,
    stamp: Stamp,
    store: Arc<Store>,
}

#[derive(Debug, PartialEq)]
struct Stamp {
    id: os::FileId,
    length: u64,
    changed: os::Changed,
}

impl Stamp {
    fn of(meta: &std::fs::Metadata) -> Self {
        Self {
            id: os::identity(meta),
            length: meta.len(),
            changed: os::changed(meta),
        }
    }
}

impl LedgerFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, cached: None }
    }

    /// The current content. A file that does not exist is empty; any other trouble is an error.
    pub(super) fn read(&mut self) -> io::Result<Arc<Store>> {
        let meta = match self.path.symlink_metadata() {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.cached = None;
                return Ok(Arc::new(Store::empty()));
            }
            Err(error) => return Err(error),
        };
        if let Some(cached) = &self.cached
            && cached.stamp == Stamp::of(&meta)
        {
            return Ok(Arc::clone(&cached.store));
        }
        self.cached = None;
        let cached = load(&self.path)?;
        let store = Arc::clone(&cached.store);
        self.cached = Some(cached);
        Ok(store)
    }

    /// Changes the content under the lock of all processes; durable when this returns.
    pub(super) fn change<T>(&mut self, act: impl FnOnce(&mut Store) -> T) -> io::Result<T> {
        if let Some(folder) = self.path.parent() {
            os::create_private_folder(folder)?;
        }
        let lock = beside(&self.path, ".lock");
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let lock = os::guarded(options).open(lock)?;
        lock_file(&lock)?;
        let before = self.read()?;
        let mut store = Store::clone(&before);
        let result = act(&mut store);
        if store != *before {
            let mut bytes = serde_json::to_vec_pretty(&store)?;
            bytes.push(b'\n');
            if let Some(cached) = &self.cached {
                let mut old = serde_json::to_vec_pretty(cached.store.as_ref())?;
                old.push(b'\n');
                write_atomic(&beside(&self.path, ".bak"), &old)?;
            }
            write_atomic(&self.path, &bytes)?;
        }
        // Closing the lock file gives the lock back.
        Ok(result)
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn load(path: &Path) -> io::Result<Cached> {
    let damaged = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let file = os::guarded(OpenOptions::new().read(true)).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() || !os::is_own(&meta) || os::others_write(&meta) {
        let why = "it is not a regular file that this user alone may change";
        return Err(damaged(why.to_owned()));
    }
    let mut bytes = Vec::new();
    (&file).take(SIZE_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SIZE_MAX {
        return Err(damaged(format!("it is larger than {SIZE_MAX} bytes")));
    }
    let store = Store::parse(&bytes).map_err(damaged)?;
    Ok(Cached {
        _held: os::hold(file),
        stamp: Stamp::of(&meta),
        store: Arc::new(store),
    })
}
