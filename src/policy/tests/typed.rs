//! Tools that policies name as actions: what is judged, what is refused, and that slices judge such
//! calls like the whole set.

use std::sync::Arc;

use proptest::prelude::{Strategy, proptest};
use proptest::sample::{select, subsequence};
use serde_json::{Value as Json, json};

use super::base::{Asking, call, env, exec, tools};
use super::slices::same_as_cedar;
use crate::digest::Digest;
use crate::policy::evaluate::Judge;
use crate::policy::facts::{self, Mentioned};
use crate::policy::load::{Checked, Loaded, load_with};
use crate::policy::members::Members;
use crate::policy::typed::{LockedTool, Locks, ToolLock};
use crate::policy::{PolicyOutcome, PolicySet, PolicySource, PolicyTest, StoreParts};
use crate::request::{Answer, Layer};

const TOOL: &str = "user/files/read_text_file";

fn schema() -> Json {
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

fn source(layer: Layer, text: &str) -> PolicySource {
    PolicySource {
        layer,
        file: "test.cedar".to_owned(),
        text: text.to_owned(),
    }
}

fn lock(tools: &[(&str, &Json)]) -> PolicySource {
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

fn parts(text: &str) -> StoreParts {
    StoreParts {
        sources: vec![source(Layer::User, text)],
        locks: vec![lock(&[
            (TOOL, &schema()),
            ("user/files/ns::tool \"x\"/v2-\u{fc}", &schema()),
        ])],
        ..StoreParts::default()
    }
}

fn store(text: &str) -> PolicySet {
    match PolicySet::build(&parts(text)) {
        Ok((set, _)) => set,
        Err(problems) => panic!("{}", lines(&problems)),
    }
}

fn lines(problems: &[crate::policy::PolicyProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn refused(parts: &StoreParts) -> String {
    lines(&PolicySet::build(parts).unwrap_err())
}

fn with(arguments: Json) -> Asking {
    let mut asking = call();
    asking.call().arguments = arguments;
    asking
}

/// Everything is permitted but what this forbids of the tool's own action.
fn forbidding(when: &str) -> PolicySet {
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

const OWN: &str = "@id(\"own\") @reason(\"r\") forbid (principal, action == Action::\"user/files/read_text_file\", resource) when { context.input.path == \"a\" };";

#[test]
fn what_would_go_quiet_is_refused() {
    let check = |text: &str, want: &[&str]| {
        let said = refused(&parts(text));
        for part in want {
            assert!(said.contains(part), "{said}");
        }
    };
    // A parameter that the tool does not have, or has no more.
    check(
        &OWN.replace("input.path", "input.pth"),
        &[
            "test.cedar:1:",
            "pth",
            "\"path\": String",
            "\"head\"?: Long",
        ],
    );
    check(
        &OWN.replace("input.path == \"a\"", "input.any == \"a\""),
        &["`any` is left out: it may be anything"],
    );
    check(
        &OWN.replace("path == \"a\"", "path == 5"),
        &["test.cedar:1:"],
    );
    check(
        &OWN.replace("path == \"a\"", "head == 5"),
        &["test.cedar:1:", "has"],
    );
    // A misspelt name after `has` is only a warning of Cedar's.
    check(
        &OWN.replace("input.path == \"a\"", "input has pth"),
        &["test.cedar:1:"],
    );
    // A tool that no lock knows.
    check(
        &format!(
            "{OWN}\n{}",
            OWN.replace("read_text_file", "gone").replace("own", "gone")
        ),
        &[
            "test.cedar:2:55: user/test/gone: names the tool `user/files/gone`",
            "creance policy schema --server user/files --write",
        ],
    );
    let mut without = parts(OWN);
    without.locks.clear();
    assert!(refused(&without).contains("no tools.lock.json beside the policies knows it"));
    // Policies that would miss the calls.
    let missing = |head: &str, when: &str| {
        let more = format!(
            "@id(\"miss\") @reason(\"r\") forbid (principal, {head}, resource) when {{ {when} }};"
        );
        assert!(
            PolicySet::build(&StoreParts {
                sources: vec![source(Layer::User, &more)],
                ..StoreParts::default()
            })
            .is_ok(),
            "{more}"
        );
        check(
            &format!("{OWN}\n{more}"),
            &[
                "test.cedar:2:1: user/test/miss:",
                "behind `action in`",
                "write `action in",
            ],
        );
    };
    missing("action == Action::\"tool.call\"", "context.args_valid");
    missing("action", "action == Action::\"tool.call\"");
    missing("action", "action != Action::\"tool.call\"");
    missing("action", "[Action::\"tool.call\"].contains(action)");
    missing(
        "action in Action::\"tool\"",
        "!(action == Action::\"tool.call\")",
    );
    // Those of other layers as well, and in the organisation's words.
    let mut both = parts(OWN);
    let general = "@id(\"g\") @reason(\"r\") forbid (principal, action == Action::\"tool.call\", resource) when { context.secrets_in_args };";
    both.sources.push(PolicySource {
        file: "org.cedar".to_owned(),
        ..source(Layer::Org, general)
    });
    assert!(
        refused(&both).contains("org.cedar:1:1: org/org/g:"),
        "{}",
        refused(&both)
    );
    both.sources[1].text = general.replace("action ==", "action in");
    assert!(PolicySet::build(&both).is_ok());
}

/// What comes with the program stands beside any tool's own action.
#[test]
fn shipped_policies_see_typed_calls() {
    let folders = [
        "policies/builtin",
        "policies/organisation",
        "policies/examples",
        "policies/postures/careful",
        "policies/postures/everyday",
        "policies/postures/locked-down",
        "examples/policies",
    ];
    let mut seen = 0;
    for folder in folders {
        let files = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for file in files.read_dir().unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_some_and(|ext| ext == "cedar") {
                let text = std::fs::read_to_string(&file).unwrap();
                assert!(
                    !text.contains("== Action::\"tool.call\""),
                    "{}",
                    file.display()
                );
                seen += 1;
            }
        }
    }
    assert!(seen >= 10, "{seen}");
}

#[test]
fn the_store_digest_knows_the_lock() {
    let one = store(OWN).digest();
    let mut other = parts(OWN);
    let mut wider = schema();
    wider["properties"]["more"] = json!({"type": "string"});
    other.locks = vec![lock(&[(TOOL, &wider)])];
    assert_ne!(PolicySet::build(&other).unwrap().0.digest(), one);
    // What no policy names is no part of it.
    other.locks = vec![lock(&[(TOOL, &schema()), ("user/files/unnamed", &wider)])];
    assert_eq!(PolicySet::build(&other).unwrap().0.digest(), one);
}

#[test]
fn the_declaration_is_cedars() {
    let tool = LockedTool::new(Digest::of("tool"), &schema()).unwrap();
    let names = [TOOL, "user/files/ns::tool \"x\"/v2-\u{fc}"];
    let declared = names
        .map(|name| PolicySet::typed_action(name, &tool))
        .join("\n");
    let text = format!("{}\n{declared}", PolicySet::schema());
    let (read, _) = cedar_policy::Schema::from_cedarschema_str(&text).unwrap();
    let ours = store(OWN).0.vocabulary.schema().clone();
    let envs = |schema: &cedar_policy::Schema| schema.request_envs().count();
    assert_eq!(envs(&read), envs(&ours) + 1);
}

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

const HEADS: [&str; 6] = [
    "action",
    "action in Action::\"tool.call\"",
    "action in Action::\"tool\"",
    "action == Action::\"user/files/read_text_file\"",
    "action in [Action::\"user/files/read_text_file\", Action::\"start\"]",
    "action == Action::\"sandbox.env\"",
];
const SCOPES: [&str; 4] = [
    "resource",
    "resource in Server::\"user/files\"",
    "resource == Tool::\"user/files/read_text_file\"",
    "resource is Tool in Source::\"user\"",
];
const CLAUSES: [&str; 4] = [
    "",
    "when { context.input.path like \"*.md\" }",
    "when { context.input has head && context.input.head > 5 }",
    "when { context.secrets_in_args }",
];

/// Every combination that Cedar accepts, with what they are written in.
fn pool() -> Checked {
    let (locks, _) = Locks::read(&[lock(&[(TOOL, &schema())])]).unwrap();
    let mut sources = vec![source(Layer::User, OWN)];
    for effect in ["permit", "forbid"] {
        for head in HEADS {
            for scope in SCOPES {
                for (at, clause) in CLAUSES.iter().enumerate() {
                    sources.push(PolicySource {
                        file: format!("f{}.cedar", sources.len()),
                        ..source(
                            Layer::User,
                            &format!(
                                "@id(\"p{at}\") {effect} (principal, {head}, {scope}) {clause};"
                            ),
                        )
                    });
                }
            }
        }
    }
    let refused = load_with(&sources, &locks, &[]).unwrap_err();
    let refused: Vec<String> = refused
        .into_iter()
        .filter(|it| it.fatal)
        .map(|it| it.file)
        .collect();
    sources.retain(|source| !refused.contains(&source.file));
    load_with(&sources, &locks, &[]).unwrap()
}

fn requests() -> Vec<Asking> {
    let mut other = call();
    other.call().tool.name = "other".to_owned();
    let mut secret = call();
    secret.call().secrets = true;
    vec![
        call(),
        other,
        secret,
        with(json!({"path": "x", "head": 3})),
        env("LANG"),
        exec(),
        tools(),
    ]
}

#[test]
fn the_pool_is_large() {
    assert!(pool().policies.len() > 90, "{}", pool().policies.len());
}

fn picked() -> impl Strategy<Value = Vec<Arc<Loaded>>> {
    let all: Vec<Arc<Loaded>> = pool().policies.into_iter().map(Arc::new).collect();
    subsequence(all, 1..12)
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(32))]
    #[test]
    fn slices_judge_typed_calls_like_the_whole(extra in picked(), held in select(vec![
        Answer::None, Answer::Session, Answer::Once,
    ])) {
        let vocabulary = pool().vocabulary;
        let builtin = PolicySet::builtin();
        let all: Vec<Arc<Loaded>> = builtin.0.policies.values().cloned().chain(extra).collect();
        let whole = cedar_policy::PolicySet::from_policies(all.iter().map(|one| one.policy.clone())).unwrap();
        let set = PolicySet::with(all, Members::default(), (vocabulary, Locks::default())).unwrap();
        for asking in requests() {
            let query = asking.query();
            let judged = set.judged(&query).unwrap();
            let sliced = Judge::new(&set.0, &judged).ruling(Some(&query), held);
            let judged = facts::judged(&query, Mentioned::Any, set.0.terms()).unwrap();
            let mut judge = Judge::new(&set.0, &judged);
            judge.rules = set.0.index.all();
            assert_eq!(sliced, judge.ruling(Some(&query), held), "{query:?}");
            same_as_cedar(&judge, &judged, held, &whole);
        }
    }
}
