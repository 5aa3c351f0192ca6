//! The ledger on disk: pins and remembered answers in one file that several processes share, and
//! the answers of this session in memory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::request::{
    Answer, Entry, Key, Ledger, LedgerError, MemoryLedger, PinKind, PinRecord, belongs,
};

use super::ledger_store::{LedgerFile, Store};

/// Pins and remembered answers in a file.
///
/// Each change is atomic and durable; a file that cannot be read is an error and never an empty
/// ledger. Answers for this session stay in memory.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use creance::{FileLedger, Ledger, PinKind};
///
/// let folder = tempfile::tempdir()?;
/// let ledger = FileLedger::file(folder.path().join("ledger.json"))?;
/// assert_eq!(ledger.pin(PinKind::Definition, "user/files")?, None);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileLedger {
    file: Mutex<LedgerFile>,
    session: MemoryLedger,
    path: PathBuf,
}

impl FileLedger {
    /// A ledger in a file, which need not exist yet.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn file(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let path = std::path::absolute(path.as_ref()).map_err(|cause| LedgerError {
            what: format!(
                "cannot tell where the ledger `{}` is",
                path.as_ref().display()
            ),
            source: Some(cause),
        })?;
        let ledger = Self {
            file: Mutex::new(LedgerFile::new(path.clone())),
            session: MemoryLedger::default(),
            path,
        };
        ledger.read()?;
        Ok(ledger)
    }

    fn lock(&self) -> MutexGuard<'_, LedgerFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> Result<Arc<Store>, LedgerError> {
        self.lock().read().map_err(|cause| LedgerError {
            what: format!(
                "cannot read the pins and answers in `{0}`, so nothing counts as agreed to; restore \
                 it from `{0}.bak`, or move it away and agree again",
                self.path.display()
            ),
            source: Some(cause),
        })
    }

    fn change<T>(&self, act: impl FnOnce(&mut Store) -> T) -> Result<T, LedgerError> {
        // Reading first gives the fuller message when the file is damaged.
        self.read()?;
        self.lock().change(act).map_err(|cause| LedgerError {
            what: format!(
                "cannot keep an answer in `{}`, so it counts as not given; make its folder writable \
                 and see that its disk has room",
                self.path.display()
            ),
            source: Some(cause),
        })
    }
}

impl Ledger for FileLedger {
    fn pin(&self, kind: PinKind, subject: &str) -> Result<Option<PinRecord>, LedgerError> {
        let store = self.read()?;
        Ok(store
            .pins
            .get(&kind)
            .and_then(|pins| pins.get(subject))
            .cloned())
    }

    fn set_pin(&self, kind: PinKind, subject: &str, pin: PinRecord) -> Result<(), LedgerError> {
        self.change(|store| {
            store
                .pins
                .entry(kind)
                .or_default()
                .insert(subject.to_owned(), pin);
        })
    }

    fn answer(&self, keys: &[Key], now_ms: i64) -> Result<Option<Entry>, LedgerError> {
        let kept = self.read()?;
        let kept = kept
            .answers
            .iter()
            .filter(|entry| keys.iter().any(|key| entry.covers(key, now_ms)))
            .max_by_key(|entry| entry.at_ms);
        let session = self.session.answer(keys, now_ms)?;
        Ok(session.or_else(|| kept.cloned()))
    }

    fn remember(&self, entry: Entry) -> Result<(), LedgerError> {
        match entry.answer {
            Answer::Session => self.session.remember(entry),
            Answer::Remembered => {
                self.session.end_older(&entry);
                self.change(|store| {
                    let now_ms = entry.at_ms;
                    store
                        .answers
                        .retain(|kept| !entry.replaces(kept) && !kept.is_over(now_ms));
                    store.answers.push(entry);
                })
            }
            Answer::None | Answer::Once => Err(LedgerError {
                what: format!("an answer `{}` is not kept", entry.answer.word()),
                source: Some(io::Error::from(io::ErrorKind::InvalidInput)),
            }),
        }
    }

    fn forget(&self, server: &str) -> Result<usize, LedgerError> {
        let kept = self.change(|store| {
            let before = store.count();
            for pins in store.pins.values_mut() {
                pins.retain(|subject, _| !belongs(subject, server));
            }
            store
                .answers
                .retain(|entry| !belongs(&entry.resource, server));
            before - store.count()
        })?;
        Ok(kept + self.session.forget(server)?)
    }

    fn revoke(&self, id: &str) -> Result<bool, LedgerError> {
        let kept = self.change(|store| {
            let before = store.answers.len();
            store.answers.retain(|entry| entry.id() != id);
            store.answers.len() < before
        })?;
        Ok(self.session.revoke(id)? || kept)
    }

    fn entries(&self) -> Result<Vec<Entry>, LedgerError> {
        let mut entries = self.read()?.answers.clone();
        entries.extend(self.session.entries()?);
        Ok(entries)
    }
}

#[cfg(test)]
#[path = "tests/ledger.rs"]
mod tests;
