//! The disk as the machine sees it, looked at before anything is confined: what exists of a plan,
//! which of it has other names through bind mounts, what must be guarded.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::guard::Guards;
use super::mounts::MountTable;
use super::repository;
use crate::sandbox::plan::{Folder, FolderKind, Plan};
use crate::sandbox::spawn::StageError;

/// What was found.
#[derive(Debug)]
pub(super) struct Survey {
    /// The folders to lay over `/`, outermost first; those of the machine exist.
    pub(super) folders: Vec<Place>,
    /// What is covered by itself, read-only.
    pub(super) guards: Guards,
    /// What is hidden, outermost first.
    pub(super) hide: Vec<PathBuf>,
}

/// One place of the view and what it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) kind: FolderKind,
    /// Device, inode and whether it is a folder; `None` where nothing is on the machine.
    pub(super) found: Option<Found>,
}

/// What identifies a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) folder: bool,
}

impl Found {
    /// What is at a path, without following a last link.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
            folder: found.is_dir(),
        })
    }
}

impl Survey {
    /// Looks at the machine. Puts placeholders on the disk: `tidy` removes them.
    pub(super) fn of(plan: &Plan) -> Result<Self, StageError> {
        let table = MountTable::read()?;
        let mut guards = Guards::new(plan.writable().map(Path::to_owned).collect());
        let filled = fill(plan, &table, &mut guards);
        let survey = |folders, hide| Self {
            folders,
            guards,
            hide,
        };
        match filled {
            Ok((folders, hide)) => Ok(survey(folders, hide)),
            Err(error) => {
                survey(Vec::new(), Vec::new()).tidy();
                Err(error)
            }
        }
    }

    /// Removes the placeholders, innermost first.
    pub(super) fn tidy(&self) {
        for placeholder in self.guards.placeholders.iter().rev() {
            placeholder.remove();
        }
    }
}

type Filled = (Vec<Place>, Vec<PathBuf>);

fn fill(plan: &Plan, table: &MountTable, guards: &mut Guards) -> Result<Filled, StageError> {
    for path in &plan.protect {
        guards.add(path)?;
        for alias in table.aliases(path) {
            guards.add(&alias)?;
        }
    }
    for root in plan.writable() {
        for path in repository::guarded(&root.join(".git"))? {
            guards.add(&path)?;
        }
    }
    for root in git_files(plan) {
        guards.add_git_file(&root)?;
    }
    let mut hide = Vec::new();
    for path in &plan.hide {
        hidden(path, table, &mut hide);
    }
    hide.sort_by_key(|path| path.components().count());
    hide.dedup();
    Ok((places(plan, table, guards)?, hide))
}

/// The `.git` files of granted folders and of the working folder.
fn git_files(plan: &Plan) -> Vec<PathBuf> {
    let granted = plan
        .folders
        .iter()
        .filter(|folder| matches!(folder.kind, FolderKind::Read | FolderKind::Write));
    granted
        .map(|folder| folder.path.join(".git"))
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file()))
        .collect()
}

fn hidden(path: &Path, table: &MountTable, hide: &mut Vec<PathBuf>) {
    let Ok(real) = fs::canonicalize(path) else {
        return;
    };
    hide.extend(table.aliases(&real));
    hide.extend(table.parts(&real));
    hide.push(real);
}

fn places(plan: &Plan, table: &MountTable, guards: &Guards) -> Result<Vec<Place>, StageError> {
    let mut folders = plan.folders.clone();
    let empty = |path: PathBuf| Folder {
        path,
        kind: FolderKind::Empty,
    };
    for folder in &plan.folders {
        if folder.kind == FolderKind::Empty {
            folders.extend(table.aliases(&folder.path).into_iter().map(empty));
            folders.extend(table.parts(&folder.path).into_iter().map(empty));
        }
    }
    folders.extend(guards.repositories.iter().map(|path| Folder {
        path: path.clone(),
        kind: FolderKind::Read,
    }));
    folders.sort_by_key(|folder| {
        (
            folder.path.components().count(),
            folder.path.clone(),
            folder.kind,
        )
    });
    let mut places: Vec<Place> = Vec::new();
    for folder in folders {
        let found = Found::at(&folder.path);
        if found.is_none() && folder.kind == FolderKind::Write {
            return Err(StageError::new(
                "write",
                format!(
                    "`{}` is to be written but does not exist: create it first",
                    folder.path.display()
                ),
            ));
        }
        if folder.kind == FolderKind::Read
            && (found.is_none() || already_writable(&places, &folder.path))
        {
            continue;
        }
        places.push(Place {
            path: folder.path,
            kind: folder.kind,
            found,
        });
    }
    places.dedup();
    Ok(places)
}

/// A readable folder inside a writable one stays writable.
fn already_writable(places: &[Place], path: &Path) -> bool {
    places
        .iter()
        .rfind(|place| path.starts_with(&place.path))
        .is_some_and(|place| place.kind == FolderKind::Write)
}
