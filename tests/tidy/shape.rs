//! The shape of files: size, head, name, and that each is reached by a `mod` line.

use std::collections::BTreeSet;

use crate::rust::{Token, lex};
use crate::{Fault, Source};

/// Lines of one file.
const LINES_MAX: usize = 400;

/// Files that are longer. May only shrink: a listed file that no longer offends is a fault too.
pub(crate) const TOO_LONG: &[&str] = &[];

/// Names that say nothing about what lives in a file.
const EMPTY_NAMES: &[&str] = &["utils", "util", "helpers", "common", "misc", "manager"];

fn code(sources: &[Source]) -> impl Iterator<Item = &Source> {
    sources
        .iter()
        .filter(|s| s.path.ends_with(".rs") && !s.path.starts_with("tests/cases/"))
}

/// No file is longer than a person reads at one sitting.
pub(crate) fn sizes(sources: &[Source], known: &[&str]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for source in code(sources) {
        let lines = source.text.lines().count();
        let listed = known.contains(&source.path.as_str());
        if lines > LINES_MAX && !listed {
            faults.push(source.fault(
                LINES_MAX,
                format!("{lines} lines, {LINES_MAX} are allowed"),
                "give one of its nouns a file of its own; tests go to a sibling `tests.rs`",
            ));
        }
        if lines <= LINES_MAX && listed {
            faults.push(source.fault(
                1,
                "is listed in TOO_LONG and is not too long".into(),
                "take it off the list (tests/tidy/shape.rs)",
            ));
        }
    }
    let gone = known
        .iter()
        .filter(|k| !sources.iter().any(|s| s.path == **k));
    faults.extend(gone.map(|k| {
        Fault::new(
            k,
            1,
            "is listed in TOO_LONG and does not exist".into(),
            "take it off the list (tests/tidy/shape.rs)",
        )
    }));
    faults
}

/// Each file says on its first line what lives in it.
pub(crate) fn heads(sources: &[Source]) -> Vec<Fault> {
    let headless = |s: &&Source| !s.text.starts_with("//! ");
    let fault = |s: &Source| {
        s.fault(
            1,
            "does not start with `//! `".into(),
            "say in one to five lines what lives here, and what does not",
        )
    };
    code(sources).filter(headless).map(fault).collect()
}

/// A file is named after its noun.
pub(crate) fn names(sources: &[Source]) -> Vec<Fault> {
    let empty = |s: &&Source| {
        s.path
            .split(['/', '.'])
            .any(|part| EMPTY_NAMES.contains(&part))
    };
    let fault = |s: &Source| {
        s.fault(
            1,
            "its name says nothing".into(),
            "name it after the noun that lives in it",
        )
    };
    code(sources).filter(empty).map(fault).collect()
}

/// Each `.rs` file is reached by `mod` lines from a root that Cargo knows.
pub(crate) fn orphans(sources: &[Source]) -> Vec<Fault> {
    let all: BTreeSet<&str> = code(sources).map(|s| s.path.as_str()).collect();
    let mut reached: BTreeSet<String> = all
        .iter()
        .filter(|p| is_root(p))
        .map(ToString::to_string)
        .collect();
    let mut waiting: Vec<String> = reached.iter().cloned().collect();
    while let Some(path) = waiting.pop() {
        let Some(source) = sources.iter().find(|s| s.path == path) else {
            continue;
        };
        for child in children(source)
            .into_iter()
            .filter(|c| all.contains(c.as_str()))
        {
            if reached.insert(child.clone()) {
                waiting.push(child);
            }
        }
    }
    let lost = |s: &&Source| !reached.contains(&s.path);
    let fault = |s: &Source| {
        s.fault(
            1,
            "no `mod` line reaches it: it is never compiled".into(),
            "declare it in its folder's mod.rs, or delete it",
        )
    };
    code(sources).filter(lost).map(fault).collect()
}

/// Whether Cargo compiles the file by itself.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(
        parts.as_slice(),
        ["src", "lib.rs" | "main.rs"]
            | ["build.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "examples" | "benches", _]
            | ["tests" | "examples" | "benches", _, "main.rs"]
    )
}

/// The files that a file's `mod` lines may mean; inline modules add their folder.
fn children(source: &Source) -> Vec<String> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let own = if is_root(&source.path) || file == "mod.rs" {
        folder.to_string()
    } else {
        format!("{folder}/{}", file.trim_end_matches(".rs"))
    };
    let tokens = lex(&source.text);
    let mut inline: Vec<(String, usize)> = Vec::new();
    let (mut depth, mut found) = (0, Vec::new());
    for at in 0..tokens.len() {
        let text = |n: usize| tokens.get(at + n).map_or("", |t| t.text.as_str());
        match text(0) {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inline.retain(|(_, at_depth)| *at_depth < depth + 1);
            }
            "mod" if text(2) == "{" => inline.push((text(1).to_string(), depth + 1)),
            "mod" if text(2) == ";" => {
                let below: String = inline.iter().map(|(name, _)| format!("{name}/")).collect();
                let name = text(1);
                found.extend([
                    format!("{own}/{below}{name}.rs"),
                    format!("{own}/{below}{name}/mod.rs"),
                    // A file that was reached by `#[path]` has its modules beside it.
                    format!("{folder}/{below}{name}.rs"),
                ]);
                found.extend(moved(&tokens[..at]).iter().map(|to| joined(folder, to)));
            }
            _ => {}
        }
    }
    found
}

/// The path in a `#[path = "…"]` or `#[cfg_attr(…, path = "…")]` of the item that comes next.
fn moved(before: &[Token]) -> Vec<String> {
    let ends = |t: &Token| [";", "{", "}"].contains(&t.text.as_str());
    let from = before.iter().rposition(ends).map_or(0, |at| at + 1);
    let path = |w: &[Token]| {
        (w[0].text == "path" && w[1].text == "=").then(|| w[2].text.trim_matches('"').to_string())
    };
    before[from..].windows(3).filter_map(path).collect()
}

/// A relative path below a folder, with `..` taken away.
fn joined(folder: &str, to: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in to.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}
