//! What lies in a repository beside its own hooks and configuration: the repositories of its
//! submodules, and the pointers of its linked work trees. Git runs code from each of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::spawn::StageError;

/// Folders that are looked into; in more than that something could hide.
const FOLDERS_MAX: usize = 10_000;
/// A submodule's name may have slashes, and a submodule has submodules.
const DEPTH_MAX: usize = 16;

/// What decides about code in the repository of a submodule.
const GUARDED: [&str; 4] = ["hooks", "config", "commondir", "info/attributes"];

/// The paths below a git folder that have to be guarded besides its own.
pub(super) fn guarded(git: &Path) -> Result<Vec<PathBuf>, StageError> {
    let mut all = Vec::new();
    for module in modules(git)? {
        all.extend(GUARDED.map(|name| module.join(name)));
        all.extend(existing(&module, "config.worktree"));
        all.extend(pointers(&module));
    }
    all.extend(pointers(git));
    Ok(all)
}

/// Where the work trees of a repository find their configuration.
fn pointers(git: &Path) -> Vec<PathBuf> {
    let trees = folders(&git.join("worktrees"));
    let names = ["commondir", "config.worktree"];
    let pointers = trees
        .iter()
        .flat_map(|tree| names.map(|name| existing(tree, name)));
    pointers.flatten().collect()
}

fn existing(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = folder.join(name);
    path.symlink_metadata().is_ok().then_some(path)
}

/// The repositories of submodules. One from which a sandbox removed a part is still one: it could
/// put the part back once nothing is guarded.
fn modules(git: &Path) -> Result<Vec<PathBuf>, StageError> {
    let mut found = Vec::new();
    let mut open = vec![(git.join("modules"), 0)];
    let mut seen = 0;
    while let Some((folder, depth)) = open.pop() {
        for inner in folders(&folder) {
            seen += 1;
            if seen > FOLDERS_MAX || depth > DEPTH_MAX {
                let shown = git.join("modules");
                let why = format!("`{}` has too many folders to be guarded", shown.display());
                return Err(StageError::new("protect", why));
            }
            if PARTS
                .iter()
                .any(|part| inner.join(part).symlink_metadata().is_ok())
            {
                open.push((inner.join("modules"), depth + 1));
                found.push(inner);
            } else {
                open.push((inner, depth + 1));
            }
        }
    }
    Ok(found)
}

/// What a repository has.
const PARTS: [&str; 6] = ["HEAD", "config", "hooks", "commondir", "objects", "refs"];

/// The folders in a folder, no links.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let own = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    own.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submodules_and_work_trees_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let git = dir.path();
        for file in [
            "modules/a/HEAD",
            "modules/a/hooks/post-checkout",
            "modules/a/modules/inner/HEAD",
            "modules/libs/b/HEAD",
            "modules/none/x",
            "modules/c/hooks/x",
            "worktrees/w/commondir",
            "worktrees/w/gitdir",
        ] {
            let file = git.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "x").unwrap();
        }
        let mut got = guarded(git).unwrap();
        got.sort();
        let mut want: Vec<PathBuf> = ["a", "a/modules/inner", "c", "libs/b"]
            .iter()
            .flat_map(|name| GUARDED.map(|part| git.join("modules").join(name).join(part)))
            .collect();
        want.push(git.join("worktrees/w/commondir"));
        want.sort();
        assert_eq!(got, want);
    }
}
