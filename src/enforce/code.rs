//! The folders that hold a program's own code, where they would otherwise be hidden with the home
//! folder: its package tree, its virtual environment.

use std::path::{Path, PathBuf};

use crate::disk::program::{self, Artefact, ProgramError};
use crate::grant::guarded;

use super::line::Ground;

/// Finds and hashes what a command runs.
pub(super) fn find(
    ground: &Ground,
    (command, args): (&str, &[String]),
    cwd: &Path,
) -> Result<Artefact, ProgramError> {
    let nowhere = PathBuf::from("/nonexistent");
    program::find(&program::Wanted {
        command,
        args,
        cwd,
        path: ground
            .environment
            .get("PATH")
            .map_or("/usr/local/bin:/usr/bin:/bin", String::as_str),
        home: ground.home.as_deref().unwrap_or(&nowhere),
        project: ground.project.as_deref(),
    })
}

/// Folders (or files) below the home folder that the program's code lies in. What the project, the
/// toolchains and the system hold is readable anyway.
pub(super) fn folders(ground: &Ground, artefact: &Artefact) -> Vec<PathBuf> {
    let Some(home) = ground.home.as_deref() else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = Vec::new();
    let files = artefact.stamps.iter().map(|stamp| stamp.path.as_path());
    for file in files.chain([artefact.program.as_path()]) {
        let inside = |root: &Path| file.starts_with(root);
        let toolchain = guarded::TOOLCHAINS.iter().any(|t| inside(&home.join(t)));
        if !inside(home) || toolchain || ground.project.as_deref().is_some_and(inside) {
            continue;
        }
        let folder = tree_of(file, home);
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The tree that a code file belongs to: `node_modules`, the virtual environment, else its folder;
/// never the home folder itself.
fn tree_of(file: &Path, home: &Path) -> PathBuf {
    let mut tree = file.parent().unwrap_or(file);
    for above in file.ancestors().skip(1) {
        if above == home || !above.starts_with(home) {
            break;
        }
        if above.file_name().is_some_and(|name| name == "node_modules")
            || above.join("pyvenv.cfg").is_file()
        {
            tree = above;
        }
    }
    if tree == home {
        return file.to_path_buf();
    }
    tree.to_path_buf()
}
