//! The folders that hold a program's own code, where they would otherwise be hidden with the home
//! folder: its package tree, its virtual environment.

use std::path::{Path, PathBuf};

use crate::disk::program::{self, Artefact, ProgramError};
use crate::grant::{Network, guarded};

use super::line::Ground;

/// Finds and hashes what a command runs.
pub(super) fn find(
    ground: &Ground,
    (command, args): (&str, &[String]),
    cwd: &Path,
    (npm_caches, network): (&[PathBuf], Network),
) -> Result<Artefact, ProgramError> {
    let nowhere = PathBuf::from("/nonexistent");
    program::find(&program::Wanted {
        command,
        args,
        cwd,
        path: programs(ground),
        home: ground.home.as_deref().unwrap_or(&nowhere),
        project: ground.project.as_deref(),
        npm_caches,
        network,
    })
}

/// The program that a word names in the working folder.
pub(super) fn locate(ground: &Ground, command: &str) -> Result<PathBuf, ProgramError> {
    program::locate(command, &ground.cwd, programs(ground))
}

fn programs(ground: &Ground) -> &str {
    let path = ground.environment.get("PATH");
    path.map_or("/usr/local/bin:/usr/bin:/bin", String::as_str)
}

/// Folders (or files) below a hidden home that the program's code lies in. What the project, the
/// toolchains and the system hold is readable anyway.
pub(super) fn folders(ground: &Ground, artefact: &Artefact) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let files = artefact.stamps.iter().map(|stamp| stamp.path.as_path());
    for file in files.chain([artefact.program.as_path()]) {
        let Some(home) = hidden_home(ground, file) else {
            continue;
        };
        let folder = tree_of(file, home);
        if !folders.iter().any(|known| folder.starts_with(known)) {
            folders.push(folder);
        }
    }
    folders
}

/// The folder that hides a file from the sandbox: a home, this user's or another's, or the machine's
/// temporary folders, in whose place each sandbox has its own.
fn hidden_home<'a>(ground: &'a Ground, file: &'a Path) -> Option<&'a Path> {
    let inside = |root: &Path| file.starts_with(root);
    // A private cache is this sandbox's own: code is looked for in no other.
    if ground.project.as_deref().is_some_and(inside) || inside(&ground.cache) {
        return None;
    }
    if let Some(home) = ground.home.as_deref()
        && inside(home)
    {
        let toolchain = guarded::TOOLCHAINS.iter().any(|t| inside(&home.join(t)));
        return (!toolchain).then_some(home);
    }
    let homes = ["/root", "/home", "/Users", "/tmp", "/var/tmp"].map(Path::new);
    homes.into_iter().find(|home| inside(home))
}

/// The tree that a code file belongs to: `node_modules`, a virtual environment, the prefix of an
/// interpreter, else its folder; never the home folder itself.
fn tree_of(file: &Path, home: &Path) -> PathBuf {
    let mut tree = file.parent().unwrap_or(file);
    for above in file.ancestors().skip(1) {
        if above == home || !above.starts_with(home) {
            break;
        }
        let named = |name: &str| above.file_name().is_some_and(|own| own == name);
        if named("node_modules") || above.join("pyvenv.cfg").is_file() {
            tree = above;
        }
        let prefix = above.parent().filter(|prefix| *prefix != home);
        if let Some(prefix) = prefix
            && named("bin")
            && prefix.join("lib").is_dir()
        {
            tree = prefix;
        }
    }
    if tree == home {
        return file.to_path_buf();
    }
    tree.to_path_buf()
}
