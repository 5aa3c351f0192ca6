//! Policies from their folders to one checked store, and what is said about files that cannot be used.

use std::fmt;
use std::path::Path;

use crate::clean;
use crate::disk::{self, PolicyFolder};
use crate::policy::{PolicyProblem, PolicySet, PolicySource};
use crate::request::Layer;

use super::error::{Error, ErrorKind};

/// Something to say about a policy file.
#[derive(Clone, Debug)]
pub struct PolicyNotice {
    /// Whether the store that holds it cannot be used.
    pub fatal: bool,
    /// `file:line:column: what, and the way out`.
    pub text: String,
}

impl fmt::Display for PolicyNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The store in force, and what was found on the way to it.
#[derive(Clone, Debug)]
pub struct Policies {
    /// The store. When a file of the organisation or the user is broken these are the guard rails
    /// alone: everything else is denied until the file is mended.
    pub store: PolicySet,
    /// Whether `store` holds what the files say.
    pub whole: bool,
    /// What is to be said.
    pub notices: Vec<PolicyNotice>,
    /// The files that were read.
    pub files: Vec<String>,
}

impl Policies {
    pub(crate) fn read(folders: &[PolicyFolder]) -> Self {
        let found = disk::read_policies(folders);
        let mut reading = Reading::default();
        for ignored in &found.ignored {
            reading.warn(&format!("{}: ignored: {}", ignored.file, ignored.why));
        }
        for file in found.files {
            match file.text {
                Ok(text) => reading.sources.push(PolicySource {
                    layer: file.layer,
                    file: file.file,
                    text,
                }),
                Err(why) => reading.unreadable(file.layer, &file.file, &why),
            }
        }
        reading.finish()
    }

    /// Reads the `.cedar` files of a folder as the user's layer.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn of_folder(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = folder.as_ref().to_path_buf();
        if folder.is_dir() {
            return Ok(Self::read(&[PolicyFolder::User(folder)]));
        }
        Err(Error::new(
            ErrorKind::Policy,
            format!("no policy folder `{}`", folder.display()),
        ))
    }

    /// The store, for a program that does not want to work with the guard rails alone.
    ///
    /// # Errors
    /// What is wrong with the files, when a part of them cannot be used.
    pub fn into_store(self) -> Result<PolicySet, Error> {
        self.checked().cloned()
    }

    /// The store, or the error of a command that cannot work without the whole store.
    pub(crate) fn checked(&self) -> Result<&PolicySet, Error> {
        if self.whole {
            return Ok(&self.store);
        }
        let fatal = self.notices.iter().filter(|notice| notice.fatal);
        let lines: Vec<String> = fatal.map(ToString::to_string).collect();
        Err(Error::new(
            ErrorKind::Policy,
            format!(
                "the policies cannot be used, so everything is denied:\n{}",
                lines.join("\n")
            ),
        ))
    }
}

#[derive(Default)]
struct Reading {
    sources: Vec<PolicySource>,
    notices: Vec<PolicyNotice>,
    broken: bool,
}

impl Reading {
    /// Says what does not keep the store from being used.
    fn warn(&mut self, text: &str) {
        self.notices.push(PolicyNotice {
            fatal: false,
            text: clean::line(text, 2_000),
        });
    }

    /// Says why the store cannot be used.
    fn fail(&mut self, text: &str) {
        self.broken = true;
        self.notices.push(PolicyNotice {
            fatal: true,
            text: clean::line(text, 2_000),
        });
    }

    /// A file of the project costs only itself; any other that is broken costs the store.
    fn unreadable(&mut self, layer: Layer, file: &str, why: &str) {
        match layer {
            Layer::Project => self.warn(&format!("{file}: left out: {why}")),
            _ => self.fail(&format!("{file}: {why}")),
        }
    }

    fn finish(mut self) -> Policies {
        let files = self.sources.iter().map(|s| s.file.clone()).collect();
        let store = self.parse();
        let whole = !self.broken && store.is_some();
        Policies {
            store: store
                .filter(|_| whole)
                .unwrap_or_else(PolicySet::guard_rails),
            whole,
            notices: self.notices,
            files,
        }
    }

    fn parse(&mut self) -> Option<PolicySet> {
        match PolicySet::parse(&self.sources) {
            Ok((store, warnings)) => {
                self.say_all(&warnings);
                Some(store)
            }
            Err(problems) => {
                let project = |problem: &PolicyProblem| problem.layer == Layer::Project;
                let others = problems.iter().any(|p| p.fatal && !project(p));
                self.say_all(&problems);
                if others {
                    return None;
                }
                // Only files of the project are broken: each costs only itself.
                let bad: Vec<String> = problems
                    .iter()
                    .filter(|problem| problem.fatal)
                    .map(|problem| problem.file.clone())
                    .collect();
                self.sources
                    .retain(|s| s.layer != Layer::Project || !bad.contains(&s.file));
                PolicySet::parse(&self.sources).ok().map(|(store, _)| store)
            }
        }
    }

    fn say_all(&mut self, problems: &[PolicyProblem]) {
        for problem in problems {
            let fatal = problem.fatal && problem.layer != Layer::Project;
            if fatal {
                self.fail(&problem.to_string());
            } else {
                self.warn(&problem.to_string());
            }
        }
    }
}

impl PolicySet {
    /// Reads the `.cedar` files of a folder as the user's layer, above the built-in policies.
    ///
    /// # Errors
    /// When a file cannot be read or a policy is refused; the error names file, line and way out.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, Error> {
        Policies::of_folder(folder)?.checked().cloned()
    }
}
