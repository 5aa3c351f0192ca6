//! What stands beside the code: policies with fixtures, schemas in use, the public surface,
//! and nothing of the machine on which a file was written.

use crate::rust::{Path, Token, closing, lex, paths_from, without_tests};
use crate::{Fault, Source};

/// Each shipped policy is seen to act and seen not to act.
///
/// A fixture is a line below `tests/policy/` that names the policy's id; the same line, or the
/// fixture around it, says `allow` or `deny`.
pub(crate) fn fixtures(sources: &[Source]) -> Vec<Fault> {
    let tests: Vec<&Source> = sources
        .iter()
        .filter(|s| s.path.starts_with("tests/policy/"))
        .collect();
    let mut faults = Vec::new();
    for source in sources
        .iter()
        .filter(|s| s.path.starts_with("policies/") && s.path.ends_with(".cedar"))
    {
        for (line, id) in policy_ids(&source.text) {
            let missing = ["allow", "deny"]
                .into_iter()
                .filter(|outcome| !tests.iter().any(|t| has_fixture(&t.text, &id, outcome)));
            let fault = |outcome: &str| {
                source.fault(
                    line,
                    format!("policy `{id}` has no fixture with `{outcome}`"),
                    "add a line with its id and that outcome below tests/policy/",
                )
            };
            faults.extend(missing.map(fault));
        }
    }
    faults
}

/// The ids of a policy file: the texts of its `@id("…")` lines.
fn policy_ids(text: &str) -> Vec<(usize, String)> {
    let id = |line: &str| {
        Some(
            line.trim()
                .strip_prefix("@id(\"")?
                .split_once('"')?
                .0
                .to_string(),
        )
    };
    text.lines()
        .enumerate()
        .filter_map(|(at, line)| Some((at + 1, id(line)?)))
        .collect()
}

/// Whether one line names the policy (whole words, `builtin/defaults/ID` too) and the outcome.
fn has_fixture(text: &str, id: &str, outcome: &str) -> bool {
    text.lines().any(|line| {
        let words: Vec<&str> = line
            .split(|c: char| !(c.is_alphanumeric() || "-_".contains(c)))
            .collect();
        words.contains(&id) && words.iter().any(|w| w.eq_ignore_ascii_case(outcome))
    })
}

/// A schema that no code names is a promise that nobody keeps.
pub(crate) fn schemas(sources: &[Source]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for schema in sources.iter().filter(|s| s.path.starts_with("schemas/")) {
        let name = schema.path.rsplit('/').next().unwrap_or_default();
        let used = sources
            .iter()
            .any(|s| s.path.starts_with("src/") && s.text.contains(name));
        if !used {
            faults.push(schema.fault(
                1,
                "no file below src/ names it".into(),
                "include it where it is held true, or delete it",
            ));
        }
    }
    faults
}

/// Names of the public interface: what `pub use` and `pub mod` lines of `lib.rs` say.
pub(crate) fn public_names(lib: &str) -> Vec<String> {
    let tokens = without_tests(&lex(lib));
    let mut names = Vec::new();
    let mut at = 0;
    while at + 2 < tokens.len() {
        let [first, second, third] = [at, at + 1, at + 2].map(|n| tokens[n].text.as_str());
        match (first, second) {
            ("pub", "mod") => names.push(format!("mod {third}")),
            ("pub", "use") => {
                let end = tokens[at..]
                    .iter()
                    .position(|t| t.text == ";")
                    .map_or(tokens.len(), |n| n + at);
                names.extend(exported(&tokens[at + 1..end]));
            }
            _ => {}
        }
        at = if second == "mod" && tokens.get(at + 3).is_some_and(|t| t.text == "{") {
            closing(&tokens, at + 3)
        } else {
            at + 1
        };
    }
    names.sort();
    names
}

/// The leaves of one `use` line, under the names that they are exported by.
fn exported(line: &[Token]) -> Vec<String> {
    let Some(head) = line.get(1) else {
        return Vec::new();
    };
    let renames = line
        .windows(3)
        .filter(|w| w[1].text == "as")
        .map(|w| (w[0].text.clone(), w[2].text.clone()));
    let renames: Vec<(String, String)> = renames.collect();
    let renamed = |name: String| {
        renames
            .iter()
            .find(|r| r.0 == name)
            .map_or(name, |r| r.1.clone())
    };
    let leaf = |path: Path| path.parts.last().cloned().unwrap_or_default();
    paths_from(line, &head.text)
        .into_iter()
        .map(leaf)
        .map(renamed)
        .collect()
}

/// The public surface is what its snapshot says.
pub(crate) fn surface(names: &[String], snapshot: &str) -> Vec<Fault> {
    let old: Vec<&str> = snapshot.lines().collect();
    let fault = |text: String| {
        Fault::new(
            "src/lib.rs",
            1,
            text,
            "if that is meant: `UPDATE=1 cargo test --test tidy`, and tell it in CHANGELOG.md",
        )
    };
    let added = names
        .iter()
        .filter(|n| !old.contains(&n.as_str()))
        .map(|n| fault(format!("`{n}` became public")));
    let lost = old
        .iter()
        .filter(|o| !names.iter().any(|n| n == *o))
        .map(|o| fault(format!("`{o}` is no longer public")));
    added.chain(lost).collect()
}

/// Words that belong to a machine or to a mirror, cut in two so that this file does not hold them.
const MACHINE: &[(&str, &str)] = &[
    ("/wo", "rk/"),
    ("/roo", "t/.cargo"),
    ("/roo", "t/.npm"),
    ("registry.npm", "js.org"),
    ("registry.yarn", "pkg.com"),
    ("files.python", "hosted.org"),
    ("pypi.org/", "simple"),
    ("index.crates", ".io"),
    ("static.crates", ".io"),
    ("\"reso", "lved\":"),
];

/// Nothing in the repository depends on the machine or the mirror where it was made.
pub(crate) fn machine(sources: &[Source]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let foreign = |s: &&Source| !s.path.starts_with("tests/cases/");
    for source in sources.iter().filter(foreign) {
        for (at, line) in source.text.lines().enumerate() {
            let word = MACHINE
                .iter()
                .map(|(a, b)| format!("{a}{b}"))
                .find(|word| line.contains(word));
            if let Some(word) = word {
                faults.push(source.fault(
                    at + 1,
                    format!("`{word}` names a machine or a registry"),
                    "use a relative path, a name without host, or a lock file without addresses",
                ));
            }
        }
    }
    faults
}
