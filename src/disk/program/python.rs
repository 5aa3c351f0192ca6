//! Code of Python: modules, the packages they are part of, and the environment they run in.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::digest::DigestBuilder;

use super::artefact::{Artefact, shown};
use super::hash::{self, Hashed};

/// Lock files and lists of requirements that may stand above a script.
const LOCKS: &[&str] = &[
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile.lock",
    "pylock.toml",
    "requirements.txt",
    "pyproject.toml",
];

const SCRIPT_MAX: u64 = 64 << 10;
const FOLDERS_MAX: usize = 64;

/// Adds the nearest lock files above a script, up to and with one of `stop`.
pub(super) fn locks(artefact: &mut Artefact, script: &Path, stop: &[&Path]) {
    const UP_MAX: usize = 8;
    for folder in script.ancestors().skip(1).take(UP_MAX) {
        let found: Vec<&&str> = LOCKS
            .iter()
            .filter(|lock| folder.join(lock).is_file())
            .collect();
        for lock in &found {
            artefact.add_file(lock, &folder.join(lock));
        }
        if !found.is_empty() || stop.contains(&folder) {
            return;
        }
    }
}

/// Adds a module (`python -m NAME`): its package folder, and the record of what was installed.
/// `python` is the interpreter as it was found, links not followed, since an environment is known
/// by the place of the link.
/// Gives the files and folders that hold it.
pub(super) fn module(
    artefact: &mut Artefact,
    name: &str,
    python: &Path,
    places: &[&Path],
) -> Vec<PathBuf> {
    let root = name.split('.').next().unwrap_or(name);
    if root.is_empty() || !root.chars().all(|c| c.is_alphanumeric() || c == '_') {
        artefact.leave_out("the module's name is none");
        return Vec::new();
    }
    let mut folders: Vec<PathBuf> = places.iter().map(|place| (*place).to_owned()).collect();
    let installed = site_packages(python);
    folders.extend(installed.iter().cloned());
    let mut found = Vec::new();
    for folder in &folders {
        found.extend(add_module(artefact, root, folder));
        add_record(artefact, root, folder);
    }
    if found.is_empty() {
        artefact.leave_out(format!(
            "the module `{root}` was not found beside {}",
            shown(python)
        ));
    }
    environment(artefact, python, &installed);
    found
}

fn add_module(artefact: &mut Artefact, root: &str, folder: &Path) -> Option<PathBuf> {
    let file = folder.join(format!("{root}.py"));
    if file.is_file() {
        artefact.add_file("module", &file);
        return Some(file);
    }
    let package = folder.join(root);
    if !package.join("__init__.py").is_file() && !package.join("__main__.py").is_file() {
        return None;
    }
    match hash::tree(&package) {
        Ok(Some(hashed)) => artefact.add("module", hashed),
        Ok(None) => {
            for name in ["__init__.py", "__main__.py"] {
                if package.join(name).is_file() {
                    artefact.add_file(name, &package.join(name));
                }
            }
        }
        Err(error) => {
            artefact.leave_out(format!(
                "the module {} cannot be read: {error}",
                shown(&package)
            ));
        }
    }
    Some(package)
}

/// `NAME-1.2.dist-info/RECORD` lists every installed file with its hash.
fn add_record(artefact: &mut Artefact, root: &str, folder: &Path) {
    for (name, record) in records(folder) {
        let plain = name.split('-').next().unwrap_or_default();
        if plain.replace(['-', '.'], "_").eq_ignore_ascii_case(root) {
            artefact.add_file("RECORD", &record);
        }
    }
}

/// The records of all that is installed in a folder, sorted.
fn records(folder: &Path) -> Vec<(String, PathBuf)> {
    const ENTRIES_MAX: usize = 20_000;
    let entries = fs::read_dir(folder).into_iter().flatten().take(ENTRIES_MAX);
    let mut found: Vec<(String, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let record = entry.path().join("RECORD");
            (name.ends_with(".dist-info") && record.is_file()).then_some((name, record))
        })
        .collect();
    found.sort();
    found
}

/// In a virtual environment everything that is installed serves this one purpose: its records are
/// its lock file. An interpreter that serves the whole machine changes for other reasons.
fn environment(artefact: &mut Artefact, python: &Path, installed: &[PathBuf]) {
    let Some(prefix) = prefix(python).filter(|prefix| prefix.join("pyvenv.cfg").is_file()) else {
        return;
    };
    artefact.add_file("pyvenv.cfg", &prefix.join("pyvenv.cfg"));
    let mut digest = DigestBuilder::new("python-environment/1");
    let mut stamps = Vec::new();
    let inside = installed.iter().filter(|folder| folder.starts_with(prefix));
    for (name, record) in inside.flat_map(|folder| records(folder)) {
        match hash::file(&record) {
            Ok(hashed) => {
                digest.field(name).field(hashed.digest.as_bytes());
                stamps.extend(hashed.stamps);
            }
            Err(error) => {
                artefact.leave_out(format!("{} cannot be read: {error}", shown(&record)));
            }
        }
    }
    let digest = digest.finish();
    artefact.add("environment", Hashed { digest, stamps });
}

fn prefix(python: &Path) -> Option<&Path> {
    python.parent().and_then(Path::parent)
}

/// Folders in which an interpreter looks for what is installed.
fn site_packages(python: &Path) -> Vec<PathBuf> {
    let real = fs::canonicalize(python).ok();
    let prefixes = [prefix(python), real.as_deref().and_then(prefix)];
    let mut found = Vec::new();
    for prefix in prefixes.into_iter().flatten() {
        for library in ["lib", "lib64", "local/lib"] {
            let entries = fs::read_dir(prefix.join(library)).into_iter().flatten();
            let versions = entries.flatten().take(1_000).map(|entry| entry.path());
            let versions = versions.filter(|path| {
                let name = path
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned());
                name.is_some_and(|name| name.starts_with("python3") || name.starts_with("pypy3"))
            });
            for version in versions {
                found.extend(["site-packages", "dist-packages"].map(|name| version.join(name)));
            }
        }
    }
    // `lib64` is often a link to `lib`, and the links of an environment lead to its base. The first
    // name of a folder stays, which is the one below the prefix itself.
    let mut seen = HashSet::new();
    found.retain(|path| fs::canonicalize(path).is_ok_and(|real| seen.insert(real)));
    found.truncate(FOLDERS_MAX);
    found
}

/// The module that a script made by an installer starts: its first `from NAME import` or
/// `import NAME` that is not `re` or `sys`.
pub(super) fn starter_module(script: &Path) -> Option<String> {
    let text = hash::small_text(script, SCRIPT_MAX)?;
    text.lines().take(100).find_map(|line| {
        let mut words = line.split_whitespace();
        let (Some("from" | "import"), Some(name)) = (words.next(), words.next()) else {
            return None;
        };
        let name = name.split('.').next().unwrap_or(name);
        let own = !["re", "sys", "os", "importlib", "__future__"].contains(&name);
        own.then(|| name.trim_end_matches(',').to_owned())
    })
}
