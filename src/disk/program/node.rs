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
const SCRIPT_MAX: u64 = 16 << 20;
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
pub(super) fn npx(artefact: &mut Artefact, package: &Spec<'_>, cwd: &Path, caches: &[PathBuf]) {
    if let Some(folder) = local(package, cwd) {
        artefact.project_local = true;
        artefact.warn(format!(
            "npx takes {}, which is installed in the working folder, and not the registry's",
            shown(&folder)
        ));
        surroundings(artefact, &folder.join("package.json"), &[]);
        return;
    }
    let Some(folder) = cached(package, caches) else {
        artefact.leave_out(format!(
            "npx downloads `{}` at the start, because it is not in its cache; run it once, or install the package and name its program",
            crate::clean::line(package.name, 300)
        ));
        return;
    };
    add_cached(artefact, &folder, package);
    if !package.pinned {
        artefact.warn(
            "npx may fetch a newer version when it has the network; write an exact version"
                .to_owned(),
        );
    }
}

/// Adds a package in npx's cache, with the lock file of all it depends on.
pub(super) fn add_cached(artefact: &mut Artefact, folder: &Path, package: &Spec<'_>) {
    let modules = folder.join("node_modules");
    artefact.add_file("npx lock", &modules.join(".package-lock.json"));
    add_package(artefact, &modules.join(package.name));
}

/// The package as it is installed at the working folder or above it.
pub(super) fn local(package: &Spec<'_>, cwd: &Path) -> Option<PathBuf> {
    cwd.ancestors()
        .take(UP_MAX)
        .map(|folder| folder.join("node_modules").join(package.name))
        .find(|folder| folder.join("package.json").is_file())
}

/// What stands behind the package on the command line of npx, when nothing before it changes what
/// is started from the cache.
pub(super) fn behind<'a>(args: &'a [String], package: &Spec<'_>) -> Option<&'a [String]> {
    const IDLE: &[&str] = &[
        "-y",
        "--yes",
        "-q",
        "--quiet",
        "--silent",
        "--offline",
        "--prefer-offline",
        "--",
    ];
    let at = args
        .iter()
        .position(|word| !IDLE.contains(&word.as_str()))?;
    (*args.get(at)? == package.text()).then(|| args.get(at + 1..))?
}

/// The script that npx starts for a package: its only program, or the one of the package's name.
/// Only a script of plain node, as nothing else may be put in its place.
pub(super) fn start_file(folder: &Path, name: &str) -> Option<PathBuf> {
    const PLAIN: &[&str] = &["#!/usr/bin/env node", "#!/usr/bin/node"];
    let package = fs::canonicalize(folder.join("node_modules").join(name)).ok()?;
    let text = hash::small_text(&package.join("package.json"), DESCRIPTION_MAX)?;
    let description: Value = serde_json::from_str(&text).ok()?;
    let file = match description.get("bin")? {
        Value::String(file) => file,
        Value::Object(programs) => {
            let own = name.rsplit('/').next().unwrap_or(name);
            let mut files: Vec<&str> = programs.values().filter_map(Value::as_str).collect();
            files.dedup();
            match files.as_slice() {
                [only] => only,
                _ => programs.get(own)?.as_str()?,
            }
        }
        _ => return None,
    };
    let file = fs::canonicalize(package.join(file)).ok()?;
    let script = hash::small_text(&file, SCRIPT_MAX)?;
    let plain = PLAIN.contains(&script.lines().next()?.trim_end());
    (file.starts_with(&package) && plain).then_some(file)
}

/// A package as it is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec<'a> {
    pub(super) name: &'a str,
    pub(super) version: &'a str,
    pub(super) pinned: bool,
}

impl Spec<'_> {
    /// As it is written.
    fn text(&self) -> String {
        match self.version {
            "" => self.name.to_owned(),
            version => format!("{}@{version}", self.name),
        }
    }
}

/// The folder of the caches that was made for just this package. npm notes the packages asked for.
pub(super) fn cached(package: &Spec<'_>, caches: &[PathBuf]) -> Option<PathBuf> {
    if Path::new(package.name).is_absolute() || package.name.split('/').any(|part| part == "..") {
        return None;
    }
    let wanted = package.text();
    let in_cache = |cache: &PathBuf| cached_in(&cache.join("_npx"), package.name, &wanted);
    caches.iter().find_map(in_cache)
}

fn cached_in(cache: &Path, name: &str, wanted: &str) -> Option<PathBuf> {
    const FOLDERS_MAX: usize = 1_000;
    let entries = fs::read_dir(cache).ok()?.take(FOLDERS_MAX);
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.into_iter().find(|folder| {
        let installed = folder.join("node_modules").join(name);
        installed.join("package.json").is_file()
            && asked_for(folder).is_some_and(|asked| asked == [wanted])
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
