//! "Everything but these" as a list of what may be read, for Landlock, which knows no exceptions:
//! the ancestors of what is hidden are opened up entry by entry.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::plan::{FolderKind, Plan};

/// Never read as a whole: devices are listed one by one.
const DEVICES: &str = "/dev";

/// What may be read under a plan.
pub(super) fn paths(plan: &Plan) -> Vec<PathBuf> {
    let hide: Vec<PathBuf> = plan
        .hide
        .iter()
        .filter_map(|path| fs::canonicalize(path).ok())
        .collect();
    let mut closed = hide.clone();
    closed.push(PathBuf::from(DEVICES));
    let covered = plan
        .folders
        .iter()
        .filter(|folder| matches!(folder.kind, FolderKind::Empty | FolderKind::Private));
    closed.extend(covered.map(|folder| folder.path.clone()));
    let mut open = Vec::new();
    expand(Path::new("/"), &closed, &mut open);
    for folder in &plan.folders {
        if folder.kind == FolderKind::Read {
            expand(&folder.path, &hide, &mut open);
        }
    }
    open
}

fn expand(path: &Path, closed: &[PathBuf], open: &mut Vec<PathBuf>) {
    if closed.iter().any(|closed| path.starts_with(closed)) {
        return;
    }
    if !closed.iter().any(|closed| closed.starts_with(path)) {
        open.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        // A rule holds for what a link leads to, which is met under its own name.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            expand(&entry.path(), closed, open);
        }
    }
}
