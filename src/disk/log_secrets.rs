//! What people do with the keys of an audit log: look which are in use, take the starting keys away,
//! begin new ones, sign the head.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::audit::{AuditError, Checkpoint, Event, EventKind, Head, StartKey};
use crate::digest::{Digest, PublicKey};

use super::audit_log::{AuditLog, no_signing_key};
use super::clock::{clock, random_id};
use super::log_keys;
use super::log_names;
use super::sign;

/// The keys of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Keys {
    /// What the keys in use are known by; `None` when the log has no key file.
    pub id: Option<Digest>,
    /// The number of the first record under them.
    pub first: Option<u64>,
    /// The last record, as the key file has it.
    pub head: Option<Head>,
    /// What the starting keys are known by that still lie beside the log.
    pub beside: Vec<Digest>,
    /// The file in which they lie.
    pub file: PathBuf,
    /// Who signs checkpoints, once one was made.
    pub signer: Option<PublicKey>,
}

impl AuditLog {
    /// The keys of a log, without their secrets.
    ///
    /// # Errors
    /// When their files cannot be read.
    pub fn keys(path: impl AsRef<Path>) -> Result<Keys, AuditError> {
        let path = path.as_ref();
        let state = log_keys::read(path).map_err(|cause| unread(path, cause))?;
        let beside = Self::start_keys(path)?;
        Ok(Keys {
            id: state.as_ref().map(|state| state.id),
            first: state.as_ref().map(|state| state.first),
            head: state.as_ref().map(|state| state.head),
            beside: beside.iter().map(StartKey::id).collect(),
            file: log_names::start_keys(path),
            signer: Self::signer(path)?,
        })
    }

    /// The starting keys that still lie beside a log.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn start_keys(path: impl AsRef<Path>) -> Result<Vec<StartKey>, AuditError> {
        let path = path.as_ref();
        let keys = log_keys::start_keys(&log_names::start_keys(path));
        keys.map_err(|cause| unread(path, cause))
    }

    /// Takes the starting keys off the disk, for them to be kept elsewhere: whoever has them can
    /// check every record, and could have made them. Gives none when they were taken before.
    ///
    /// # Errors
    /// When they cannot be read or erased.
    pub fn take_start_keys(path: impl AsRef<Path>) -> Result<Vec<StartKey>, AuditError> {
        let path = path.as_ref();
        log_keys::take_start_keys(path).map_err(|cause| AuditError {
            what: format!(
                "the starting keys in `{}` cannot be taken",
                log_names::start_keys(path).display()
            ),
            source: Some(cause),
        })
    }

    /// Ends the keys in use and begins new ones, which the last record under the old ones names. The
    /// new starting key lies beside the log until it is taken.
    ///
    /// # Errors
    /// When the log or its keys cannot be written.
    pub fn renew_keys(path: impl AsRef<Path>) -> Result<Digest, AuditError> {
        let path = path.as_ref();
        let log = Self::file(path)?;
        let run = random_id().map_err(|cause| unread(path, cause))?;
        let at = Event {
            at_ms: clock(),
            run,
            kind: EventKind::Note {
                name: "keys-are-renewed".to_owned(),
                details: serde_json::Value::Null,
            },
        };
        let start = log.lock().renew_keys(&at)?;
        log.flush()?;
        Ok(start.id())
    }

    /// Signs the head of a log.
    ///
    /// # Errors
    /// When the log or its signing key cannot be read.
    pub fn checkpoint(path: impl AsRef<Path>) -> Result<Checkpoint, AuditError> {
        let path = path.as_ref();
        let log = Self::file(path)?;
        log.flush()?;
        let keys = sign::existing_or_new(path).map_err(|cause| no_signing_key(path, cause))?;
        Ok(Checkpoint::sign(log.head(), clock(), &keys))
    }
}

fn unread(log: &Path, cause: io::Error) -> AuditError {
    AuditError {
        what: format!("cannot read the keys of the audit log `{}`", log.display()),
        source: Some(cause),
    }
}
