//! The shipped policies, by their own tests: every test passes, every policy decides a test and
//! leaves another alone, and a test notices the loss of each.

use creance::{Layer, PolicyFiles, PolicySet, PolicyTest, Posture, TestReport};

fn check(what: &str, store: &PolicySet, files: &PolicyFiles) {
    let tests = files.read().unwrap();
    let report = store.test(&tests, &files.layers());
    let said: Vec<String> = report
        .failed()
        .map(ToString::to_string)
        .chain(
            report
                .uncovered()
                .map(|policy| format!("not covered: {policy:?}")),
        )
        .chain(
            report
                .unheld()
                .map(|policy| format!("not held: {policy:?}")),
        )
        .collect();
    assert!(said.is_empty(), "{what}:\n{}", said.join("\n"));
    assert!(
        !report.policies.is_empty() && !report.results.is_empty(),
        "{what}"
    );
}

#[test]
fn each_shipped_policy_is_held() {
    check("built-in", &PolicySet::builtin(), &PolicyFiles::builtin());
    for posture in Posture::ALL {
        let folder = tempfile::tempdir().unwrap();
        let written = posture.write_to(folder.path()).unwrap();
        assert!(
            posture.write_to(folder.path()).is_err(),
            "nothing is replaced"
        );
        let files = PolicyFiles::of(folder.path()).unwrap();
        let policies = files.store();
        assert_eq!(policies.notices, [], "{}", posture.name());
        check(posture.name(), &policies.into_store().unwrap(), &files);
        assert!(written.len() > 1);
    }
}

/// Every action of the vocabulary is told in a test of the built-in policies.
#[test]
fn each_action_is_told() {
    let told: Vec<String> = PolicyFiles::builtin()
        .tests
        .iter()
        .flat_map(|file| {
            let tests: Vec<serde_json::Value> = serde_json::from_str(&file.text).unwrap();
            tests
                .into_iter()
                .map(|test| test["do"]["action"].as_str().unwrap().to_owned())
        })
        .collect();
    let schema: serde_json::Value = serde_json::from_str(PolicySet::schema_json()).unwrap();
    for (action, of) in schema[""]["actions"].as_object().unwrap() {
        let applies = of["appliesTo"]["resourceTypes"].as_array();
        if applies.is_some_and(|types| !types.is_empty()) {
            assert!(
                told.contains(action),
                "no test of the built-in policies tells {action}"
            );
        }
    }
}

fn run(tests: &str) -> Result<TestReport, String> {
    let file = creance::PolicySource {
        layer: Layer::User,
        file: "t.json".to_owned(),
        text: tests.to_owned(),
    };
    let tests = PolicyTest::read(&file).map_err(|problem| problem.to_string())?;
    Ok(PolicySet::builtin().test(&tests, &[]))
}

/// What is wrong with the first test of a file.
#[track_caller]
fn wrong(text: &str, part: &str) {
    let said = match run(text) {
        Err(said) => said,
        Ok(report) => report.results[0].problem.clone().unwrap_or_default(),
    };
    assert!(said.contains(part), "{text}: {said}");
}

/// A test that says less, or something else, than its author thinks is not run.
#[test]
#[rustfmt::skip]
fn tests_are_read_strictly() {
    for (text, part) in [
        ("{}", "a list of tests"),
        ("[{}]", "without a `name`"),
        (r#"[{"name": "n"}]"#, "no request"),
        (r#"[{"name": "n", "do": {}, "expect": "alow"}]"#, "ask:session"),
        (r#"[{"name": "n", "do": {}, "expect": "allow", "becuase": []}]"#, "no `becuase`"),
        (r#"[{"name": "n", "name": "m", "do": {}, "expect": "allow"}]"#, "twice"),
        (r#"[{"name": "n", "do": {"action": "tool.call"}, "expect": "ask", "because": ["builtin/x/y"]}]"#, "no policy `builtin/x/y`"),
    ] {
        wrong(text, part);
    }
}

#[test]
#[rustfmt::skip]
fn requests_are_told_strictly() {
    for (words, part) in [
        ("", "`action` is missing"),
        (r#""action": "tool.cal""#, "there is no action"),
        (r#""action": "tool.call", "atended": true"#, "did you mean `attended`"),
        (r#""action": "tool.call", "args_valid": "yes""#, "true or false"),
        (r#""action": "tool.call", "server": {"pin": "chnaged"}"#, "chnaged"),
        (r#""action": "tool.call", "server": {"pni": "changed"}"#, "no `pni`"),
        (r#""action": "tool.call", "by": "plugin""#, "not asked by a plugin"),
        (r#""action": "fs.read""#, "`path` is missing"),
        (r#""action": "fs.read", "path": "../x""#, "not a resolved path"),
        (r#""action": "web.fetch", "url": "example.com""#, "no URL"),
        (r#""action": "web.fetch", "ip_class": "inner""#, "one of"),
        (r#""action": "server.start", "risk": ["privlege"]"#, "one of"),
    ] {
        wrong(&format!(r#"[{{"name": "n", "do": {{{words}}}, "expect": "allow"}}]"#), part);
    }
}

/// A failing test says what it wanted and why it was decided otherwise; JUnit says it too.
#[test]
fn a_failing_test_says_why() {
    let report = run(
        r#"[{"name": "a < b", "do": {"action": "sandbox.read", "path": "~/.ssh", "by": "server"}, "expect": "ask"},
            {"name": "fine", "do": {"action": "sandbox.read", "path": "src", "by": "server"}, "expect": "allow"}]"#,
    )
    .unwrap();
    assert_eq!(report.failed().count(), 1);
    let said = report.results[0].to_string();
    assert!(said.contains("t.json:1: a < b"), "{said}");
    assert!(said.contains("wanted ask, got deny"), "{said}");
    assert!(
        said.contains("builtin/guardrails/credential-files"),
        "{said}"
    );
    let junit = report.junit();
    assert!(junit.contains(r#"tests="2" failures="1""#), "{junit}");
    assert!(junit.contains("a &lt; b"), "{junit}");
    assert_eq!(junit.matches("<testcase").count(), 2, "{junit}");
}

/// Mutation notices a policy that no test holds: the same outcome comes about without it.
#[test]
fn mutation_finds_what_nobody_holds() {
    let folder = tempfile::tempdir().unwrap();
    let policies = r#"
        @id("held") @reason("r") forbid (principal, action == Action::"fs.read", resource in Path::"/srv");
        @id("twice") @reason("r") forbid (principal, action == Action::"fs.read", resource in Path::"/srv/a");
        @id("idle") @reason("r") forbid (principal, action == Action::"web.search", resource);
    "#;
    std::fs::write(folder.path().join("p.cedar"), policies).unwrap();
    std::fs::create_dir(folder.path().join("tests")).unwrap();
    let tests = r#"[
        {"name": "below", "do": {"action": "fs.read", "path": "/srv/b", "held": "once"}, "expect": "deny"},
        {"name": "deep below", "do": {"action": "fs.read", "path": "/srv/a/x", "held": "once"}, "expect": "deny"},
        {"name": "elsewhere", "do": {"action": "fs.read", "path": "/opt/x", "held": "once"}, "expect": "allow"}
    ]"#;
    std::fs::write(folder.path().join("tests/t.json"), tests).unwrap();
    let files = PolicyFiles::of(folder.path()).unwrap();
    let store = files.store().into_store().unwrap();
    let report = store.test(&files.read().unwrap(), &files.layers());
    let ids = |found: Vec<&creance::PolicyCover>| -> Vec<String> {
        found.iter().map(|policy| policy.id.clone()).collect()
    };
    assert_eq!(report.failed().count(), 0);
    assert_eq!(
        ids(report.unheld().collect()),
        ["user/p/twice", "user/p/idle"]
    );
    let uncovered = ids(report.uncovered().collect());
    assert!(
        uncovered.contains(&"user/p/idle".to_owned()),
        "{uncovered:?}"
    );
}

/// Switching is a choice, never a mixture; and a link is no way to write elsewhere.
#[test]
fn a_posture_stands_alone() {
    let folder = tempfile::tempdir().unwrap();
    Posture::Everyday.write_to(folder.path()).unwrap();
    for other in [Posture::Careful, Posture::LockedDown] {
        let error = other.write_to(folder.path()).unwrap_err().to_string();
        assert!(error.contains("everyday.cedar"), "{error}");
        let own = folder.path().join(format!("{}.cedar", other.name()));
        assert!(!own.exists(), "nothing is written");
    }
    #[cfg(unix)]
    {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, folder.path().join("careful.cedar")).unwrap();
        Posture::Careful.write_to(folder.path()).unwrap_err();
        assert!(!elsewhere.exists());
    }
}
