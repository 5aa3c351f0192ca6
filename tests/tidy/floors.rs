//! Which module may name which. The table is the architecture; `ARCHITECTURE.md` tells the same in prose.

use crate::rust::{Path, lex, paths_from, without_tests};
use crate::{Fault, Source};

/// A floor, its modules from the bottom up, and the floors that it may use.
/// `words` may also use words that are listed before them.
pub(crate) const FLOORS: &[(&str, &[&str], &[&str])] = &[
    (
        "words",
        &[
            "digest", "address", "grant", "clean", "request", "protocol", "audit", "config",
        ],
        &[],
    ),
    ("judgement", &["policy"], &["words"]),
    ("decision", &["decision"], &["words", "judgement"]),
    // Peers over pipes that somebody else opened. It starts, opens and decides nothing, and speaks to
    // the server below and to the client above: so a face may use it too.
    ("wire", &["transport"], &["words"]),
    // Asks where a name leads; judges and dials nothing. All that connect ask it.
    ("look-up", &["lookup"], &["words"]),
    (
        "mechanism",
        &["sandbox", "disk", "terminal", "http", "front"],
        &["words", "look-up"],
    ),
    // The one that needs two: it keeps tokens in files.
    ("sign-in", &["signin"], &["words", "mechanism"]),
    (
        "enforcement",
        &["enforce"],
        &["words", "decision", "wire", "mechanism", "sign-in"],
    ),
    (
        "faces",
        &["gateway"],
        &["words", "decision", "wire", "enforcement"],
    ),
    (
        "wiring",
        &["runner", "internal"],
        &[
            "words",
            "judgement",
            "decision",
            "wire",
            "mechanism",
            "sign-in",
            "enforcement",
            "faces",
        ],
    ),
];

/// Files that name a module which does not stand below them. May only shrink: a listed file that no
/// longer offends is a fault too.
pub(crate) const KNOWN: &[(&str, &str)] = &[];

/// A module may name only what stands below it.
pub(crate) fn floors(sources: &[Source], known: &[(&str, &str)]) -> Vec<Fault> {
    let all: Vec<(Fault, String)> = library(sources).flat_map(floors_of).collect();
    let listed = |(fault, name): &(Fault, String)| {
        let file = fault.place.split(':').next().unwrap_or_default();
        known.contains(&(file, name))
    };
    let idle = known.iter().filter(|entry| {
        !all.iter().any(|(fault, name)| {
            fault.place.starts_with(&format!("{}:", entry.0)) && name == entry.1
        })
    });
    let idle = idle.map(|entry| {
        Fault::new(
            entry.0,
            1,
            format!("is listed for `{}` and no longer names it", entry.1),
            "take it off KNOWN (tests/tidy/floors.rs)",
        )
    });
    let new = all
        .iter()
        .filter(|fault| !listed(fault))
        .map(|(fault, _)| fault.clone());
    new.chain(idle).collect()
}

/// The files of the library: below `src/`, not the binary's.
pub(crate) fn library(sources: &[Source]) -> impl Iterator<Item = &Source> {
    sources.iter().filter(|s| {
        s.path.starts_with("src/")
            && s.path.ends_with(".rs")
            && !is_binary(&s.path)
            && !is_test(&s.path)
    })
}

fn is_binary(path: &str) -> bool {
    path == "src/main.rs" || path.starts_with("src/cli/") || path.starts_with("src/bin/")
}

/// A sibling file of tests, `foo/tests.rs`, `foo_tests.rs` or `foo/tests/bar.rs`: compiled for tests
/// alone.
pub(crate) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.ends_with("_tests.rs") || path.contains("/tests/")
}

/// The faults of one file, each with the module that it names.
fn floors_of(source: &Source) -> Vec<(Fault, String)> {
    let tokens = without_tests(&lex(&source.text));
    let Some(own) = source.path.strip_prefix("src/").filter(|p| *p != "lib.rs") else {
        return Vec::new();
    };
    let own = own.split(['/', '.']).next().unwrap_or_default();
    let mut faults = Vec::new();
    if floor_of(own).is_none() {
        let fault = source.fault(
            1,
            format!("module `{own}` stands on no floor"),
            "name it in FLOORS (tests/tidy/floors.rs) and in ARCHITECTURE.md",
        );
        faults.push((fault, String::new()));
    }
    let used = paths_from(&tokens, "crate")
        .into_iter()
        .chain(climbing(source, &tokens));
    for path in used {
        let name = path.parts.get(1).map_or("", String::as_str);
        if let Some((fault, fix)) = wrong(own, name) {
            faults.push((source.fault(path.line, fault, &fix), name.to_string()));
        }
    }
    faults
}

/// `super::super::x` that reaches the crate's root, as `crate::x`.
fn climbing(source: &Source, tokens: &[crate::rust::Token]) -> Vec<Path> {
    let inner = source
        .path
        .trim_start_matches("src/")
        .trim_end_matches(".rs");
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    let depth = inner.split('/').count();
    let reaches = |path: &Path| path.parts.iter().take_while(|p| *p == "super").count() >= depth;
    let rooted = |path: Path| Path {
        parts: path.parts[depth - 1..].to_vec(),
        ..path
    };
    paths_from(tokens, "super")
        .into_iter()
        .filter(reaches)
        .map(rooted)
        .collect()
}

/// What is wrong with module `own` naming `crate::name`, and the way out.
fn wrong(own: &str, name: &str) -> Option<(String, String)> {
    if own == name {
        return None;
    }
    let Some((floor, place)) = floor_of(name) else {
        return Some((
            format!("`crate::{name}` goes through the root and hides which module it means"),
            format!("name the module: `crate::<module>::{name}`"),
        ));
    };
    let (own_floor, own_place) = floor_of(own)?;
    let allowed = FLOORS
        .iter()
        .find(|f| f.0 == own_floor)
        .is_some_and(|f| f.2.contains(&floor));
    let earlier_word = floor == "words" && own_floor == "words" && place < own_place;
    if allowed || earlier_word {
        return None;
    }
    Some((
        format!("`{own}` ({own_floor}) names `{name}` ({floor}), which does not stand below it"),
        format!(
            "pass `{name}`'s value in from above, or move the shared word down to a floor that both may use"
        ),
    ))
}

pub(crate) fn floor_of(module: &str) -> Option<(&'static str, usize)> {
    let (floor, modules, _) = FLOORS.iter().find(|f| f.1.contains(&module))?;
    Some((floor, modules.iter().position(|m| *m == module)?))
}

/// Each floor's module exists, is declared once in `lib.rs`, and stands in ARCHITECTURE.md.
pub(crate) fn inventory(sources: &[Source]) -> Vec<Fault> {
    let text = |path: &str| sources.iter().find(|s| s.path == path);
    let (Some(lib), Some(map)) = (text("src/lib.rs"), text("ARCHITECTURE.md")) else {
        return vec![Fault::new(
            "src/lib.rs",
            1,
            "src/lib.rs or ARCHITECTURE.md is missing".into(),
            "add it",
        )];
    };
    let declared: Vec<String> = lex(&lib.text)
        .windows(2)
        .filter(|w| w[0].text == "mod")
        .map(|w| w[1].text.clone())
        .collect();
    let mut faults = Vec::new();
    for module in FLOORS.iter().flat_map(|f| f.1) {
        if !declared.iter().any(|d| d == module) {
            faults.push(lib.fault(
                1,
                format!("FLOORS names `{module}`, lib.rs does not declare it"),
                "keep the two equal",
            ));
        }
        if !map.text.contains(&format!("`{module}`")) {
            faults.push(map.fault(
                1,
                format!("the table does not tell of `{module}`"),
                "add its row",
            ));
        }
    }
    faults
}

/// The binary sees the public API alone: it compiles none of the library's modules itself.
pub(crate) fn binary(sources: &[Source]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for source in sources.iter().filter(|s| is_binary(&s.path)) {
        let tokens = lex(&source.text);
        for at in 1..tokens.len() {
            let stolen = tokens[at - 1].text == "mod"
                && source.path == "src/main.rs"
                && floor_of(&tokens[at].text).is_some();
            let moved = tokens[at - 1].text == "path"
                && tokens[at].text == "="
                && tokens
                    .get(at + 1)
                    .is_some_and(|t| t.text.starts_with("\"../"));
            if stolen || moved {
                faults.push(source.fault(
                    tokens[at].line,
                    "the binary compiles a module of the library itself".into(),
                    "call `creance::…`, and make public what is missing",
                ));
            }
        }
    }
    faults
}
