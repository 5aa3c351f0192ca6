//! What touches the world, and where: outside crates at home, words of I/O, `unsafe`.

use crate::floors::{floor_of, is_test, library};
use crate::rust::{lex, paths_from, without_tests};
use crate::{Fault, Source};

/// An outside crate may be named only below these paths of `src/`.
pub(crate) const HOMES: &[(&str, &[&str])] = &[
    ("cedar_policy", &["policy/"]),
    ("cedar_policy_core", &["policy/"]),
    ("cedar_policy_formatter", &["policy/"]),
    ("cedar_policy_symcc", &["policy/prove/"]),
    ("minisign", &["policy/bundle/"]),
    ("minisign_verify", &["policy/bundle/"]),
    ("reqwest", &["http/"]),
    ("rustls", &["http/"]),
    // Its words for messages are those of the SDK, too.
    ("hyper", &["front/", "signin/"]),
    ("hyper_util", &["front/"]),
    ("http_body_util", &["front/"]),
    ("rmcp", &["signin/"]),
    ("webbrowser", &["signin/"]),
    ("keyring", &["disk/"]),
    ("clap", &["cli/", "main.rs"]),
    ("tracing_subscriber", &["cli/", "main.rs"]),
    ("landlock", &["sandbox/apply/"]),
    ("seccompiler", &["sandbox/apply/"]),
    ("birdcage", &["sandbox/apply/"]),
    ("libc", &["sandbox/"]),
    ("windows_sys", &["sandbox/"]),
    ("rustix", &["sandbox/", "disk/", "terminal/", "transport/"]),
    ("jsonc_parser", &["config/", "disk/"]),
    ("toml_edit", &["config/"]),
    ("jsonschema", &["protocol/"]),
    ("regex", &["clean/"]),
    ("unicode_normalization", &["clean/"]),
    ("unicode_properties", &["clean/"]),
    ("sha2", &["digest/"]),
    ("hmac", &["digest/"]),
    ("ed25519_dalek", &["digest/"]),
    ("idna", &["address/"]),
    ("url", &["address/"]),
    (
        "tokio",
        &[
            // Pipes to a solver, which somebody else opened.
            "policy/prove/",
            "decision/",
            "sandbox/",
            "transport/",
            "disk/",
            "terminal/",
            "front/",
            "signin/",
            "lookup/",
            "http/",
            "enforce/",
            "gateway/",
            "runner/",
            "cli/",
            "main.rs",
        ],
    ),
    (
        "tracing",
        &[
            "policy/",
            "decision/",
            "sandbox/",
            "http/",
            "transport/",
            "disk/",
            "terminal/",
            "front/",
            "signin/",
            "enforce/",
            "gateway/",
            "runner/",
            "cli/",
            "main.rs",
            "lib.rs",
        ],
    ),
];

/// Modules that take text and time as arguments and touch nothing.
const PURE: &[&str] = &["words", "judgement"];

/// Parts of `std` that touch the world.
const WORLD: &[&str] = &["fs", "env", "process", "thread", "os"];

/// Types of `std::net` that are plain data.
const ADDRESSES: &[&str] = &[
    "IpAddr",
    "Ipv4Addr",
    "Ipv6Addr",
    "SocketAddr",
    "AddrParseError",
];

/// Methods of `std::path::Path` and `std::time` that look at the disk or the clock.
const LOOKS: &[&str] = &[
    "exists",
    "try_exists",
    "canonicalize",
    "metadata",
    "symlink_metadata",
    "read_dir",
    "read_link",
    "elapsed",
    "is_file",
    "is_dir",
    "is_symlink",
];

/// One outside crate, one home.
pub(crate) fn homes(sources: &[Source]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let code = sources
        .iter()
        .filter(|s| s.path.starts_with("src/") && s.path.ends_with(".rs"));
    for source in code.filter(|s| !is_test(&s.path)) {
        let tokens = without_tests(&lex(&source.text));
        let place = source.path.trim_start_matches("src/");
        for (name, homes) in HOMES {
            if homes.iter().any(|home| place.starts_with(home)) {
                continue;
            }
            for path in paths_from(&tokens, name) {
                let fix = format!(
                    "its home is {}: ask that module, or move this code there",
                    homes.join(", ")
                );
                faults.push(source.fault(
                    path.line,
                    format!("`{name}` is named outside its home"),
                    &fix,
                ));
            }
        }
    }
    faults
}

/// Words and judgement touch nothing: no files, network, environment, processes, clock, threads of their own.
pub(crate) fn purity(sources: &[Source]) -> Vec<Fault> {
    let pure = |s: &&Source| {
        let own = s
            .path
            .trim_start_matches("src/")
            .split(['/', '.'])
            .next()
            .unwrap_or_default();
        floor_of(own).is_some_and(|(floor, _)| PURE.contains(&floor))
    };
    library(sources).filter(pure).flat_map(impurities).collect()
}

fn impurities(source: &Source) -> Vec<Fault> {
    let tokens = without_tests(&lex(&source.text));
    let fix = "take the text, the time or the fact as an argument; a mechanism gets it";
    let mut faults = Vec::new();
    for path in paths_from(&tokens, "std") {
        if touches(&path.parts) {
            faults.push(source.fault(
                path.line,
                format!(
                    "`{}` in a module that touches nothing",
                    path.parts.join("::")
                ),
                fix,
            ));
        }
    }
    for at in 2..tokens.len() {
        let [dot, name, next] = [at - 2, at - 1, at].map(|n| tokens[n].text.as_str());
        if dot == "SystemTime" && name == "::" && next == "now" {
            faults.push(source.fault(
                tokens[at].line,
                "reads the clock in a module that touches nothing".into(),
                fix,
            ));
        }
        if dot == "." && next == "(" && LOOKS.contains(&name) {
            faults.push(source.fault(
                tokens[at].line,
                format!(
                    "`.{name}()` looks at the disk or the clock in a module that touches nothing"
                ),
                fix,
            ));
        }
    }
    faults
}

/// Whether a path below `std` reaches the world.
fn touches(parts: &[String]) -> bool {
    let part = |n: usize| parts.get(n).map_or("", String::as_str);
    match part(1) {
        // `use std;`, `use std::{self}`, `use std::*`: the whole of it.
        "" | "self" | "*" => true,
        "net" => !ADDRESSES.contains(&part(2)),
        "io" => ["stdin", "stdout", "stderr", "*", "prelude"].contains(&part(2)),
        "time" => ["Instant", "", "self", "*"].contains(&part(2)),
        // Threads that end before the function does share its work and touch nothing else.
        "thread" => part(2) != "scope",
        module => WORLD.contains(&module),
    }
}

/// `unsafe` has one place, and the tests that try what the sandbox forbids.
const UNSAFE: &[&str] = &["src/sandbox/apply/", "tests/sandbox/"];

/// `unsafe` stands nowhere else.
pub(crate) fn unsafe_code(sources: &[Source]) -> Vec<Fault> {
    let code = sources
        .iter()
        .filter(|s| s.path.ends_with(".rs") && !UNSAFE.iter().any(|home| s.path.starts_with(home)));
    let in_file = |source: &Source| -> Vec<Fault> {
        lex(&source.text)
            .iter()
            .filter(|t| t.text == "unsafe")
            .map(|t| {
                source.fault(
                    t.line,
                    "`unsafe` outside src/sandbox/apply/".into(),
                    "use a safe wrapper (rustix), or add the operation to sandbox/apply",
                )
            })
            .collect()
    };
    code.flat_map(in_file).collect()
}
