//! The settings of the audit log.

use std::path::Path;

use super::fields::{Field, Reader};
use super::problem::ConfigProblem;
use super::settings::AuditSync;

/// `audit`: `None` where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuditSettings {
    /// `sync`
    pub(crate) sync: Option<AuditSync>,
    /// `maxMiB`: a file of the log is full at this size.
    pub(crate) max_mib: Option<u64>,
    /// `maxDays`: a file is old when its first record is.
    pub(crate) max_days: Option<u64>,
    /// `keepFiles`: how many full files are kept.
    pub(crate) keep_files: Option<u64>,
    /// `keepDays`: what is younger is kept all the same.
    pub(crate) keep_days: Option<u64>,
    /// `checkpoints`: the file to which signed heads are added.
    pub(crate) checkpoints: Option<String>,
    /// `formAnswers`: whether what people fill into the forms of servers is kept.
    pub(crate) form_answers: Option<bool>,
}

const KEYS: &[&str] = &[
    "sync",
    "maxMiB",
    "maxDays",
    "keepFiles",
    "keepDays",
    "checkpoints",
    "formAnswers",
];

impl AuditSettings {
    /// Reads them.
    pub(super) fn read<'a>(reader: &Reader<'a>, field: &Field<'a>) -> Result<Self, ConfigProblem> {
        let mut audit = Self::default();
        for member in reader.members(field)? {
            let value = &member.field;
            match member.key {
                "sync" => audit.sync = Some(reader.word(value, &AuditSync::ALL)?),
                "maxMiB" => audit.max_mib = Some(reader.whole(value, "mebibytes", 1 << 20)?),
                "maxDays" => audit.max_days = Some(reader.days(value)?),
                "keepFiles" => audit.keep_files = Some(reader.whole(value, "files", 100_000)?),
                "keepDays" => audit.keep_days = Some(reader.days(value)?),
                "checkpoints" => audit.checkpoints = Some(absolute(reader, value)?),
                "formAnswers" => audit.form_answers = Some(reader.flag(value)?),
                _ => return Err(reader.unknown(&member, KEYS)),
            }
        }
        Ok(audit)
    }

    /// These, and those of `weaker` where nothing is said.
    pub(super) fn or(self, weaker: &Self) -> Self {
        Self {
            sync: self.sync.or(weaker.sync),
            max_mib: self.max_mib.or(weaker.max_mib),
            max_days: self.max_days.or(weaker.max_days),
            keep_files: self.keep_files.or(weaker.keep_files),
            keep_days: self.keep_days.or(weaker.keep_days),
            checkpoints: self.checkpoints.or_else(|| weaker.checkpoints.clone()),
            form_answers: self.form_answers.or(weaker.form_answers),
        }
    }
}

fn absolute<'a>(reader: &Reader<'a>, field: &Field<'a>) -> Result<String, ConfigProblem> {
    let path = reader.text(field)?;
    if Path::new(path).is_absolute() {
        return Ok(path.to_owned());
    }
    Err(reader.problem(field, "must be an absolute path"))
}
