//! Public bug reports about audit and policies, and the tests that replay them: a case without its
//! test, or a test that is gone, is a fault.

use std::path::Path;

use crate::{Fault, Source};

/// `(case, file, test)`
const REPLAYED: &[(&str, &str, &str)] = &[
    (
        "AUD-01",
        "tests/gateway/cases/audit.rs",
        "aud_01_no_secret_is_kept_or_said",
    ),
    (
        "AUD-01",
        "src/clean/value.rs",
        "aud_01_no_secret_under_any_name",
    ),
    (
        "AUD-03",
        "tests/gateway/cases/audit.rs",
        "aud_03_known_shapes_go_and_look_alikes_stay",
    ),
    (
        "AUD-03",
        "src/clean/value.rs",
        "aud_03_known_shapes_go_and_look_alikes_stay",
    ),
    (
        "AUD-04",
        "tests/gateway/cases/audit.rs",
        "aud_04_one_event_is_one_line",
    ),
    (
        "AUD-04",
        "src/disk/tests/audit_log.rs",
        "aud_04_one_event_is_one_line",
    ),
    (
        "AUD-06",
        "tests/gateway/cases/disk_full.rs",
        "aud_06_no_effect_without_its_record",
    ),
    (
        "AUD-06",
        "tests/gateway/cases/disk_full.rs",
        "aud_06_a_log_that_is_gone_or_read_only_stops_effects",
    ),
    (
        "AUD-07",
        "tests/gateway/cases/audit.rs",
        "aud_07_two_gateways_and_kills_leave_one_chain",
    ),
    (
        "AUD-07",
        "src/disk/tests/audit_log.rs",
        "aud_07_a_strange_log_is_gone_on_with",
    ),
    ("POL-01", "tests/policy/cases.rs", "pol_01_type_error"),
    (
        "POL-01",
        "src/policy/tests/errors.rs",
        "a_forbid_that_errors_denies",
    ),
    ("POL-03", "tests/policy/cases.rs", "pol_03_dot_star"),
    ("POL-04", "tests/policy/cases.rs", "pol_04_star_and_case"),
    ("POL-05", "tests/policy/cases.rs", "pol_05_broken_files"),
    (
        "POL-07",
        "tests/policy/cases.rs",
        "pol_07_absent_is_not_equal",
    ),
    ("POL-09", "src/request/host_rule.rs", "rules_have_one_form"),
    ("POL-10", "tests/policy/cases.rs", "pol_10_addresses"),
];

/// Every case that was taken in.
const CASES: [&str; 12] = [
    "AUD-01", "AUD-03", "AUD-04", "AUD-06", "AUD-07", "POL-01", "POL-03", "POL-04", "POL-05",
    "POL-07", "POL-09", "POL-10",
];

type Row<'a> = (&'a str, &'a str, &'a str);

fn faults(rows: &[Row<'_>], sources: &[Source]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut say = |file: &str, what: String| {
        let source = Source {
            path: file.into(),
            text: String::new(),
        };
        faults.push(source.fault(1, what, "write the test, or name it here"));
    };
    for case in CASES {
        if !rows.iter().any(|(id, _, _)| *id == case) {
            say("tests/tidy/replayed.rs", format!("{case} has no test"));
        }
    }
    for (case, file, test) in rows {
        let source = sources.iter().find(|source| source.path == *file);
        if !source.is_some_and(|source| is_test(&source.text, test)) {
            say(file, format!("{case}: there is no test `{test}`"));
        }
    }
    faults
}

/// Whether a function of this name is a test that runs.
fn is_test(text: &str, name: &str) -> bool {
    let Some((before, _)) = text.split_once(&format!("fn {name}()")) else {
        return false;
    };
    let attributes = before.rsplit_once("#[test]").map(|(_, between)| between);
    attributes.is_some_and(|between| !between.contains("fn ") && !between.contains("#[ignore"))
}

/// An input that was taken in is used by a test.
fn unused(files: &[String], sources: &[Source]) -> Vec<String> {
    let idle = |file: &&String| !sources.iter().any(|test| test.text.contains(file.as_str()));
    files.iter().filter(idle).cloned().collect()
}

#[test]
fn each_case_has_its_test() {
    let sources = crate::repository();
    let found = faults(REPLAYED, &sources);
    assert!(found.is_empty(), "{found:#?}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let names = std::fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let inputs: Vec<String> = names
        .filter(|name| name.starts_with("AUD-") || name.starts_with("POL-"))
        .collect();
    assert!(inputs.len() > 10, "{inputs:?}");
    let tests = REPLAYED.iter().map(|(_, file, _)| *file);
    let tests = tests.flat_map(|file| sources.iter().filter(move |source| source.path == file));
    let tests: Vec<Source> = tests.cloned().collect();
    assert_eq!(unused(&inputs, &tests), [""; 0]);
}

#[test]
fn a_case_that_lost_its_test_is_a_fault() {
    let source = |text: &str| Source {
        path: "a.rs".into(),
        text: text.into(),
    };
    let row: &[Row<'_>] = &[("AUD-01", "a.rs", "t")];
    let count = |text: &str| {
        let found = faults(row, &[source(text)]);
        found.len() - (CASES.len() - 1)
    };
    assert_eq!(count("#[test]\nfn t() {}"), 0);
    assert_eq!(count("#[tokio::test]\nasync fn t() {}"), 1);
    assert_eq!(count("fn t() {}"), 1);
    assert_eq!(count("#[test]\nfn other() {}\nfn t() {}"), 1);
    assert_eq!(count("#[test]\n#[ignore = \"x\"]\nfn t() {}"), 1);
    assert_eq!(count("#[test]\nfn t2() {}"), 1);
    let files = ["AUD-01.x".to_owned(), "AUD-02.x".to_owned()];
    assert_eq!(
        unused(&files, &[source("include_str!(\"AUD-01.x\")")]),
        ["AUD-02.x"]
    );
}
