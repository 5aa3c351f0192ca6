//! What a check of the log found, for people and for programs.

use std::fmt;

use serde::Serialize;

use super::record::Head;
use crate::clean::visible;

/// What a check of the log found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether no fault was found.
    pub ok: bool,
    /// Whether no records are known to be missing, though that is on record.
    pub complete: bool,
    /// Files read, where it was said that there are several.
    pub files: u64,
    /// Lines read.
    pub lines: u64,
    /// Records among them.
    pub records: u64,
    /// Records among them whose code is the one that their key makes.
    pub proven: u64,
    /// Whether the key file, or a head that was noted elsewhere, shows that nothing was cut off.
    pub end_proven: bool,
    /// Whether there is a key file.
    #[serde(skip)]
    pub(super) key_file: bool,
    /// The head of an earlier file that was moved away when it was full.
    #[serde(skip)]
    pub(super) rotated: Option<Head>,
    /// The last record. Note it elsewhere: the chain alone cannot tell that the end was cut off.
    pub head: Head,
    /// The head of an earlier file that this one continues.
    pub continues: Option<Head>,
    /// Where the chain does not hold; at most [`Report::LISTED_MAX`].
    pub faults: Vec<Fault>,
    /// Losses that were noticed and noted when they happened; at most [`Report::LISTED_MAX`].
    pub losses: Vec<Loss>,
    /// Allowed effects whose outcome is not on record: the run ended before, or goes on;
    /// at most [`Report::LISTED_MAX`].
    pub no_outcome: Vec<NoOutcome>,
    /// Findings beyond those that are listed.
    pub unlisted: u64,
    /// Lines whose time is before that of the line above: the clock was set back. Harmless, for
    /// order comes from the numbers.
    pub clock_set_back: u64,
}

impl Report {
    /// How many findings of a kind are listed.
    pub const LISTED_MAX: usize = 1000;

    /// Of a log of which nothing was read yet.
    pub(super) fn new() -> Self {
        Self {
            ok: true,
            complete: true,
            files: 0,
            lines: 0,
            records: 0,
            proven: 0,
            end_proven: false,
            key_file: false,
            rotated: None,
            head: Head::empty(),
            continues: None,
            faults: Vec::new(),
            losses: Vec::new(),
            no_outcome: Vec::new(),
            unlisted: 0,
            clock_set_back: 0,
        }
    }
}

/// A place where the chain does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The file, where the log has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    pub line: u64,
    /// The number of its record, when it can be read.
    pub seq: Option<u64>,
    /// What is wrong.
    #[serde(flatten)]
    pub kind: FaultKind,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "fault")]
#[non_exhaustive]
pub enum FaultKind {
    /// It is no record.
    Unreadable {
        /// Why.
        why: String,
    },
    /// The line above is not the one that was there when this one was written.
    LineAboveChanged,
    /// Records are missing before it.
    Missing {
        /// The number that should stand here.
        expected: u64,
    },
    /// Its number was used before: a record was repeated, inserted or moved.
    OutOfOrder {
        /// The number that should stand here.
        expected: u64,
    },
    /// The log does not start with its first record.
    NoStart,
    /// It says that a torn line was closed off, but what stands above is something else.
    FalseNote,
    /// It is the outcome of something that was never allowed.
    OutcomeOfNothing {
        /// The number that it names.
        of: u64,
    },
    /// The log ends before the record whose number was noted elsewhere.
    CutOff {
        /// The noted number.
        noted: u64,
    },
    /// The record is not the one that was noted elsewhere.
    NotAsNoted,
    /// Its code is not the one that its key makes: it was written or changed by somebody who did not
    /// have the key at its time.
    WrongCode,
    /// It has no code, though keys were in use.
    NoCode,
    /// Other keys are used from here on, and the ones before do not name them.
    KeysChanged,
    /// The key file does not go with the records.
    KeyFile,
    /// There is no key file where the log is written.
    NoKeyFile,
    /// Full files were removed, and not by Creance.
    FilesMissing {
        /// The number of the last record that is not there.
        through: u64,
    },
    /// A checkpoint is not signed by who should.
    Checkpoint {
        /// What is wrong with it.
        why: String,
    },
}

/// A loss that a writer noticed and noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The file, where the log has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    pub line: u64,
    /// What was lost.
    #[serde(flatten)]
    pub kind: LossKind,
}

/// What was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "loss")]
#[non_exhaustive]
pub enum LossKind {
    /// A line that was not written whole (a crash, a full disk) and was closed off.
    TornLine {
        /// How many bytes are no record.
        bytes: u64,
    },
    /// The last line is not whole; the next writer closes it off.
    OpenEnd {
        /// How many bytes it has.
        bytes: u64,
    },
    /// The file was removed, replaced or cut while a run was writing to it.
    Records {
        /// The last record before.
        after: u64,
        /// The last record that the writer knew.
        known: u64,
        /// What the writer found.
        why: String,
    },
    /// Records may not have reached the disk.
    NotSynced,
}

/// An allowed effect whose outcome is not on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoOutcome {
    /// The file, where the log has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of the decision, from 1.
    pub line: u64,
    /// Its number.
    pub seq: u64,
    /// The Cedar action.
    pub action: String,
    /// The run that it belongs to.
    pub run: String,
    /// Whether that run is known to have ended.
    pub run_ended: bool,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { why } => write!(f, "no record: {}", visible(why)),
            Self::LineAboveChanged => {
                f.write_str("the line above was changed after it was written")
            }
            Self::Missing { expected } => {
                write!(f, "records from {expected} on are missing before it")
            }
            Self::OutOfOrder { expected } => write!(
                f,
                "repeated, inserted or moved: record {expected} should stand here"
            ),
            Self::NoStart => f.write_str("the start of the log is missing before it"),
            Self::FalseNote => f.write_str("it notes a torn line, but another stands above it"),
            Self::OutcomeOfNothing { of } => {
                write!(f, "outcome of record {of}, which allowed nothing")
            }
            Self::CutOff { noted } => {
                write!(f, "the log ends before record {noted}, which was noted")
            }
            Self::NotAsNoted => f.write_str("not the record that was noted"),
            Self::WrongCode => f.write_str(
                "its code is not the one of its key: written or changed by somebody without that key",
            ),
            Self::NoCode => f.write_str("it has no code, though keys were in use"),
            Self::KeysChanged => f.write_str(
                "other keys are used from here on, and the ones before do not name them: the key \
                 file was removed or put back, and what stood before here may have been cut",
            ),
            Self::KeyFile => f.write_str(
                "the key file does not go with the records: it was put back or made up, or the log \
                 was cut off",
            ),
            Self::NoKeyFile => {
                f.write_str("there is no key file: the end of the log may have been cut off")
            }
            Self::FilesMissing { through } => write!(
                f,
                "files with the records up to {through} were removed, and not as the settings say"
            ),
            Self::Checkpoint { why } => write!(f, "a checkpoint is not believed: {}", visible(why)),
        }
    }
}

impl fmt::Display for LossKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TornLine { bytes } => write!(f, "a torn line of {bytes} bytes was closed off"),
            Self::OpenEnd { bytes } => write!(
                f,
                "the last line is not whole ({bytes} bytes); the next writer closes it off"
            ),
            Self::Records { after, known, why } => write!(
                f,
                "{}: records {} to {known} are not here",
                visible(why),
                after.saturating_add(1)
            ),
            Self::NotSynced => f.write_str("records above may not have reached the disk"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Fault {
            file,
            line,
            seq,
            kind,
        } in &self.faults
        {
            let at = at(file.as_deref(), *line);
            match seq {
                Some(seq) => writeln!(f, "{at} (record {seq}): {kind}")?,
                None => writeln!(f, "{at}: {kind}")?,
            }
        }
        for Loss { file, line, kind } in &self.losses {
            let at = at(file.as_deref(), *line);
            writeln!(f, "{at}: loss on record: {kind}")?;
        }
        for open in &self.no_outcome {
            let ended = if open.run_ended { " (run ended)" } else { "" };
            writeln!(
                f,
                "{} (record {}): {}: no outcome recorded{ended}",
                at(open.file.as_deref(), open.line),
                open.seq,
                visible(&open.action)
            )?;
        }
        if self.unlisted > 0 {
            writeln!(f, "and {} more findings", self.unlisted)?;
        }
        if self.clock_set_back > 0 {
            writeln!(f, "the clock was set back {} times", self.clock_set_back)?;
        }
        if let Some(before) = self.continues {
            writeln!(f, "continues an earlier file whose head is {before}")?;
        }
        let verdict = match (self.ok, self.complete) {
            (false, _) => "NOT verified",
            (true, false) => "verified, but records are MISSING",
            (true, true) => "verified",
        };
        write!(
            f,
            "{verdict}: {} records, {} proven by keys, {}; head {}",
            self.records,
            self.proven,
            if self.end_proven {
                "nothing cut off"
            } else {
                "end not proven"
            },
            self.head
        )
    }
}

/// `line 7`, `audit.jsonl:7`; what is wrong with a file that has no line is wrong with the log.
fn at(file: Option<&str>, line: u64) -> String {
    match file {
        Some(file) => format!("{}:{line}", visible(file)),
        None => format!("line {line}"),
    }
}
