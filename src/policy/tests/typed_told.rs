//! Tests of policies tell calls of tools with actions of their own.

use serde_json::{Value as Json, json};

use super::typed::{OWN, TOOL, forbidding, source, store};
use crate::policy::{PolicySource, PolicyTest};
use crate::request::Layer;

fn told(request: Json, expect: &str) -> Vec<PolicyTest> {
    let test = json!([{"name": "t", "do": request, "expect": expect}]);
    PolicyTest::read(&PolicySource {
        file: "t.json".to_owned(),
        ..source(Layer::User, &test.to_string())
    })
    .unwrap()
}

/// Tests tell a typed call by its action or by its tool, with coverage and mutation.
#[test]
fn tests_tell_typed_calls() {
    let set = forbidding("context.input.path like \"*.lock\"");
    let check = |request: Json, expect: &str, want: Option<&str>| {
        let report = set.test(&told(request.clone(), expect), &[Layer::User]);
        let problem = report.results[0].problem.as_deref();
        match want {
            None => assert_eq!(problem, None, "{request}"),
            Some(want) => assert!(problem.is_some_and(|it| it.contains(want)), "{problem:?}"),
        }
    };
    let own = |input: Json| json!({"action": TOOL, "input": input});
    check(own(json!({"path": "a.lock"})), "deny", None);
    check(own(json!({"path": "a.md"})), "allow", None);
    check(
        json!({"action": "tool.call", "tool": TOOL, "input": {"path": "a.lock"}}),
        "deny",
        None,
    );
    check(
        json!({"action": "tool.call", "server": "user/files", "tool": "read_text_file", "arguments": {"path": "a.lock"}}),
        "deny",
        None,
    );
    check(
        json!({"action": "tool.call", "server": "user/files", "tool": "other", "arguments": {"x": "a.lock"}}),
        "allow",
        None,
    );
    check(
        own(json!({"pth": "a"})),
        "deny",
        Some("`pth` is not in the tool's input schema"),
    );
    check(
        json!({"action": "user/files/gone"}),
        "deny",
        Some("there is no action"),
    );
    check(
        json!({"action": TOOL, "server": "user/other", "input": {"path": "a"}}),
        "deny",
        Some("the tool is one of user/files"),
    );
    check(
        json!({"action": TOOL, "input": {}, "arguments": {}}),
        "deny",
        Some("two words for one thing"),
    );
}

#[test]
fn tests_cover_and_hold_typed_policies() {
    let set = forbidding("context.input.path like \"*.lock\"");
    let own = |input: Json| json!({"action": TOOL, "input": input});
    let tests = [
        told(own(json!({"path": "a.lock"})), "deny"),
        told(own(json!({"path": "a.md"})), "allow"),
    ]
    .concat();
    let report = set.test(&tests, &[Layer::User]);
    assert_eq!(
        report
            .uncovered()
            .map(|it| it.id.clone())
            .collect::<Vec<_>>(),
        Vec::<String>::new()
    );
    assert_eq!(
        report.unheld().map(|it| it.id.clone()).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
    let half = set.test(&tests[1..], &[Layer::User]);
    assert_eq!(half.unheld().count(), 1);
}

#[test]
fn policies_beside_a_test_may_name_the_tool() {
    let set = store("@id(\"all\") @reason(\"r\") permit (principal, action, resource);");
    let test = json!([{"name": "t", "beside": OWN, "expect": "deny", "do": {"action": "tool.call", "tool": "read_text_file", "server": "user/files", "arguments": {"path": "a"}}}]);
    let tests = PolicyTest::read(&PolicySource {
        file: "t.json".to_owned(),
        ..source(Layer::User, &test.to_string())
    })
    .unwrap();
    assert_eq!(set.test(&tests, &[]).results[0].problem, None);
}
