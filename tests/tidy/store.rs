//! What stands beside the code: policies with fixtures, schemas in use, the public surface,
//! and nothing of the machine on which a file was written.

use crate::rust::{Path, Token, closing, lex, paths_from, without_tests};
use crate::{Fault, Source};

/// Each shipped policy is seen to let something pass and seen not to.
///
/// A fixture is a row `fixture("ID", (request that passes …), (request that does not …))` below
/// `tests/policy/`, and the table's own test runs it; or a test below `policies/…/tests/` that names
/// the policy as its reason, and `tests/policy/shipped.rs` holds that one decides and one spares.
/// A row for no shipped policy is a fault too.
pub(crate) fn fixtures(sources: &[Source]) -> Vec<Fault> {
    let mut rows: Vec<(&Source, usize, String)> = Vec::new();
    for source in sources
        .iter()
        .filter(|s| s.path.starts_with("tests/policy/"))
    {
        let found = fixture_rows(&lex(&source.text)).into_iter();
        rows.extend(found.map(|(line, id)| (source, line, id)));
    }
    let mut shipped: Vec<(&Source, usize, String)> = Vec::new();
    let builtin = |s: &&Source| s.path.starts_with("policies/") && s.path.ends_with(".cedar");
    for source in sources.iter().filter(builtin) {
        let found = policy_ids(&source.text).into_iter();
        shipped.extend(found.map(|(line, id)| (source, line, id)));
    }
    let told = told(sources);
    let missing = shipped
        .iter()
        .filter(|(_, _, id)| !told.contains(id) && !rows.iter().any(|row| row.2 == *id));
    let missing = missing.map(|(source, line, id)| {
        source.fault(
            *line,
            format!("policy `{id}` has no allow and deny fixture"),
            "add a test below policies/, or a row to the table below tests/policy/",
        )
    });
    let idle = rows
        .iter()
        .filter(|(_, _, id)| !shipped.iter().any(|policy| policy.2 == *id));
    let idle = idle.map(|(source, line, id)| {
        source.fault(
            *line,
            format!("a fixture for `{id}`, which is no shipped policy"),
            "mend the id, or delete the row",
        )
    });
    missing.chain(idle).collect()
}

/// The ids of policies that shipped tests name, `"layer/file/ID"`.
fn told(sources: &[Source]) -> Vec<String> {
    let is_test = |s: &&Source| {
        s.path.starts_with("policies/") && s.path.contains("/tests/") && s.path.ends_with(".json")
    };
    let ids = sources
        .iter()
        .filter(is_test)
        .flat_map(|source| source.text.split('"'));
    let ids = ids.filter(|text| text.matches('/').count() == 2 && !text.starts_with('/'));
    ids.filter_map(|id| Some(id.rsplit_once('/')?.1.to_string()))
        .collect()
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

/// The rows `fixture("ID", …, …)` of a test: three arguments, the first of them a text.
fn fixture_rows(tokens: &[Token]) -> Vec<(usize, String)> {
    let row = |at: usize| {
        let [name, open, id] = tokens.get(at..at + 3)? else {
            return None;
        };
        let text = id.text.strip_prefix('"')?.strip_suffix('"')?;
        let whole = name.text == "fixture" && open.text == "(" && arguments(&tokens[at + 1..]) == 3;
        whole.then(|| (name.line, text.to_string()))
    };
    (0..tokens.len()).filter_map(row).collect()
}

/// How many arguments the call has whose `(` stands first; a comma at the end adds none.
fn arguments(tokens: &[Token]) -> usize {
    let (mut depth, mut commas, mut last) = (0, 0, "");
    for token in tokens {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "," if depth == 1 => commas += 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        last = &token.text;
    }
    commas + usize::from(last != ",")
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
