//! Where pins and remembered answers are kept. The trait stands here; the file is in `disk`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

use super::act::{Holding, Key};
use super::answer::Answer;

/// What a pin is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PinKind {
    /// A server's definition.
    Definition,
    /// Its program, script and lock file.
    Artefact,
    /// Its tool list; `parts` holds the digest of each tool.
    Tools,
}

/// What was agreed to about one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinRecord {
    /// The digest of the whole.
    pub digest: Digest,
    /// Named parts with their digests (tools; files of an artefact), so that a change can be shown.
    pub parts: BTreeMap<String, Digest>,
    /// What it looked like, for showing the difference. Masked; never holds a secret.
    pub shown: String,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// Whether it holds for good. What was agreed to once or for a session is kept too, so that the
    /// next question can show what changed, but it never counts as agreed to.
    #[serde(default = "lasting")]
    pub lasting: bool,
}

fn lasting() -> bool {
    true
}

/// A remembered answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The action's Cedar name.
    pub action: String,
    /// See [`Key::principal`].
    pub principal: String,
    /// See [`Key::resource`].
    pub resource: String,
    /// See [`Key::fingerprint`].
    pub fingerprint: Digest,
    /// What the answer covers, in words.
    pub scope: String,
    /// The answer: [`Answer::Session`] or [`Answer::Remembered`].
    pub answer: Answer,
    /// How it was given.
    pub channel: String,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// Until when it holds; `None` for ever.
    pub until_ms: Option<i64>,
    /// See [`Key::holding`].
    #[serde(default)]
    pub holding: Holding,
}

impl Entry {
    /// Whether this entry answers a request with this key at this time.
    #[must_use]
    pub fn covers(&self, key: &Key, now_ms: i64) -> bool {
        self.action == key.action
            && self.principal == key.principal
            && self.resource == key.resource
            && self.fingerprint == key.fingerprint
            && !self.is_over(now_ms)
    }

    /// Whether its time is over.
    #[must_use]
    pub fn is_over(&self, now_ms: i64) -> bool {
        self.until_ms.is_some_and(|until| now_ms >= until)
    }

    /// A name for this answer that people can type: it is the same on every machine and in every run.
    #[must_use]
    pub fn id(&self) -> String {
        let fields = [&self.action, &self.principal, &self.resource, &self.scope];
        let fingerprint = self.fingerprint.to_string();
        Digest::of_fields("answer/1", fields.into_iter().chain([&fingerprint])).short()
    }

    /// Whether this newer answer takes the place of an older one.
    #[must_use]
    pub fn replaces(&self, older: &Self) -> bool {
        self.action == older.action
            && self.principal == older.principal
            && self.resource == older.resource
            && self.scope == older.scope
            && (self.holding == Holding::Latest || self.fingerprint == older.fingerprint)
    }
}

/// The store of pins and answers could not be read or written.
#[derive(Debug)]
pub struct LedgerError {
    /// What was tried, with the file.
    pub what: String,
    /// The cause.
    pub source: Option<std::io::Error>,
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(cause) => write!(f, "{}: {cause}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for LedgerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

/// Keeps pins and remembered answers. Every write is durable and atomic; several processes may
/// use the same store.
pub trait Ledger: Send + Sync + fmt::Debug {
    /// The pin of a subject (`user/github`).
    ///
    /// # Errors
    /// When the store cannot be read; the caller fails closed.
    fn pin(&self, kind: PinKind, subject: &str) -> Result<Option<PinRecord>, LedgerError>;

    /// Sets the pin of a subject.
    ///
    /// # Errors
    /// When the store cannot be written; nothing is then changed.
    fn set_pin(&self, kind: PinKind, subject: &str, pin: PinRecord) -> Result<(), LedgerError>;

    /// The strongest answer on file for one of the keys.
    ///
    /// # Errors
    /// When the store cannot be read; the caller fails closed.
    fn answer(&self, keys: &[Key], now_ms: i64) -> Result<Option<Entry>, LedgerError>;

    /// Keeps an answer. A session answer lives in this process only.
    ///
    /// # Errors
    /// When the store cannot be written; nothing is then kept.
    fn remember(&self, entry: Entry) -> Result<(), LedgerError>;

    /// Forgets all pins and answers about a server (`user/github`); returns how many.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn forget(&self, server: &str) -> Result<usize, LedgerError>;

    /// Takes one answer back, by [`Entry::id`]; returns whether there was one.
    ///
    /// # Errors
    /// When the store cannot be written; the answer then still holds.
    fn revoke(&self, id: &str) -> Result<bool, LedgerError>;

    /// All answers on file, for listing.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn entries(&self) -> Result<Vec<Entry>, LedgerError>;
}

/// A ledger in memory: for embedders who keep none, and the base of the one on disk.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    pins: Mutex<BTreeMap<(PinKind, String), PinRecord>>,
    entries: Mutex<Vec<Entry>>,
}

impl MemoryLedger {
    fn with_pins<T>(
        &self,
        act: impl FnOnce(&mut BTreeMap<(PinKind, String), PinRecord>) -> T,
    ) -> T {
        act(&mut self.pins.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn with_entries<T>(&self, act: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        act(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl MemoryLedger {
    /// Ends the answers that a newer one kept elsewhere takes the place of.
    pub(crate) fn end_older(&self, newer: &Entry) {
        self.with_entries(|entries| entries.retain(|older| !newer.replaces(older)));
    }
}

/// Whether an entry or pin with this resource belongs to the server: `user/a` owns `user/a/read`
/// but not `user/ab`.
pub(crate) fn belongs(resource: &str, server: &str) -> bool {
    resource
        .strip_prefix(server)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Ledger for MemoryLedger {
    fn pin(&self, kind: PinKind, subject: &str) -> Result<Option<PinRecord>, LedgerError> {
        Ok(self.with_pins(|pins| pins.get(&(kind, subject.to_owned())).cloned()))
    }

    fn set_pin(&self, kind: PinKind, subject: &str, pin: PinRecord) -> Result<(), LedgerError> {
        self.with_pins(|pins| pins.insert((kind, subject.to_owned()), pin));
        Ok(())
    }

    fn answer(&self, keys: &[Key], now_ms: i64) -> Result<Option<Entry>, LedgerError> {
        Ok(self.with_entries(|entries| {
            entries
                .iter()
                .filter(|entry| keys.iter().any(|key| entry.covers(key, now_ms)))
                .max_by_key(|entry| entry.answer)
                .cloned()
        }))
    }

    fn remember(&self, entry: Entry) -> Result<(), LedgerError> {
        self.with_entries(|entries| {
            entries.retain(|older| !entry.replaces(older));
            entries.push(entry);
        });
        Ok(())
    }

    fn forget(&self, server: &str) -> Result<usize, LedgerError> {
        let pins = self.with_pins(|pins| {
            let before = pins.len();
            pins.retain(|(_, subject), _| !belongs(subject, server));
            before - pins.len()
        });
        let answers = self.with_entries(|entries| {
            let before = entries.len();
            entries.retain(|entry| !belongs(&entry.resource, server));
            before - entries.len()
        });
        Ok(pins + answers)
    }

    fn revoke(&self, id: &str) -> Result<bool, LedgerError> {
        Ok(self.with_entries(|entries| {
            let before = entries.len();
            entries.retain(|entry| entry.id() != id);
            entries.len() < before
        }))
    }

    fn entries(&self) -> Result<Vec<Entry>, LedgerError> {
        Ok(self.with_entries(|entries| entries.clone()))
    }
}
