//! The escape suite, as `creance doctor --self-test` runs it, and its control without a sandbox.

use creance::{EscapeVerdict, SelfTest};

use crate::world::uid;

/// Attempts that are tried in a backend with namespaces; fewer means that some were lost.
const LEAST: usize = 230;

/// Nothing gets out, in any backend.
pub(crate) fn run() {
    let mut tell = |_: &creance::EscapeResult| {};
    let test = creance::self_test(&mut tell).unwrap();
    for (backend, why) in &test.untried {
        println!("skipped {backend}: {why}");
    }
    tell_of(&test);
    assert!(test.ok());
    for backend in ["linux-l3", "linux-ns"] {
        let such = test.results.iter().filter(|one| one.backend == backend);
        let held = such
            .filter(|one| one.verdict == EscapeVerdict::Held)
            .count();
        let untried = test.untried.iter().any(|(name, _)| name == backend);
        assert!(
            untried || held > LEAST,
            "{backend}: only {held} attempts held"
        );
    }
}

/// Without a sandbox they get through: the attempts are real, and a hole would be seen.
pub(crate) fn control() {
    let mut tell = |_: &creance::EscapeResult| {};
    let test = creance::internal::escape_control(&mut tell).unwrap();
    tell_of(&test);
    let failed = test.results.iter();
    let failed: Vec<_> = failed
        .filter(|one| one.verdict == EscapeVerdict::Failed)
        .collect();
    assert!(test.ok(), "{failed:#?}");
    let through = test.count(EscapeVerdict::Held);
    assert!(through > 100, "only {through} attempts got through");
}

/// The tests that the table names are there.
pub(crate) fn table() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("src/sandbox/escape/escapes.tsv")).unwrap();
    let mut code = String::new();
    let mut open = vec![root.join("src"), root.join("tests")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                code.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = rows
        .filter_map(|row| row.split('\t').nth(8)?.strip_prefix("test "))
        .collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let there =
            code.contains(&format!("fn {name}()")) || code.contains(&format!("(\"{name}\", "));
        assert!(there, "the table names a test `{name}` that is not there");
    }
}

fn tell_of(test: &SelfTest) {
    let mut backends: Vec<&str> = test
        .results
        .iter()
        .map(|one| one.backend.as_str())
        .collect();
    backends.dedup();
    for backend in backends {
        let of = |verdict| {
            let such = move |one: &&creance::EscapeResult| {
                one.backend == backend && one.verdict == verdict
            };
            test.results.iter().filter(such)
        };
        println!(
            "  {backend} as uid {}: {} held, {} weak, {} skipped, {} FAILED",
            uid(),
            of(EscapeVerdict::Held).count(),
            of(EscapeVerdict::Weak).count(),
            of(EscapeVerdict::Skipped).count(),
            of(EscapeVerdict::Failed).count(),
        );
        of(EscapeVerdict::Skipped).for_each(|one| println!("    {one}"));
        of(EscapeVerdict::Failed).for_each(|one| println!("    {one}"));
    }
}
