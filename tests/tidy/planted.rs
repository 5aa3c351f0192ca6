//! Planted faults: each rule is shown a small wrong repository and must say so, and a right one
//! and must be silent.

use crate::{Fault, Source, floors, homes, shape, store};

type Rule = fn(&[Source]) -> Vec<Fault>;

/// A repository of one file, or of several: `(path, text)`.
fn files(list: &[(&str, &str)]) -> Vec<Source> {
    let file = |(path, text): &(&str, &str)| Source {
        path: (*path).into(),
        text: (*text).into(),
    };
    list.iter().map(file).collect()
}

/// The places that a rule finds fault with, as `line` numbers or `path:line`.
#[track_caller]
pub(crate) fn check(rule: Rule, list: &[(&str, &str)], want: &[&str]) {
    let faults = rule(&files(list));
    let got: Vec<&str> = faults.iter().map(|f| f.place.as_str()).collect();
    assert_eq!(got, want, "{list:?}\n{faults:#?}");
}

/// `(file, text, the lines at fault)`
const PLANTED: &[(&str, &str, &[usize])] = &[
    ("src/policy/mod.rs", "use crate::request::Query;", &[]),
    ("src/policy/mod.rs", "\nuse crate::decision::Permit;", &[2]),
    ("src/sandbox/plan.rs", "use crate::grant::Grant;", &[]),
    (
        "src/sandbox/plan.rs",
        "fn f(x: crate::policy::Set) {}",
        &[1],
    ),
    ("src/sandbox/plan.rs", "use crate::disk::Folder;", &[1]),
    ("src/audit/a.rs", "use crate::request::Answer;", &[]),
    ("src/request/a.rs", "use crate::audit::Event;", &[1]),
    (
        "src/gateway/a.rs",
        "use crate::{enforce::Call, disk::Folder};",
        &[1],
    ),
    (
        "src/gateway/b.rs",
        "use crate::{enforce::Call, transport::Peer};",
        &[],
    ),
    ("src/transport/a.rs", "use crate::sandbox::Exit;", &[1]),
    (
        "src/decision/a.rs",
        "use crate::{request::{Act, Key},\n policy::Set,\n sandbox::{Plan}};",
        &[3],
    ),
    ("src/policy/a.rs", "use crate::Permit;", &[1]),
    ("src/digest/mod.rs", "use super::policy::Set;", &[1]),
    ("src/disk/a/b.rs", "use super::super::c::D;", &[]),
    (
        "src/disk/a/b.rs",
        "use super::super::super::policy::D;",
        &[1],
    ),
    (
        "src/sandbox/a.rs",
        "#[cfg(test)]\nmod tests { use crate::policy::Set; }",
        &[],
    ),
    ("src/sandbox/a/tests.rs", "use crate::policy::Set;", &[]),
    ("src/toolbox/mod.rs", "", &[1]),
    ("src/cli/a.rs", "use crate::cli::b;", &[]),
];

#[test]
fn floors_hold() {
    for (path, text, lines) in PLANTED {
        let want: Vec<String> = lines.iter().map(|line| format!("{path}:{line}")).collect();
        let want: Vec<&str> = want.iter().map(String::as_str).collect();
        check(
            |sources| floors::floors(sources, &[]),
            &[(path, text)],
            &want,
        );
    }
}

#[test]
fn known_faults_may_only_shrink() {
    let known = |text| {
        floors::floors(
            &files(&[("src/grant/a.rs", text)]),
            &[("src/grant/a.rs", "request")],
        )
        .len()
    };
    assert_eq!(known("use crate::request::Place;"), 0);
    assert_eq!(
        known("use crate::request::Place; use crate::audit::Event;"),
        1
    );
    assert_eq!(known(""), 1);
}

#[test]
fn inventory_holds() {
    let all: String = floors::FLOORS
        .iter()
        .flat_map(|f| f.1)
        .map(|m| format!("mod {m};\n"))
        .collect();
    let map: String = floors::FLOORS
        .iter()
        .flat_map(|f| f.1)
        .map(|m| format!("`{m}` "))
        .collect();
    check(
        floors::inventory,
        &[("src/lib.rs", &all), ("ARCHITECTURE.md", &map)],
        &[],
    );
    let fewer = all.replace("mod disk;", "");
    check(
        floors::inventory,
        &[("src/lib.rs", &fewer), ("ARCHITECTURE.md", &map)],
        &["src/lib.rs:1"],
    );
    let fewer = map.replace("`disk`", "");
    check(
        floors::inventory,
        &[("src/lib.rs", &all), ("ARCHITECTURE.md", &fewer)],
        &["ARCHITECTURE.md:1"],
    );
}

#[test]
fn homes_hold() {
    let rule = homes::homes;
    check(
        rule,
        &[("src/policy/a.rs", "use cedar_policy::PolicySet;")],
        &[],
    );
    check(
        rule,
        &[("src/decision/a.rs", "use cedar_policy::PolicySet;")],
        &["src/decision/a.rs:1"],
    );
    check(
        rule,
        &[("src/decision/a.rs", "fn f() { ::cedar_policy::x() }")],
        &["src/decision/a.rs:1"],
    );
    check(
        rule,
        &[(
            "src/decision/a.rs",
            "fn f() { self.cedar_policy.x(); a::cedar_policy::y }",
        )],
        &[],
    );
    check(
        rule,
        &[
            ("src/main.rs", "#[tokio::main] fn main() {}"),
            ("src/audit/a.rs", "#[tokio::test] fn x() {}"),
        ],
        &["src/audit/a.rs:1"],
    );
    check(
        rule,
        &[
            ("src/disk/a.rs", "use rustix::fs;"),
            ("src/enforce/a.rs", "use rustix as r;"),
        ],
        &["src/enforce/a.rs:1"],
    );
    check(
        rule,
        &[
            ("src/runner/a.rs", "use clap::Parser;"),
            ("src/cli/a.rs", "use clap::Parser;"),
        ],
        &["src/runner/a.rs:1"],
    );
    check(
        rule,
        &[("src/sandbox/helper.rs", "use landlock::Ruleset;")],
        &["src/sandbox/helper.rs:1"],
    );
}

#[test]
fn purity_holds() {
    let rule = homes::purity;
    for bad in [
        "use std::fs;",
        "use std::{fmt, fs::File};",
        "fn f() { std::env::var(\"A\") }",
        "use std::time::{Duration, Instant};",
        "fn f() { SystemTime::now() }",
        "use std::net::TcpStream;",
        "use std::process::Command;",
        "use std::os::fd::OwnedFd;",
        "fn f() { std::io::stdin() }",
        "fn f(p: &Path) { p.canonicalize() }",
        "fn f() { std::time::SystemTime::now() }",
        "use std::thread;",
        "fn f() { std::thread::spawn(g) }",
        "fn f() { std::thread::sleep(g) }",
        "fn f() { std::thread::available_parallelism() }",
    ] {
        check(rule, &[("src/request/a.rs", bad)], &["src/request/a.rs:1"]);
        check(rule, &[("src/policy/a.rs", bad)], &["src/policy/a.rs:1"]);
        check(rule, &[("src/disk/a.rs", bad)], &[]);
    }
    for good in [
        "use std::net::{IpAddr, Ipv6Addr};",
        "use std::time::Duration;",
        "fn f(e: std::io::Error) {}",
        "fn f() { std::thread::scope(g) }",
        "// std::fs",
    ] {
        check(rule, &[("src/request/a.rs", good)], &[]);
    }
}

#[test]
fn unsafe_and_binary_hold() {
    check(
        homes::unsafe_code,
        &[("src/disk/a.rs", "fn f() { unsafe { g() } }")],
        &["src/disk/a.rs:1"],
    );
    check(
        homes::unsafe_code,
        &[("src/sandbox/apply/a.rs", "fn f() { unsafe { g() } }")],
        &[],
    );
    check(
        homes::unsafe_code,
        &[("src/disk/a.rs", "// unsafe\n#[deny(unsafe_code)] fn f() {}")],
        &[],
    );
    check(
        floors::binary,
        &[
            ("src/main.rs", "mod cli;"),
            ("src/cli/mod.rs", "mod policy;"),
        ],
        &[],
    );
    check(
        floors::binary,
        &[("src/main.rs", "mod policy;")],
        &["src/main.rs:1"],
    );
    check(
        floors::binary,
        &[("src/cli/mod.rs", "#[path = \"../policy/mod.rs\"] mod p;")],
        &["src/cli/mod.rs:1"],
    );
}

#[test]
fn shape_holds() {
    let long = "//! x\n".repeat(401);
    let sizes = |known: &'static [&'static str], list: &[(&str, &str)]| {
        shape::sizes(&files(list), known).len()
    };
    assert_eq!(sizes(&[], &[("src/a.rs", &long)]), 1);
    assert_eq!(sizes(&["src/a.rs"], &[("src/a.rs", &long)]), 0);
    assert_eq!(sizes(&["src/a.rs"], &[("src/a.rs", "short")]), 1);
    assert_eq!(sizes(&["src/gone.rs"], &[]), 1);
    check(
        shape::heads,
        &[
            ("src/a.rs", "//! A."),
            ("src/b.rs", "use x;"),
            ("tests/c.rs", ""),
        ],
        &["src/b.rs:1", "tests/c.rs:1"],
    );
    check(
        shape::names,
        &[
            ("src/disk/utils.rs", ""),
            ("src/common/a.rs", ""),
            ("src/disk/folder.rs", ""),
        ],
        &["src/disk/utils.rs:1", "src/common/a.rs:1"],
    );
}

#[test]
fn orphans_are_found() {
    let tree = [
        ("src/lib.rs", "mod a; mod inner { mod d; }"),
        ("src/a/mod.rs", "mod b; mod os;"),
        ("src/a/b.rs", "#[cfg(test)] mod tests;"),
        ("src/a/b/tests.rs", ""),
        ("src/inner/d.rs", ""),
        (
            "src/a/os.rs",
            "#[cfg(unix)]\n#[path = \"os_unix.rs\"]\npub(super) mod os;",
        ),
        (
            "src/a/os_unix.rs",
            "#[cfg_attr(unix, path = \"../a/deep/er.rs\")] mod er;",
        ),
        ("src/a/deep/er.rs", ""),
        ("src/a/lost.rs", "mod b;"),
        ("tests/x.rs", "#[path = \"x/y.rs\"] mod y;"),
        ("tests/x/y.rs", ""),
        ("tests/x/z.rs", ""),
        ("tests/real/main.rs", "mod raw;"),
        ("tests/real/raw.rs", ""),
    ];
    check(
        shape::orphans,
        &tree,
        &["src/a/lost.rs:1", "tests/x/z.rs:1"],
    );
}

#[test]
fn store_holds() {
    let policy = (
        "policies/builtin/a.cedar",
        "@id(\"keys\")\nforbid (principal, action, resource);",
    );
    let table = |text| [policy, ("tests/policy/t.rs", text)];
    let lost = "policies/builtin/a.cedar:1";
    let idle = "tests/policy/t.rs:1";
    check(store::fixtures, &[policy], &[lost]);
    check(
        store::fixtures,
        &table("fixture(\"keys\", (a(), B), (c(1, 2), D)),"),
        &[],
    );
    check(
        store::fixtures,
        &table("fixture(\"keys\", (a(), B), (c, D),)"),
        &[],
    );
    check(
        store::fixtures,
        &table("fixture(\"keys\", (a(), B))"),
        &[lost],
    );
    check(
        store::fixtures,
        &table("// fixture(\"keys\", a, b)"),
        &[lost],
    );
    check(
        store::fixtures,
        &table("fixture(\"keys-2\", a, b)"),
        &[lost, idle],
    );
    let tests = |text| [policy, ("policies/builtin/tests/a.json", text)];
    check(
        store::fixtures,
        &tests("[{\"because\": [\"builtin/a/keys\"]}]"),
        &[],
    );
    check(
        store::fixtures,
        &tests("[{\"because\": [\"builtin/a/other\"]}]"),
        &[lost],
    );
    check(
        store::schemas,
        &[("schemas/a.json", "{}")],
        &["schemas/a.json:1"],
    );
    check(
        store::schemas,
        &[
            ("schemas/a.json", "{}"),
            ("src/config/a.rs", "include_str!(\"../../schemas/a.json\")"),
        ],
        &[],
    );
    let place = ["/wo", "rk/x"].concat();
    check(store::machine, &[("README.md", &place)], &["README.md:1"]);
    check(store::machine, &[("README.md", "at work / play")], &[]);
}

#[test]
fn surface_is_compared_both_ways() {
    let names =
        store::public_names("mod a; pub mod b; pub use a::{C, d::E as F}; pub use g::H; use i::J;");
    assert_eq!(names, ["C", "F", "H", "mod b"]);
    assert_eq!(store::surface(&names, "C\nF\nH\nmod b\n"), []);
    assert_eq!(store::surface(&names, "C\nF\nH\nmod b\nZ\n").len(), 1);
    assert_eq!(store::surface(&names, "C\nF\nH\n").len(), 1);
}
