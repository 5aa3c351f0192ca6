//! Path arguments: `every_path`, `some_path`, project-relative forms, places.

use creance::{Answer, ArgPath, PolicyOutcome, PolicySet};

use crate::base::{arg_path, call, lost_path, user};

fn outcome(policies: &PolicySet, paths: &[ArgPath]) -> PolicyOutcome {
    let mut asking = call();
    asking.call().paths = paths.to_vec();
    policies
        .evaluate_all(&[asking.query()], Answer::None)
        .outcome
}

const PERMIT: &str = r#"@id("docs") @reason("r")
permit (principal, action == Action::"tool.call", resource == Tool::"user/files/read_text_file")
when { context.every_path in Path::"./docs" };"#;

#[test]
fn every_path_must_lie_below() {
    let policies = user(PERMIT);
    let at = |texts: &[&str]| {
        let paths: Vec<_> = texts.iter().map(|text| arg_path(text, text)).collect();
        outcome(&policies, &paths)
    };
    let asks = PolicyOutcome::Ask(Answer::Remembered);
    assert_eq!(at(&["docs/a.md"]), PolicyOutcome::Allow);
    assert_eq!(at(&["docs"]), PolicyOutcome::Allow);
    assert_eq!(at(&["docs/a.md", "docs/sub/b.md"]), PolicyOutcome::Allow);
    assert_eq!(at(&["docs/a.md", "src/a.rs"]), asks);
    assert_eq!(at(&["docs-secret/a.md"]), asks);
    assert_eq!(at(&["/srv/docs/a.md"]), asks);
    assert_eq!(at(&[]), asks, "no path at all is in nothing");
    let lost = [arg_path("a", "docs/a.md"), lost_path("b")];
    assert_eq!(outcome(&policies, &lost), PolicyOutcome::Ask(Answer::Once));
}

#[test]
fn one_path_is_enough_to_forbid() {
    let policies = user(&format!(
        "{}\n{}",
        PERMIT.replace("./docs", "."),
        r#"@id("no") @reason("r") forbid (principal, action == Action::"tool.call", resource)
        when { context.some_path in Path::"/w/p/secret" };"#
    ));
    let some = [arg_path("a", "docs/a.md"), arg_path("b", "secret/b")];
    assert_eq!(outcome(&policies, &some[..1]), PolicyOutcome::Allow);
    assert_eq!(outcome(&policies, &some), PolicyOutcome::Deny);
}

#[test]
fn places_are_shared_like_folders() {
    let policies = user(&PERMIT.replace("Path::\"./docs\"", "Place::\"project\""));
    let plain = [arg_path("a", "a.md"), arg_path("b", "src/b.rs")];
    assert_eq!(outcome(&policies, &plain), PolicyOutcome::Allow);
    for guarded in [
        ".git/config",
        ".GIT/hooks/x",
        ".MCP.json",
        ".vscode/tasks.json",
    ] {
        let paths = [arg_path("a", "a.md"), arg_path("b", guarded)];
        assert_ne!(
            outcome(&policies, &paths),
            PolicyOutcome::Allow,
            "{guarded}"
        );
    }
}
