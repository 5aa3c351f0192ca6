//! Finds out what has to be guarded so that a protected path stays as it is: the path, each link
//! on the way to it and what the links lead to, what a `.git` file points at, and a placeholder
//! where nothing is.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::placeholder::{self, Kind, Placeholder};
use super::repository;
use super::survey::Found;
use crate::sandbox::spawn::StageError;

/// Links on the way to one protected path.
const LINKS_MAX: usize = 16;
/// How often a path is looked at again that went while it was looked at.
const LOOKS_MAX: usize = 100;
/// A `.git` file is one short line.
const GITLINK_BYTES_MAX: u64 = 8 << 10;

/// What has to be guarded.
#[derive(Debug, Default)]
pub(super) struct Guards {
    /// To be covered by itself, read-only: files, folders and links.
    pub(super) paths: BTreeSet<PathBuf>,
    /// Placeholders that were put on the disk.
    pub(super) placeholders: Vec<Placeholder>,
    /// Repositories that a linked work tree needs to read.
    pub(super) repositories: BTreeSet<PathBuf>,
    writable: Vec<PathBuf>,
}

impl Guards {
    /// Guards for these writable folders.
    pub(super) fn new(writable: Vec<PathBuf>) -> Self {
        Self {
            writable,
            ..Self::default()
        }
    }

    /// Adds a protected path.
    pub(super) fn add(&mut self, path: &Path) -> Result<(), StageError> {
        let mut walked = self.walk(path, LINKS_MAX);
        for _ in 0..LOOKS_MAX {
            match &walked {
                // The placeholder of a sandbox that ends at this moment went while we looked.
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    walked = self.walk(path, LINKS_MAX);
                }
                _ => break,
            }
        }
        walked.map_err(|error| StageError::os("protect", format!("`{}`", path.display()), &error))
    }

    /// Looks at a `.git` that is a file: the repository behind it is protected as well.
    pub(super) fn add_git_file(&mut self, file: &Path) -> Result<(), StageError> {
        let Some(link) = GitLink::read(file) else {
            return Ok(());
        };
        for folder in [&link.common, &link.folder] {
            for name in ["hooks", "config", "config.worktree", "info/attributes"] {
                self.add(&folder.join(name))?;
            }
        }
        for path in repository::guarded(&link.common)? {
            self.add(&path)?;
        }
        for name in ["commondir", "gitdir"] {
            let pointer = link.folder.join(name);
            if pointer.exists() {
                self.add(&pointer)?;
            }
        }
        if link.answered {
            self.repositories.insert(link.common);
        }
        Ok(())
    }

    /// The names of our placeholders as git's exclude patterns, and the exclude files of the
    /// repositories at the writable folders: inside the sandbox git must not offer them.
    pub(super) fn excludes(&self) -> (String, Vec<PathBuf>) {
        let names = self.placeholders.iter().filter_map(|held| {
            let root = self
                .writable
                .iter()
                .find(|root| held.path().starts_with(root))?;
            let name = held.path().strip_prefix(root).ok()?;
            Some(format!("/{}\n", name.display()))
        });
        let files = self.writable.iter().filter_map(|root| {
            let git = root.join(".git");
            let folder = GitLink::read(&git).map_or(git, |link| link.common);
            let file = folder.join("info/exclude");
            fs::symlink_metadata(&file).ok()?.is_file().then_some(file)
        });
        (names.collect(), files.collect())
    }

    fn walk(&mut self, path: &Path, links: usize) -> io::Result<()> {
        if self.writable.iter().any(|root| root.starts_with(path)) {
            // A whole writable folder is protected: the guard covers it.
            self.paths.insert(path.to_owned());
            return Ok(());
        }
        let Some(root) = self
            .writable
            .iter()
            .find(|root| path.starts_with(root))
            .cloned()
        else {
            return Ok(());
        };
        let mut current = root.clone();
        let rest = path.strip_prefix(&root).unwrap_or(path).to_owned();
        let mut parts = rest.components();
        while let Some(part) = parts.next() {
            current.push(part);
            let last = parts.as_path().as_os_str().is_empty();
            match Step::at(&current)? {
                Step::Folder if !last && !placeholder::is_ours(&current) => {}
                Step::Absent if last => return self.put(&current, placeholder::kind_of(&current)),
                Step::Absent => return self.put(&current, Kind::Folder),
                Step::Link => return self.follow(&current, parts.as_path(), links),
                Step::Folder | Step::Other => return self.cover(current),
            }
        }
        Ok(())
    }

    /// Covers something that exists, a placeholder of another sandbox among others.
    fn cover(&mut self, path: PathBuf) -> io::Result<()> {
        let found = Found::at(&path);
        let ours = placeholder::is_ours(&path);
        let held = if ours {
            Placeholder::hold(&path)?
        } else {
            None
        };
        // Unless it is held, it must be what it was, or it may be a placeholder that will go.
        let settled = held.is_some() || (!ours && found.is_some() && found == Found::at(&path));
        if !settled {
            return Err(ErrorKind::NotFound.into());
        }
        self.placeholders.extend(held);
        self.paths.insert(path);
        Ok(())
    }

    fn put(&mut self, path: &Path, kind: Kind) -> io::Result<()> {
        match Placeholder::put(path, kind) {
            Ok(held) => self.placeholders.push(held),
            // Nobody can create it there, the program even less.
            Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => return Ok(()),
            Err(error) if denied_by_owner(&error, path) => return Ok(()),
            Err(error) => return Err(error),
        }
        self.paths.insert(path.to_owned());
        Ok(())
    }

    /// Guards a link itself and what it leads to.
    fn follow(&mut self, link: &Path, rest: &Path, links: usize) -> io::Result<()> {
        let Some(links) = links.checked_sub(1) else {
            return Err(io::Error::other("too many links on the way"));
        };
        self.paths.insert(link.to_owned());
        let parent = link.parent().unwrap_or(link);
        let target = parent.join(fs::read_link(link)?).join(rest);
        self.walk(&resolved_as_far_as_possible(&target), links)
    }
}

/// What stands at one step of the way to a protected path.
enum Step {
    Absent,
    Link,
    Folder,
    Other,
}

impl Step {
    fn at(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::Absent),
            Err(error) => Err(error),
            Ok(found) if found.is_symlink() => Ok(Self::Link),
            Ok(found) if found.is_dir() => Ok(Self::Folder),
            Ok(_) => Ok(Self::Other),
        }
    }
}

/// Whether creating is refused in a folder of another user, whose mode we could not change.
fn denied_by_owner(error: &io::Error, path: &Path) -> bool {
    let us = rustix::process::geteuid().as_raw();
    error.kind() == ErrorKind::PermissionDenied
        && path
            .parent()
            .and_then(|parent| fs::metadata(parent).ok())
            .is_some_and(|parent| parent.uid() != us)
}

/// The path with every link resolved that exists; the absent rest is kept.
fn resolved_as_far_as_possible(path: &Path) -> PathBuf {
    let plain = without_dots(path);
    for place in plain.ancestors() {
        if let Ok(real) = fs::canonicalize(place) {
            let rest = plain.strip_prefix(place).unwrap_or(Path::new(""));
            if rest.as_os_str().is_empty() {
                return real;
            }
            return real.join(rest);
        }
    }
    plain
}

fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                // `..` of a link is that of its target.
                if let Ok(real) = fs::canonicalize(&plain) {
                    plain = real;
                }
                plain.pop();
            }
            Component::CurDir => {}
            _ => plain.push(part),
        }
    }
    plain
}

/// What a `.git` file leads to.
struct GitLink {
    folder: PathBuf,
    common: PathBuf,
    /// Whether the repository names this work tree too: a cloned project cannot forge that.
    answered: bool,
}

impl GitLink {
    fn read(file: &Path) -> Option<Self> {
        let text = short_text(file)?;
        let parent = file.parent()?;
        let folder = fs::canonicalize(parent.join(text.strip_prefix("gitdir:")?.trim())).ok()?;
        if !folder.join("HEAD").is_file() {
            return None;
        }
        let common = match short_text(&folder.join("commondir")) {
            Some(text) => fs::canonicalize(folder.join(text.trim())).ok()?,
            None => folder.clone(),
        };
        let answer = match short_text(&folder.join("gitdir")) {
            Some(text) => fs::canonicalize(folder.join(text.trim())).ok(),
            None => work_tree(&folder).map(|tree| tree.join(".git")),
        };
        let answered = answer.is_some() && answer == fs::canonicalize(file).ok();
        Some(Self {
            folder,
            common,
            answered,
        })
    }
}

/// `core.worktree` of a submodule's configuration.
fn work_tree(folder: &Path) -> Option<PathBuf> {
    let text = short_text(&folder.join("config"))?;
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("worktree"))?;
    let value = line.trim_start().strip_prefix('=')?.trim();
    fs::canonicalize(folder.join(value)).ok()
}

fn short_text(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > GITLINK_BYTES_MAX {
        return None;
    }
    fs::read_to_string(path).ok()
}
