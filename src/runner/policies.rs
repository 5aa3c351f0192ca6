//! Policies from their folders to one checked store, and what is said about files that cannot be used.

use std::path::Path;

use crate::clean;
use crate::disk::{self, PolicyFolder};
use crate::policy::{Bundle, BundleMode, PolicyProblem, PolicySet, PolicySource, StoreParts};
use crate::request::Layer;

use super::bundle_info::{BundleInfo, BundleLost, BundleState};
use super::error::{Error, ErrorKind};
use super::notice::{NoticePlace, PolicyNotice};
use super::organisation::Found;

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
    /// The organisation's bundle.
    pub bundle: Option<BundleInfo>,
    /// The store as it would be with a bundle that is in shadow, or with a candidate.
    pub shadow: Option<PolicySet>,
    /// What the store is made of, without a bundle in shadow.
    pub(super) parts: StoreParts,
    /// The organisation has pinned a bundle, and none is believed.
    bundle_lost: bool,
    /// Why the bundle that lies there now is not the one in force.
    bundle_kept: Option<String>,
}

impl Policies {
    pub(crate) fn read(folders: &[PolicyFolder], bundle: Result<Option<Found>, String>) -> Self {
        let found = disk::read_policies(folders);
        let mut reading = Reading::default();
        match bundle {
            Ok(Some(Found { bundle, notice })) => {
                notice.iter().for_each(|notice| reading.warn(notice));
                (reading.bundle_kept, reading.bundle) = (notice, Some(bundle));
            }
            Ok(None) => {}
            Err(why) => {
                reading.bundle_lost = true;
                reading.fail(&why);
            }
        }
        for ignored in &found.ignored {
            reading.warn(&format!("{}: ignored: {}", ignored.file, ignored.why));
        }
        for file in found.files {
            match file.text {
                Ok(text) => reading.parts.sources.push(PolicySource {
                    layer: file.layer,
                    file: file.file,
                    text,
                }),
                Err(why) => reading.unreadable(file.layer, &file.file, &why),
            }
        }
        for lock in found.locks {
            let (layer, file) = (lock.layer, lock.file);
            match lock.text {
                Ok(text) => reading.parts.locks.push(PolicySource { layer, file, text }),
                Err(why) => reading.unreadable(layer, &file, &why),
            }
        }
        reading.finish()
    }

    /// The store of these parts, with what is wrong with them.
    pub(crate) fn of_parts(parts: StoreParts) -> Self {
        Reading {
            parts,
            ..Reading::default()
        }
        .finish()
    }

    /// Reads the `.cedar` files of a folder as the user's layer.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn of_folder(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = folder.as_ref().to_path_buf();
        if folder.is_dir() {
            return Ok(Self::read(&[PolicyFolder::User(folder)], Ok(None)));
        }
        Err(Error::new(
            ErrorKind::Policy,
            format!("no policy folder `{}`", folder.display()),
        ))
    }

    /// Which bundle is believed.
    pub(super) fn bundle_state(&self) -> BundleState {
        if self.bundle_lost {
            return Err(BundleLost);
        }
        let bundle = self.bundle.as_ref();
        Ok((bundle.map(|bundle| bundle.digest), self.bundle_kept.clone()))
    }

    /// Why a newer bundle is not in force.
    pub(super) fn bundle_kept(&self) -> Option<&str> {
        self.bundle_kept.as_deref()
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

/// Adds what a bundle brings.
fn join(parts: &mut StoreParts, bundle: &StoreParts) {
    parts.sources.extend(bundle.sources.iter().cloned());
    parts.members.extend(bundle.members.iter().cloned());
    parts.locks.extend(bundle.locks.iter().cloned());
    parts
        .switched_off
        .extend(bundle.switched_off.iter().cloned());
}

#[derive(Default)]
struct Reading {
    parts: StoreParts,
    notices: Vec<PolicyNotice>,
    broken: bool,
    bundle: Option<Bundle>,
    bundle_lost: bool,
    bundle_kept: Option<String>,
}

impl Reading {
    /// Says what does not keep the store from being used.
    fn warn(&mut self, text: &str) {
        self.notices.push(PolicyNotice {
            fatal: false,
            text: clean::line(text, 2_000),
            place: None,
        });
    }

    /// Says why the store cannot be used.
    fn fail(&mut self, text: &str) {
        self.broken = true;
        self.notices.push(PolicyNotice {
            fatal: true,
            text: clean::line(text, 2_000),
            place: None,
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
        let bundle = self.bundle.take();
        if let Some(bundle) = bundle
            .as_ref()
            .filter(|b| b.manifest.mode == BundleMode::Enforce)
        {
            join(&mut self.parts, &bundle.parts);
        }
        let files = self.parts.sources.iter().map(|s| s.file.clone()).collect();
        let store = self.parse();
        let whole = !self.broken && store.is_some();
        let shadow = bundle
            .as_ref()
            .filter(|b| b.manifest.mode == BundleMode::Shadow);
        let shadow = shadow.and_then(|bundle| self.shadow(&bundle.parts));
        Policies {
            store: store
                .filter(|_| whole)
                .unwrap_or_else(PolicySet::guard_rails),
            whole,
            notices: self.notices,
            files,
            bundle: bundle.as_ref().map(BundleInfo::of),
            shadow,
            parts: self.parts,
            bundle_lost: self.bundle_lost,
            bundle_kept: self.bundle_kept,
        }
    }

    /// The store with a bundle that decides nothing yet. One that cannot be used costs only itself.
    fn shadow(&mut self, bundle: &StoreParts) -> Option<PolicySet> {
        let mut parts = self.parts.clone();
        join(&mut parts, bundle);
        match PolicySet::build(&parts) {
            Ok((store, _)) => Some(store),
            Err(problems) => {
                for problem in problems.iter().filter(|problem| problem.fatal) {
                    self.warn(&format!("the bundle in shadow cannot be used: {problem}"));
                }
                None
            }
        }
    }

    fn parse(&mut self) -> Option<PolicySet> {
        match PolicySet::build(&self.parts) {
            Ok((store, warnings)) => {
                self.say_all(&warnings);
                Some(store)
            }
            Err(problems) => {
                let project = |problem: &PolicyProblem| problem.layer == Layer::Project;
                let others = problems.iter().any(|p| p.fatal && !project(p));
                if let Some(store) = others.then(|| self.without_project()).flatten() {
                    return Some(store);
                }
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
                self.parts
                    .sources
                    .retain(|s| s.layer != Layer::Project || !bad.contains(&s.file));
                PolicySet::build(&self.parts).ok().map(|(store, _)| store)
            }
        }
    }

    /// The store without the project's policies, where that is whole and they alone are at fault: other
    /// policies cannot stand beside a tool's own action that a project names.
    fn without_project(&mut self) -> Option<PolicySet> {
        let of_project = |file: &PolicySource| file.layer == Layer::Project;
        if !self.parts.sources.iter().any(of_project) {
            return None;
        }
        let mut parts = self.parts.clone();
        parts.sources.retain(|file| !of_project(file));
        let (store, warnings) = PolicySet::build(&parts).ok()?;
        self.warn(
            "the project's policies are left out: with them, other policies could not be used",
        );
        self.say_all(&warnings);
        self.parts = parts;
        Some(store)
    }

    fn place(&self, problem: &PolicyProblem) -> NoticePlace {
        let (sources, members) = (&self.parts.sources, &self.parts.members);
        let files = sources.iter().chain(members).chain(&self.parts.locks);
        let mut files = files.filter(|f| f.layer == problem.layer && f.file == problem.file);
        let line = problem.line.checked_sub(1);
        let source = files
            .next()
            .zip(line)
            .and_then(|(file, line)| file.text.lines().nth(line));
        // Each character keeps its column.
        let visible = |c: char| {
            if c.is_control() && c != '\t' {
                '\u{fffd}'
            } else {
                c
            }
        };
        NoticePlace {
            file: clean::line(&problem.file, 500),
            line: problem.line,
            column: problem.column,
            source: source
                .unwrap_or_default()
                .chars()
                .take(500)
                .map(visible)
                .collect(),
            policy: problem.policy.clone(),
            message: clean::line(&problem.message, 1_000),
            hint: clean::line(&problem.hint, 1_000),
        }
    }

    fn say_all(&mut self, problems: &[PolicyProblem]) {
        for problem in problems {
            let fatal = problem.fatal && problem.layer != Layer::Project;
            self.broken |= fatal;
            self.notices.push(PolicyNotice {
                fatal,
                text: clean::line(&problem.to_string(), 2_000),
                place: Some(self.place(problem)),
            });
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
