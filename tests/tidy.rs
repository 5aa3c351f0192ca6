//! The repository tests itself: floors, homes, sizes, heads, fixtures, public names.
//! Rules are pure functions of the files; `tidy/planted.rs` shows that each of them can fail.
#![cfg(test)]

#[path = "tidy/cases.rs"]
mod cases;
#[path = "tidy/floors.rs"]
mod floors;
#[path = "tidy/homes.rs"]
mod homes;
#[path = "tidy/planted.rs"]
mod planted;
#[path = "tidy/replayed.rs"]
mod replayed;
#[path = "tidy/rust.rs"]
mod rust;
#[path = "tidy/shape.rs"]
mod shape;
#[path = "tidy/store.rs"]
mod store;

use std::fmt;
use std::fs;
use std::path::Path;

/// A file of the repository; its path is relative, with `/`.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    path: String,
    text: String,
}

impl Source {
    fn fault(&self, line: usize, what: String, fix: &str) -> Fault {
        Fault::new(&self.path, line, what, fix)
    }
}

/// What is wrong, where, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    place: String,
    what: String,
    fix: String,
}

impl Fault {
    fn new(path: &str, line: usize, what: String, fix: &str) -> Self {
        Self {
            place: format!("{path}:{line}"),
            what,
            fix: fix.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n    fix: {}", self.place, self.what, self.fix)
    }
}

/// Folders that hold no file of the project.
const OUTSIDE: &[&str] = &["target", ".git", "node_modules", "__pycache__"];

/// Every text file of the repository.
fn repository() -> Vec<Source> {
    let mut sources = Vec::new();
    read(Path::new(env!("CARGO_MANIFEST_DIR")), "", &mut sources);
    assert!(
        sources.iter().any(|s| s.path == "src/lib.rs"),
        "the repository was not found"
    );
    sources
}

fn read(folder: &Path, prefix: &str, sources: &mut Vec<Source>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().into_string().unwrap();
        let kind = entry.file_type().unwrap();
        if OUTSIDE.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            read(&entry.path(), &format!("{prefix}{name}/"), sources);
        }
        // A file that is no text, or that went away meanwhile, is none of ours.
        if kind.is_file()
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            sources.push(Source {
                path: format!("{prefix}{name}"),
                text,
            });
        }
    }
}

/// Fails with every fault of one rule.
fn none(faults: &[Fault]) {
    let mut lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    lines.dedup();
    assert!(
        faults.is_empty(),
        "{} to mend:\n{}",
        lines.len(),
        lines.join("\n")
    );
}

#[test]
fn public_faults_have_tests() {
    none(&cases::cases(&repository()));
}

#[test]
fn modules_stay_on_their_floor() {
    none(&floors::floors(&repository(), floors::KNOWN));
}

#[test]
fn the_floors_are_all_there() {
    none(&floors::inventory(&repository()));
}

#[test]
fn outside_crates_stay_at_home() {
    none(&homes::homes(&repository()));
}

#[test]
fn words_and_judgement_touch_nothing() {
    none(&homes::purity(&repository()));
}

#[test]
fn unsafe_code_has_one_place() {
    none(&homes::unsafe_code(&repository()));
}

#[test]
fn the_binary_sees_the_public_interface() {
    none(&floors::binary(&repository()));
}

#[test]
fn files_are_short() {
    none(&shape::sizes(&repository(), shape::TOO_LONG));
}

#[test]
fn files_say_what_they_hold() {
    none(&shape::heads(&repository()));
}

#[test]
fn files_are_named_after_nouns() {
    none(&shape::names(&repository()));
}

#[test]
fn no_file_is_an_orphan() {
    none(&shape::orphans(&repository()));
}

#[test]
fn policies_have_fixtures() {
    none(&store::fixtures(&repository()));
}

#[test]
fn schemas_are_used() {
    none(&store::schemas(&repository()));
}

#[test]
fn no_file_names_a_machine() {
    none(&store::machine(&repository()));
}

#[test]
fn the_public_surface_is_as_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/public_names.txt");
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let names = store::public_names(&lib);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, names.join("\n") + "\n").unwrap();
    }
    none(&store::surface(
        &names,
        &fs::read_to_string(&path).unwrap_or_default(),
    ));
}
