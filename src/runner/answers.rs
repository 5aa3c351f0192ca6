//! Lasting answers of people: listing, taking back, turning into a policy.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::audit::EventKind;
use crate::clean;
use crate::disk;
use crate::policy::{self, PolicySet, PolicySource, StoreParts};
use crate::request::{DenyAll, Entry, Layer, Trigger};

use super::error::{Error, ErrorKind};
use super::workspace::Workspace;

/// The file of the user's policies that answers are written into.
const FILE: &str = "answers.cedar";

impl Workspace {
    /// The lasting answers in force, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn answers(&self) -> Result<Vec<Entry>, Error> {
        let entries = self.ledger()?.entries();
        let mut entries = entries.map_err(|e| Error::caused(ErrorKind::Io, e.to_string(), e))?;
        let now_ms = disk::clock();
        entries.retain(|entry| !entry.is_over(now_ms));
        entries.sort_by_key(|entry| entry.at_ms);
        Ok(entries)
    }

    /// Takes a lasting answer back, by [`Entry::id`] or its first digits: the next request asks again.
    ///
    /// # Errors
    /// When there is no such answer, it cannot be put on record, or the file cannot be written.
    pub fn revoke_answer(&self, id: &str) -> Result<Entry, Error> {
        let entry = self.answer(id)?;
        let line = self.line(Arc::new(DenyAll), Trigger::Person)?;
        let details = json!({
            "id": entry.id(),
            "action": entry.action,
            "resource": clean::line(&entry.resource, 200),
        });
        let name = "answer-revoked".to_owned();
        line.point
            .note(EventKind::Note { name, details })
            .map_err(|e| Error::caused(ErrorKind::Audit, e.to_string(), e))?;
        let revoked = line.point.ledger().revoke(&entry.id());
        revoked.map_err(|e| Error::caused(ErrorKind::Io, e.to_string(), e))?;
        Ok(entry)
    }

    /// A lasting answer as the text of a policy.
    ///
    /// # Errors
    /// When there is no such answer, or no policy can say what it says.
    pub fn answer_rule(&self, id: &str) -> Result<String, Error> {
        Ok(rule(&self.answer(id)?)?.1)
    }

    /// Writes a lasting answer as a policy into the user's layer; returns the file.
    ///
    /// # Errors
    /// As [`Workspace::answer_rule`]; when the policy is there already; when the file cannot be
    /// written or does not load. Nothing is then changed.
    pub fn write_answer_rule(&self, id: &str) -> Result<PathBuf, Error> {
        let (name, rule) = rule(&self.answer(id)?)?;
        let file = self.folders.policies().join(FILE);
        let before = read(&file)?;
        if before.contains(&format!("@id(\"{name}\")")) {
            let message = format!("`{}` holds the policy `{name}` already", file.display());
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let head = "// Answers that became policies: `creance answers rule`.\n";
        let before = if before.is_empty() { head } else { &before };
        let text = format!("{}\n\n{rule}", before.trim_end());
        self.checked(&file, &text)?;
        write(&file, &text)?;
        Ok(file)
    }

    fn answer(&self, id: &str) -> Result<Entry, Error> {
        let no = |message: String| Error::new(ErrorKind::Usage, message);
        let shown = clean::line(id, 40);
        if id.len() < 4 {
            return Err(no(format!(
                "`{shown}` is too short: give four digits or more"
            )));
        }
        let mut found = self
            .answers()?
            .into_iter()
            .filter(|e| e.id().starts_with(id));
        match (found.next(), found.next()) {
            (Some(entry), None) => Ok(entry),
            (Some(_), Some(_)) => Err(no(format!(
                "`{shown}` fits several answers: give more digits"
            ))),
            (None, _) => Err(no(format!(
                "no answer `{shown}`: `creance answers list` shows them"
            ))),
        }
    }
}

fn rule(entry: &Entry) -> Result<(String, String), Error> {
    policy::rule(entry).map_err(|why| Error::caused(ErrorKind::Policy, why.to_string(), why))
}

pub(super) fn read(file: &Path) -> Result<String, Error> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(unusable(file, error)),
    }
}

/// Writes a file of policies, with its folder.
pub(super) fn write(file: &Path, text: &str) -> Result<(), Error> {
    let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.map_err(|cause| unusable(file, cause))?;
    disk::write_atomic(file, text.as_bytes()).map_err(|cause| unusable(file, cause))
}

fn unusable(file: &Path, cause: io::Error) -> Error {
    let message = format!("`{}` cannot be changed: {cause}", file.display());
    Error::caused(ErrorKind::Io, message, cause)
}

impl Workspace {
    /// A file that would not load would take the whole store with it.
    pub(super) fn checked(&self, file: &Path, text: &str) -> Result<(), Error> {
        let source = PolicySource {
            layer: Layer::User,
            file: file.display().to_string(),
            text: text.to_owned(),
        };
        let parts = StoreParts {
            sources: vec![source],
            locks: self.policies.parts.locks.clone(),
            ..StoreParts::default()
        };
        match PolicySet::build(&parts) {
            Ok(_) => Ok(()),
            Err(problems) => {
                let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
                Err(Error::new(ErrorKind::Policy, lines.join("\n")))
            }
        }
    }
}
