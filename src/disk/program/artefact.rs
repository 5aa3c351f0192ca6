//! What was found and hashed for one command.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::clean;
use crate::digest::{Digest, DigestBuilder};
use crate::grant::FileStamp;

use super::hash::{self, Hashed};

/// A command's program and all that was hashed of its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Artefact {
    /// The program file, links followed.
    pub(crate) program: PathBuf,
    /// The name that the program is given.
    pub(crate) name: String,
    /// Its arguments: those of the command, unless something is started without its starter.
    pub(crate) args: Vec<String>,
    /// Digest of all parts.
    pub(crate) digest: Option<Digest>,
    /// The digest of each part: `program`, `interpreter`, `script`, `package`, `package-lock.json`, …
    pub(crate) parts: BTreeMap<String, Digest>,
    /// The hashed files as they were.
    pub(crate) stamps: Vec<FileStamp>,
    /// What the digest does not cover, and why; `None` when it covers the code. With a reason here
    /// the digest still covers `parts`, so that a change of the program itself is noticed.
    pub(crate) unpinned: Option<String>,
    /// Whether program or script lie in the project, where the agent may change them.
    pub(crate) project_local: bool,
    /// What deserves attention, one line each.
    pub(crate) warnings: Vec<String>,
}

impl Artefact {
    pub(super) fn new(program: PathBuf, name: &str, args: Vec<String>) -> Self {
        Self {
            program,
            name: name.to_owned(),
            args,
            digest: None,
            parts: BTreeMap::new(),
            stamps: Vec::new(),
            unpinned: None,
            project_local: false,
            warnings: Vec::new(),
        }
    }

    /// Adds a file as a part; a second one of the same name gets a number.
    pub(super) fn add(&mut self, part: &str, hashed: Hashed) {
        self.stamps.extend(hashed.stamps);
        let taken = |parts: &BTreeMap<String, Digest>, name: &str| parts.contains_key(name);
        let mut name = part.to_owned();
        let mut number = 2;
        while taken(&self.parts, &name) {
            name = format!("{part} {number}");
            number += 1;
        }
        self.parts.insert(name, hashed.digest);
    }

    /// Hashes a file as a part. One that cannot be read makes the command unpinned.
    pub(super) fn add_file(&mut self, part: &str, path: &Path) {
        match hash::file(path) {
            Ok(hashed) => self.add(part, hashed),
            Err(error) => self.leave_out(format!("{} cannot be read: {error}", shown(path))),
        }
    }

    /// Says what is not covered. The first reason stays.
    pub(super) fn leave_out(&mut self, why: impl Into<String>) {
        self.unpinned.get_or_insert_with(|| why.into());
    }

    pub(super) fn warn(&mut self, sentence: String) {
        if !self.warnings.contains(&sentence) {
            self.warnings.push(sentence);
        }
    }

    pub(super) fn finish(mut self) -> Self {
        let mut digest = DigestBuilder::new("artefact/1");
        for (name, part) in &self.parts {
            digest.field(name).field(part.as_bytes());
        }
        self.digest = (!self.parts.is_empty()).then(|| digest.finish());
        self
    }
}

/// A program cannot be found or started.
#[derive(Debug)]
pub(crate) struct ProgramError {
    /// The command as configured.
    pub(crate) command: String,
    /// Why, and the way out.
    pub(crate) why: String,
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", clean::line(&self.command, 300), self.why)
    }
}

impl std::error::Error for ProgramError {}

/// A path for a message.
pub(super) fn shown(path: &Path) -> String {
    format!("`{}`", clean::line(&path.to_string_lossy(), 4_096))
}
