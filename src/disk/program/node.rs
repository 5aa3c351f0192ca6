//! Code of npm packages: scripts, package folders, lock files, and the cache that `npx` runs from.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::artefact::{Artefact, shown};
use super::hash;

/// The lock files that may stand beside `node_modules`.
const LOCKS: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
    "node_modules/.package-lock.json",
    "node_modules/.yarn-state.yml",
];

/// What Node adds to a name that is no file.
const ENDINGS: &[&str] = &[
    "",
    ".js",
    ".cjs",
    ".mjs",
    ".json",
    ".ts",
    ".mts",
    ".cts",
    ".tsx",
    "/index.js",
    "/index.cjs",
    "/index.mjs",
    "/index.ts",
];

const DESCRIPTION_MAX: u64 = 1 << 20;
const UP_MAX: usize = 32;

/// The file that Node takes for a script argument.
pub(super) fn script(argument: &str, cwd: &Path) -> Option<PathBuf> {
    let full = cwd.join(argument);
    let with = |ending: &&str| {
        let mut name = full.clone().into_os_string();
        name.push(*ending);
        PathBuf::from(name)
    };
    ENDINGS.iter().map(with).find(|file| file.is_file())
}

/// Adds what belongs to a script of Node: its package, when it lies in one that was installed, and
/// the nearest lock file.
pub(super) fn surroundings(artefact: &mut Artefact, script: &Path, stop: &[&Path]) {
    let Ok(script) = fs::canonicalize(script) else {
        return;
    };
    match installed_package(&script) {
        Some(package) => add_package(artefact, &package),
        None => {
            if let Some(folder) = above(&script, stop, "package.json") {
                artefact.add_file("package.json", &folder.join("package.json"));
            }
        }
    }
    add_locks(artefact, &script, stop);
}

/// `…/node_modules/@scope/name` of a file below it.
fn installed_package(file: &Path) -> Option<PathBuf> {
    let found = file.ancestors().find(|folder| {
        let parent = folder.parent();
        let named = |folder: Option<&Path>| folder.is_some_and(|f| f.ends_with("node_modules"));
        let scope = parent
            .and_then(Path::file_name)
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"@"));
        named(parent) && !is_scope(folder) || (scope && named(parent.and_then(Path::parent)))
    });
    found.map(Path::to_owned)
}

fn is_scope(folder: &Path) -> bool {
    let name = folder.file_name();
    name.is_some_and(|name| name.as_encoded_bytes().starts_with(b"@"))
}

fn add_package(artefact: &mut Artefact, package: &Path) {
    artefact.add_file("package.json", &package.join("package.json"));
    match hash::tree(package) {
        Ok(Some(hashed)) => artefact.add("package", hashed),
        Ok(None) => {}
        Err(error) => {
            artefact.leave_out(format!(
                "the package {} cannot be read: {error}",
                shown(package)
            ));
        }
    }
}

/// The nearest folder above a file that holds a lock file gives all its lock files.
fn add_locks(artefact: &mut Artefact, file: &Path, stop: &[&Path]) {
    let holds = |folder: &&Path| LOCKS.iter().any(|lock| folder.join(lock).is_file());
    let Some(folder) = ancestors(file, stop)
        .into_iter()
        .find(|f| holds(&f.as_path()))
    else {
        return;
    };
    for lock in LOCKS.iter().filter(|lock| folder.join(lock).is_file()) {
        artefact.add_file(lock, &folder.join(lock));
    }
}

fn above(file: &Path, stop: &[&Path], name: &str) -> Option<PathBuf> {
    let mut folders = ancestors(file, stop).into_iter();
    folders.find(|folder| folder.join(name).is_file())
}

/// The folders above a file, the nearest first, up to and with one of `stop`.
fn ancestors(file: &Path, stop: &[&Path]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for folder in file.ancestors().skip(1).take(UP_MAX) {
        folders.push(folder.to_owned());
        if stop.contains(&folder) {
            break;
        }
    }
    folders
}

/// Adds the package that `npx NAME` runs: the one installed at the working folder, as npx prefers
/// it, else the one in npm's cache.
pub(super) fn npx(artefact: &mut Artefact, package: &Spec<'_>, cwd: &Path, cache: &Path) {
    let local = cwd
        .ancestors()
        .take(UP_MAX)
        .map(|folder| folder.join("node_modules").join(package.name))
        .find(|folder| folder.join("package.json").is_file());
    if let Some(folder) = local {
        artefact.project_local = true;
        artefact.warn(format!(
            "npx takes {}, which is installed in the working folder, and not the registry's",
            shown(&folder)
        ));
        surroundings(artefact, &folder.join("package.json"), &[]);
        return;
    }
    let Some(folder) = cached(package, &cache.join("_npx")) else {
        artefact.leave_out(format!(
            "npx downloads `{}` at the start, because it is not in its cache; run it once, or install the package and name its program",
            package.name.escape_debug()
        ));
        return;
    };
    let modules = folder.join("node_modules");
    artefact.add_file("npx lock", &modules.join(".package-lock.json"));
    add_package(artefact, &modules.join(package.name));
    if !package.pinned {
        artefact.warn(
            "npx may fetch a newer version when it has the network; write an exact version"
                .to_owned(),
        );
    }
}

/// A package as it is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec<'a> {
    pub(super) name: &'a str,
    pub(super) version: &'a str,
    pub(super) pinned: bool,
}

/// The folder of the cache that was made for just this package. npm notes the packages asked for.
fn cached(package: &Spec<'_>, cache: &Path) -> Option<PathBuf> {
    const FOLDERS_MAX: usize = 1_000;
    if Path::new(package.name).is_absolute() || package.name.split('/').any(|part| part == "..") {
        return None;
    }
    let wanted = match package.version {
        "" => package.name.to_owned(),
        version => format!("{}@{version}", package.name),
    };
    let entries = fs::read_dir(cache).ok()?.take(FOLDERS_MAX);
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.into_iter().find(|folder| {
        let installed = folder.join("node_modules").join(package.name);
        installed.join("package.json").is_file()
            && asked_for(folder).is_some_and(|a| a == [wanted.as_str()])
    })
}

fn asked_for(folder: &Path) -> Option<Vec<String>> {
    let text = hash::small_text(&folder.join("package.json"), DESCRIPTION_MAX)?;
    let description: Value = serde_json::from_str(&text).ok()?;
    let packages = description.get("_npx")?.get("packages")?.as_array()?;
    packages
        .iter()
        .map(|package| package.as_str().map(str::to_owned))
        .collect()
}
