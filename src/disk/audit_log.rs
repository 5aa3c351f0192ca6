//! The audit log as a file that several threads and processes write at once.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::audit::{
    AuditError, AuditSink, Checkpoint, Event, Filter, Head, Mend, Receipt, Record, Report, Scope,
    StartKey, Verifier,
};

use crate::digest::PublicKey;

use super::append::Appender;
use super::log_keys;
use super::log_names;
use super::log_reader::open_all;
use super::rotate::Rotation;
use super::sign;
use super::sync::{Durability, Syncer};

/// The audit log: files of JSON lines, each linked to the one before it by a digest, and each with
/// a code made by a key that is erased when the line is written (`FILE.key` holds the next one).
///
/// Several threads and processes may write to the same file. A record is written whole or not at
/// all; a line that a crash left torn is closed off and noted. When the file cannot be written
/// (full disk, read-only, removed folder), `append` fails until it can be again.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use creance::{AuditLog, AuditSink, Event, EventKind};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("audit.jsonl");
/// let log = AuditLog::file(&path)?;
/// let receipt = log.append(&Event {
///     at_ms: 1_700_000_000_000,
///     run: "f00d".to_owned(),
///     kind: EventKind::Note { name: "run-start".to_owned(), details: serde_json::Value::Null },
/// })?;
/// assert_eq!(receipt.seq, 1);
/// assert!(AuditLog::verify(&path, None)?.ok);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AuditLog {
    appender: Mutex<Appender>,
    durability: Durability,
    syncer: Syncer,
}

/// What a log is checked with.
#[derive(Clone, Debug)]
pub struct Check {
    /// What is checked: all files of a log, unless it is said otherwise.
    pub scope: Scope,
    /// Starting keys that are kept elsewhere; those beside the log are used anyway.
    pub keys: Vec<StartKey>,
    /// Heads that were noted elsewhere.
    pub noted: Vec<Head>,
    /// Checkpoints that were kept elsewhere.
    pub checkpoints: Vec<Checkpoint>,
    /// Who signs them; by default whose key lies beside the log.
    pub signer: Option<PublicKey>,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            scope: Scope::Log,
            keys: Vec::new(),
            noted: Vec::new(),
            checkpoints: Vec::new(),
            signer: None,
        }
    }
}

impl AuditLog {
    /// Opens a log, or creates it: mode 0600, in a folder of mode 0700 when that is new too.
    ///
    /// # Errors
    /// When the path is a link, no regular file, somebody else's, not an audit log, or cannot be
    /// opened for writing.
    pub fn file(path: impl AsRef<Path>) -> Result<Self, AuditError> {
        let path = std::path::absolute(path.as_ref()).map_err(|cause| AuditError {
            what: format!(
                "cannot tell where the audit log `{}` is",
                path.as_ref().display()
            ),
            source: Some(cause),
        })?;
        Ok(Self {
            appender: Mutex::new(Appender::open(path)?),
            durability: Durability::default(),
            syncer: Syncer::start(),
        })
    }

    /// Says when a record must be on the disk.
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The last record that this process knows, to be noted elsewhere.
    #[must_use]
    pub fn head(&self) -> Head {
        self.lock().head()
    }

    /// Waits until everything that was written is on the disk.
    ///
    /// # Errors
    /// When the disk reports a failure.
    pub fn flush(&self) -> Result<(), AuditError> {
        self.syncer.flush();
        match self.syncer.take_failure() {
            Some(cause) => Err(self.not_synced(io::Error::other(cause))),
            None => Ok(()),
        }
    }

    /// Says when a new file is begun, and how long full ones are kept.
    #[must_use]
    pub fn with_rotation(self, rotation: Rotation) -> Self {
        self.lock().set_rotation(rotation);
        self
    }

    /// Adds signed heads to a file, one line each: at the end of a run, and while records are
    /// written at least each minute. The file should lie where whoever can change the log cannot
    /// change it. When it cannot be written, that is on record.
    ///
    /// # Errors
    /// When the log's signing key can be neither read nor made.
    pub fn with_checkpoints(self, file: impl AsRef<Path>) -> Result<Self, AuditError> {
        let appender = self.lock();
        let keys = sign::existing_or_new(appender.path());
        let keys = keys.map_err(|cause| no_signing_key(appender.path(), cause))?;
        drop(appender);
        self.syncer.keep_checkpoints(file.as_ref(), keys);
        Ok(self)
    }

    /// Who signs the checkpoints of a log, when somebody does.
    ///
    /// # Errors
    /// When the signing key cannot be read.
    pub fn signer(path: impl AsRef<Path>) -> Result<Option<PublicKey>, AuditError> {
        let path = path.as_ref();
        let keys = sign::existing(path).map_err(|cause| no_signing_key(path, cause))?;
        Ok(keys.map(|keys| keys.public()))
    }

    /// Checks all files of a log, with the starting keys that still lie beside it; `noted` is a head
    /// that was noted elsewhere. Writers are not held up.
    ///
    /// # Errors
    /// When the files cannot be read. Faults of the log are in the report.
    pub fn verify(path: impl AsRef<Path>, noted: Option<Head>) -> Result<Report, AuditError> {
        let check = Check {
            noted: noted.into_iter().collect(),
            ..Check::default()
        };
        Self::check(path, &check)
    }

    /// Checks all files of a log.
    ///
    /// # Errors
    /// When the files cannot be read. Faults of the log are in the report.
    pub fn check(path: impl AsRef<Path>, check: &Check) -> Result<Report, AuditError> {
        let path = path.as_ref();
        let unread = |cause| AuditError {
            what: format!("cannot read the keys of the audit log `{}`", path.display()),
            source: Some(cause),
        };
        let beside = log_keys::start_keys(&log_names::start_keys(path)).map_err(unread)?;
        let log = open_all(path)?;
        let mut verifier = Verifier::new()
            .with_scope(check.scope)
            .with_keys(beside.into_iter().chain(check.keys.iter().cloned()))
            .with_state(log.state);
        for noted in &check.noted {
            verifier = verifier.with_noted(*noted);
        }
        if !check.checkpoints.is_empty() {
            let signer = match check.signer {
                Some(signer) => Some(signer),
                None => Self::signer(path)?,
            };
            verifier = verifier.with_checkpoints(&check.checkpoints, signer);
        }
        for file in log.files {
            verifier.file(file.name());
            for line in file {
                verifier.line(&line?);
            }
        }
        Ok(verifier.finish())
    }

    /// The records that a filter wants, and how many lines could not be read as records of this
    /// version (they are left out; see [`AuditLog::verify`]).
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn pick(path: impl AsRef<Path>, filter: &Filter) -> Result<(Vec<Record>, u64), AuditError> {
        let mut failed = None;
        let mut unread = 0;
        let files = open_all(path.as_ref())?.files;
        let lines = files.into_iter().flatten().map_while(|line| match line {
            Ok(line) => Some(line),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        let records = lines.filter_map(|line| {
            let record = serde_json::from_slice(&line).ok();
            unread += u64::from(record.is_none());
            record
        });
        let picked = filter.pick(records);
        match failed {
            Some(error) => Err(error),
            None => Ok((picked, unread)),
        }
    }

    /// Why an earlier sync failed, to be noted, once the disk works again; an error until then.
    fn after_failed_sync(&self, appender: &Appender) -> Result<Option<String>, AuditError> {
        let Some(failure) = self.syncer.take_failure() else {
            return Ok(None);
        };
        if let Some(file) = appender.file()
            && let Err(cause) = file.sync_data()
        {
            self.syncer.put_back_failure(Some(failure));
            return Err(not_synced(appender.path(), cause));
        }
        Ok(Some(failure))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Appender> {
        self.appender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn not_synced(&self, cause: io::Error) -> AuditError {
        not_synced(self.lock().path(), cause)
    }
}

pub(super) fn no_signing_key(log: &Path, cause: io::Error) -> AuditError {
    AuditError {
        what: format!(
            "the signing key `{}` cannot be used",
            log_names::signing_key(log).display()
        ),
        source: Some(cause),
    }
}

fn not_synced(path: &Path, cause: io::Error) -> AuditError {
    AuditError {
        what: format!(
            "the audit log `{}` may not have reached its disk, so nothing is allowed; see to the disk",
            path.display()
        ),
        source: Some(cause),
    }
}

impl AuditSink for AuditLog {
    fn append(&self, event: &Event) -> Result<Receipt, AuditError> {
        let mut appender = self.lock();
        let failure = self.after_failed_sync(&appender)?;
        let not_kept = self.syncer.take_not_kept();
        let failed = failure.clone().map(Mend::SyncFailed).into_iter();
        let notes = failed.chain(not_kept.map(Mend::CheckpointNotKept));
        let receipt = appender.append(event, notes.collect());
        let (file, head) = (appender.file().cloned(), appender.head());
        drop(appender);
        let receipt = receipt.inspect_err(|_| self.syncer.put_back_failure(failure))?;
        let Some(file) = file else {
            return Ok(receipt);
        };
        if self.durability == Durability::Always {
            file.sync_data().map_err(|cause| self.not_synced(cause))?;
        }
        self.syncer.written(&file, head);
        Ok(receipt)
    }

    fn flush(&self) -> Result<(), AuditError> {
        Self::flush(self)
    }
}

#[cfg(test)]
#[path = "tests/audit_log.rs"]
mod tests;
