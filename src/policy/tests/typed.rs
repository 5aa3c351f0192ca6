//! Tools that policies name as actions: what is judged, and why a call is denied.

use proptest::prelude::{Strategy, proptest};
use proptest::sample::select;
use serde_json::{Value as Json, json};

use super::base::{Asking, call};
use crate::digest::Digest;
use crate::policy::typed::{LockedTool, ToolLock};
use crate::policy::{PolicyOutcome, PolicySet, PolicySource, StoreParts};
use crate::request::{Answer, Layer};

pub(super) const TOOL: &str = "user/files/read_text_file";

pub(super) fn schema() -> Json {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "head": {"type": "integer"},
            "price": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "any": {},
        },
        "required": ["path"],
    })
}

pub(super) fn source(layer: Layer, text: &str) -> PolicySource {
    PolicySource {
        layer,
        file: "test.cedar".to_owned(),
        text: text.to_owned(),
    }
}

pub(super) fn lock(tools: &[(&str, &Json)]) -> PolicySource {
    let mut lock = ToolLock::default();
    for (name, schema) in tools {
        let tool = LockedTool::new(Digest::of("tool"), schema).unwrap();
        lock.tools.insert((*name).to_owned(), tool);
    }
    PolicySource {
        layer: Layer::User,
        file: "tools.lock.json".to_owned(),
        text: lock.text(),
    }
}

pub(super) fn parts(text: &str) -> StoreParts {
    StoreParts {
        sources: vec![source(Layer::User, text)],
        locks: vec![lock(&[
            (TOOL, &schema()),
            ("user/files/ns::tool \"x\"/v2-\u{fc}", &schema()),
        ])],
        ..StoreParts::default()
    }
}

pub(super) fn store(text: &str) -> PolicySet {
    match PolicySet::build(&parts(text)) {
        Ok((set, _)) => set,
        Err(problems) => panic!("{}", lines(&problems)),
    }
}

pub(super) fn lines(problems: &[crate::policy::PolicyProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

pub(super) fn refused(parts: &StoreParts) -> String {
    lines(&PolicySet::build(parts).unwrap_err())
}

pub(super) fn with(arguments: Json) -> Asking {
    let mut asking = call();
    asking.call().arguments = arguments;
    asking
}

/// Everything is permitted but what this forbids of the tool's own action.
pub(super) fn forbidding(when: &str) -> PolicySet {
    store(&format!(
        "@id(\"all\") @reason(\"r\") permit (principal, action, resource);
         @id(\"no\") @reason(\"r\") forbid (principal, action == Action::\"{TOOL}\", resource) when {{ {when} }};"
    ))
}

#[test]
fn policies_see_the_arguments_with_their_types() {
    let check = |when: &str, arguments: Json, want: PolicyOutcome| {
        assert_eq!(with(arguments).outcome(&forbidding(when)), want, "{when}");
    };
    let (deny, allow) = (PolicyOutcome::Deny, PolicyOutcome::Allow);
    let path = r#"context.input.path like "*.lock""#;
    check(path, json!({"path": "a.lock"}), deny);
    check(path, json!({"path": "a.md"}), allow);
    let head = "context.input has head && context.input.head > 10";
    check(head, json!({"path": "a", "head": 11}), deny);
    check(head, json!({"path": "a", "head": 10}), allow);
    check(head, json!({"path": "a"}), allow);
    let price = r#"context.input has price && context.input.price.greaterThan(decimal("0.5"))"#;
    check(price, json!({"path": "a", "price": 0.5001}), deny);
    check(price, json!({"path": "a", "price": 0.5}), allow);
    let tags = r#"context.input has tags && context.input.tags.contains("x")"#;
    check(tags, json!({"path": "a", "tags": ["y", "x"]}), deny);
    check(tags, json!({"path": "a", "tags": ["y"]}), allow);
    // The general facts are there, too.
    check(
        "context.arg_names.contains(\"any\")",
        json!({"path": "a", "any": {}}),
        deny,
    );
    check(
        "context.args_valid && context.input.path == \"a\"",
        json!({"path": "a"}),
        deny,
    );
}

#[test]
fn arguments_that_do_not_fit_are_denied_with_the_reason() {
    let set = forbidding("context.input.path == \"never\"");
    let check = |arguments: Json, want: &str| {
        let asking = with(arguments);
        let verdict = set.evaluate_all(&[asking.query()], Answer::Once);
        assert_eq!(verdict.outcome, PolicyOutcome::Deny);
        let said = &verdict.because[0].reason;
        assert!(said.contains(want), "{said}");
        assert!(
            said.contains("test.cedar:2") && said.contains(TOOL),
            "{said}"
        );
        assert!(!said.contains("s3cret"), "{said}");
    };
    check(json!({"path": ["s3cret"]}), "`path` is not a text");
    check(json!({"head": 1}), "`path` is missing");
    check(
        json!({"path": "a", "Path": "s3cret"}),
        "`Path` is not in the tool's input schema",
    );
    check(
        json!({"path": "a", "head": "s3cret"}),
        "`head` is not a whole number",
    );
    check(json!("s3cret"), "what is given is not an object");
}

#[test]
fn another_tool_of_the_name_is_denied() {
    let set = forbidding("context.input.path == \"never\"");
    let mut asking = call();
    assert_eq!(asking.outcome(&set), PolicyOutcome::Allow);
    asking.call().tool.digest = Digest::of("changed");
    let verdict = set.evaluate_all(&[asking.query()], Answer::Once);
    assert_eq!(verdict.outcome, PolicyOutcome::Deny);
    let said = &verdict.because[0].reason;
    for part in [
        "test.cedar:2",
        TOOL,
        "tools.lock.json",
        "creance policy schema --server user/files --write",
    ] {
        assert!(said.contains(part), "{said}");
    }
    // Other tools of the server are as they were.
    asking.call().tool.name = "other".to_owned();
    assert_eq!(asking.outcome(&set), PolicyOutcome::Allow);
}

#[test]
fn typed_calls_are_in_the_general_action() {
    let check = |head: &str, want: PolicyOutcome| {
        let text = format!(
            "@id(\"own\") @reason(\"r\") permit (principal, action == Action::\"{TOOL}\", resource);
             @id(\"no\") @reason(\"r\") forbid (principal, {head}, resource) when {{ context.run.now > datetime(\"2020-01-01\") }};"
        );
        assert_eq!(call().outcome(&store(&text)), want, "{head}");
    };
    check("action in Action::\"tool.call\"", PolicyOutcome::Deny);
    check("action in Action::\"tool\"", PolicyOutcome::Deny);
    check(
        "action in [Action::\"prompt.get\", Action::\"tool.call\"]",
        PolicyOutcome::Deny,
    );
    check("action in Action::\"prompt.get\"", PolicyOutcome::Allow);
}

#[test]
fn names_hold_anything() {
    let name = "ns::tool \"x\"/v2-\u{fc}";
    let text = "@id(\"no\") @reason(\"r\") forbid (principal, action == Action::\"user/files/ns::tool \\\"x\\\"/v2-\u{fc}\", resource) when { context.input.path == \"a\" };
        @id(\"all\") @reason(\"r\") permit (principal, action, resource);";
    let set = store(text);
    let mut asking = with(json!({"path": "a"}));
    assert_eq!(asking.outcome(&set), PolicyOutcome::Allow);
    asking.call().tool.name = name.to_owned();
    assert_eq!(asking.outcome(&set), PolicyOutcome::Deny);
    asking.call().arguments = json!({"path": "b"});
    assert_eq!(asking.outcome(&set), PolicyOutcome::Allow);
}

pub(super) const OWN: &str = "@id(\"own\") @reason(\"r\") forbid (principal, action == Action::\"user/files/read_text_file\", resource) when { context.input.path == \"a\" };";

/// What is forbidden whatever the arguments is not listed, and only that.
#[test]
fn a_forbidden_tool_is_hidden() {
    let check = |clause: &str, want: bool| {
        let text = format!(
            "@id(\"no\") @reason(\"r\") forbid (principal, action == Action::\"{TOOL}\", resource) {clause};"
        );
        let asking = with(json!({}));
        let hidden = store(&text).never_allows(&asking.query()).is_some();
        assert_eq!(hidden, want, "{clause}");
    };
    check("", true);
    check("when { resource.server.sandboxed }", true);
    check("when { context.input.path like \"*\" }", false);
    check("when { context.args_valid }", false);
}

fn arguments() -> impl Strategy<Value = Json> {
    let values = || {
        select(vec![
            json!("x"),
            json!("1.5"),
            json!(7),
            json!(-0.5),
            json!(2.0),
            json!(1e30),
            json!(0.12345),
            json!(u64::MAX),
            json!(true),
            json!(null),
            json!([]),
            json!(["a", "a"]),
            json!(["a", 1]),
            json!([null]),
            json!({}),
            json!({"path": "x"}),
        ])
    };
    let names = select(vec!["path", "head", "price", "tags", "any", "Path", ""]);
    proptest::collection::btree_map(names, values(), 0..6).prop_map(|map| json!(map))
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(256))]
    /// Whatever is given is refused for what it is, or fits Cedar's schema: never something between.
    #[test]
    fn arguments_fit_or_are_refused(given in arguments()) {
        use std::sync::LazyLock;
        static SET: LazyLock<PolicySet> = LazyLock::new(|| forbidding("context.input.path == \"never\""));
        let asking = with(given.clone());
        match SET.judged(&asking.query()) {
            Err(error) => assert!(error.is_of_tool(), "{given}: {error}"),
            Ok(judged) => assert!(judged.request(Answer::None).is_ok(), "{given}"),
        }
        let typed = given["path"].is_string() && given.get("Path").is_none() && given.get("").is_none();
        let head = given.get("head").is_none_or(|head| head.is_i64() || *head == json!(2.0));
        let price = given.get("price").is_none_or(|it| it.is_i64() || [json!(-0.5), json!(2.0)].contains(it));
        let tags = given.get("tags").is_none_or(|it| [json!([]), json!(["a", "a"])].contains(it));
        assert_eq!(SET.judged(&asking.query()).is_ok(), typed && head && price && tags, "{given}");
    }
}

#[test]
fn explanations_and_records_name_the_action() {
    let set = forbidding("context.input.path like \"*.md\"");
    let asking = call();
    let explained = set.explain(&[asking.query()], Answer::None);
    let part = &explained.parts[0];
    assert_eq!(part.facts["typed_action"], TOOL);
    let own = part
        .policies
        .iter()
        .find(|it| it.policy.id == "user/test/no")
        .unwrap();
    assert!(
        own.decides && own.clauses[0].text.contains("context.input.path"),
        "{own:?}"
    );
    assert_eq!(set.facts(&with(json!({})).query())["typed_action"], TOOL);
    assert!(
        PolicySet::builtin()
            .facts(&asking.query())
            .get("typed_action")
            .is_none()
    );
}
