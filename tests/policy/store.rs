//! What a store refuses, with place and way out; what it warns about; what its digest covers.

use creance::{Answer, Layer, PolicyOutcome, PolicyProblem, PolicySet, PolicySource};

use crate::base::{call, exec, user, wish};

fn source(layer: Layer, file: &str, text: &str) -> PolicySource {
    PolicySource {
        layer,
        file: file.to_owned(),
        text: text.to_owned(),
    }
}

fn problems(layer: Layer, text: &str) -> Vec<PolicyProblem> {
    match PolicySet::parse(&[source(layer, "folder/test.cedar", text)]) {
        Ok((_, warnings)) => warnings,
        Err(problems) => problems,
    }
}

/// A policy of the user that a store refuses: its problem begins with the place and holds the words.
#[track_caller]
fn refused(text: &str, at: &str, words: &str) {
    let found = problems(Layer::User, text);
    assert!(
        found.iter().any(|problem| problem.fatal),
        "accepted: {text}"
    );
    let lines: Vec<String> = found
        .iter()
        .filter(|p| p.fatal)
        .map(ToString::to_string)
        .collect();
    let start = format!("folder/test.cedar{at}");
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with(&start) && line.contains(words)),
        "{start} … {words}\n{lines:#?}"
    );
    assert!(lines.iter().all(|line| !line.contains('\n')), "{lines:?}");
}

/// A forbid on tool calls with this condition.
fn forbid_when(condition: &str) -> String {
    format!(
        "@id(\"f\") @reason(\"r\")\nforbid (principal, action == Action::\"tool.call\", resource)\nwhen {{ {condition} }};"
    )
}

#[test]
fn ids_are_required_and_unique() {
    let forbid = "forbid (principal, action == Action::\"tool.call\", resource);";
    refused(forbid, ":1:1:", "has no @id");
    refused(&format!("@id(\"\")\n{forbid}"), ":1:1:", "has no @id");
    refused(&format!("@id(\"a b\")\n{forbid}"), ":1:1:", "has no @id");
    refused(
        &format!("\n\n@id(\"\\u{{1b}}[31m\")\n{forbid}"),
        ":3:1:",
        "has no @id",
    );
    let named = format!("@id(\"a\") @reason(\"r\")\n{forbid}\n");
    refused(
        &format!("{named}{named}"),
        ":3:1:",
        "user/test/a: two policies have this id",
    );
}

#[test]
fn flags_only_make_a_policy_more_permissive() {
    for condition in [
        "context.approved",
        "context.approved == false",
        "if context.approved then resource.name == \"x\" else true",
        "context has approved",
        "[context.approved].contains(true)",
        "resource.name == \"x\" && context.approved_now",
        "!(!context.approved)",
    ] {
        refused(
            &forbid_when(condition),
            ":1:1:",
            "may only make a policy more permissive",
        );
    }
    let permit = |body: &str| {
        format!(
            "@id(\"p\") @reason(\"r\") permit (principal, action == Action::\"tool.call\", resource) {body};"
        )
    };
    refused(
        &permit("unless { context.approved }"),
        ":1:1:",
        "more permissive",
    );
    refused(
        &permit("when { !context.approved_now }"),
        ":1:1:",
        "more permissive",
    );
    for accepted in [
        forbid_when("!(context.approved || resource.name == \"x\")"),
        forbid_when("!context.args_valid").replace(';', " unless { context.approved_now };"),
        permit("when { context.approved }"),
        permit("unless { !context.approved }"),
        permit("when { if context.args_valid then context.approved else context.approved_now }"),
    ] {
        user(&accepted);
    }
}

#[test]
fn strict_validation_has_no_way_round() {
    refused(
        &forbid_when("resource.server.pin == Pin::\"chnaged\""),
        ":3:",
        "chnaged",
    );
    refused(&forbid_when("context.aproved"), ":3:", "aproved");
    refused(&forbid_when("resource.txt like \"*x*\""), ":3:", "txt");
    refused(
        &forbid_when("context.args.getTag(\"b\") == \"main\""),
        ":3:",
        "tag",
    );
    refused(&forbid_when("resource.name in [\"a\", \"b\"]"), ":3:", "");
    refused(
        &forbid_when("ip(context.args_json).isLoopback()"),
        ":3:",
        "",
    );
    // A warning on a forbid: it can never apply.
    refused(
        "@id(\"x\") @reason(\"r\")\nforbid (principal is Server, action == Action::\"server.start\", resource);",
        ":",
        "",
    );
    refused(
        &forbid_when("resource has txt && resource.name == \"x\""),
        ":",
        "",
    );
}

#[test]
fn names_that_nothing_has_are_refused() {
    let on = |scope: &str| {
        format!(
            "@id(\"x\") @reason(\"r\") permit (principal, action in [Action::\"sandbox\", Action::\"tool\"], resource {scope});"
        )
    };
    for (scope, words) in [
        ("in Path::\"docs\"", "no path is named `docs`"),
        ("in Path::\"~/docs\"", "no path is named"),
        ("in Path::\"/w/p/\"", "no path is named"),
        ("in Path::\"./../x\"", "no path is named"),
        ("in Path::\"/w//p\"", "no path is named"),
        ("in Path::\"/w/*\"", "no path is named"),
        ("== Path::\"./docs\"", "write `in` instead of `==`"),
        ("== Host::\"MCP.example.com\"", "no host is named"),
        ("== Host::\"mcp.example.com.\"", "no host is named"),
        ("in Domain::\"*.example.com\"", "no host is named"),
        ("== Tool::\"read_note\"", "names begin with their source"),
        (
            "== Tool::\"notes/read_note\"",
            "names begin with their source",
        ),
        ("in Server::\"notes\"", "names begin with their source"),
    ] {
        refused(&on(scope), ":1:1:", words);
    }
    refused(
        &forbid_when(
            "context.every_path == context.some_path || context.arg_paths.hasTag(\"p\") && context.arg_paths.getTag(\"p\") == Path::\"./x\"",
        ),
        ":1:1:",
        "write `in`",
    );
    for scope in [
        "in Path::\"./docs\"",
        "in Path::\".\"",
        "in Path::\"/\"",
        "== Path::\"/w/p/x\"",
        "in Server::\"user/my notes\"",
    ] {
        user(&on(scope));
    }
}

#[test]
fn other_slips_are_refused() {
    refused(
        "@id(\"x\") @reason(\"r\")\nforbid (principal, action == Action::\"start\", resource);",
        ":1:1:",
        "write `action in`",
    );
    refused(
        "@id(\"x\")\npermit (principal == ?principal, action, resource);",
        ":1:1:",
        "a template is no policy",
    );
    for sum in ["+ 1", "- 1", "* 4611686018427387904"] {
        let condition =
            format!("context.numbers.hasTag(\"a\") && context.numbers.getTag(\"a\") {sum} > 5");
        refused(&forbid_when(&condition), ":1:1:", "can overflow");
    }
    let two = [source(Layer::Builtin, "x.cedar", "")];
    assert!(PolicySet::parse(&two).unwrap_err()[0].fatal);
}

#[test]
fn a_project_only_tightens() {
    let permit = "@id(\"sneaky\") @reason(\"r\") permit (principal, action, resource);";
    let found = problems(Layer::Project, permit);
    assert!(
        found[0].fatal && found[0].message.contains("may only forbid"),
        "{found:?}"
    );
    let project = source(
        Layer::Project,
        "p.cedar",
        "@id(\"no\") @reason(\"r\") forbid (principal, action == Action::\"tool.call\", resource);",
    );
    let open = source(Layer::User, "u.cedar", permit);
    let (set, _) = PolicySet::parse(&[open, project]).unwrap();
    let verdict = set.evaluate_all(&[call().query()], Answer::Once);
    assert_eq!(verdict.outcome, PolicyOutcome::Deny);
    assert_eq!(verdict.because[0].policy, "project/p/no");
    assert_eq!(verdict.because[0].layer, Layer::Project);
}

#[test]
fn lints_explain_like() {
    for (condition, words) in [
        ("resource.text like \"/w/*/docs\"", "also matches `/`"),
        ("resource.text like \"*.env\"", "minds case"),
        ("resource.name like \"*.env\"", "minds case"),
    ] {
        let policy = format!(
            "@id(\"x\") @reason(\"r\") forbid (principal, action == Action::\"sandbox.write\", resource) when {{ {condition} }};"
        );
        let found = problems(Layer::User, &policy);
        assert!(
            found.len() == 1 && !found[0].fatal && found[0].message.contains(words),
            "{found:#?}"
        );
    }
    let argument =
        forbid_when("context.args.hasTag(\"path\") && context.args.getTag(\"path\") like \"./*\"");
    let found = problems(Layer::User, &argument);
    assert!(
        found[0]
            .hint
            .contains("context.every_path in Path::\"./docs\""),
        "{found:#?}"
    );
}

#[test]
fn carelessness_is_said() {
    let everything = "@id(\"x\") permit (principal, action, resource);";
    let lines: Vec<String> = problems(Layer::User, everything)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with("folder/test.cedar:1:1: warning: user/test/x: "))
    );
    assert!(
        lines.iter().any(|line| line.contains("permits everything")),
        "{lines:?}"
    );
    assert!(
        lines.iter().any(|line| line.contains("no @reason")),
        "{lines:?}"
    );
}

/// A forbid that cannot be evaluated denies. No policy that loads can fail on facts that fit the
/// schema, so the rule is shown on the evaluation itself in `src/policy/tests`.
#[test]
fn the_digest_covers_names_and_texts() {
    let forbid = |id: &str, name: &str| {
        format!(
            "@id(\"{id}\") @reason(\"r\") forbid (principal, action == Action::\"tool.call\", resource) when {{ resource.name == \"{name}\" }};\n"
        )
    };
    let of = |text: &str| user(text).digest();
    let (a, b) = (forbid("a", "x"), forbid("b", "y"));
    assert_eq!(of(&format!("{a}{b}")), of(&format!("{b}{a}")));
    assert_ne!(of(&a), of(&forbid("a", "z")));
    assert_ne!(of(&a), of(&forbid("c", "x")));
    assert_ne!(of(""), of(&a));
    assert_eq!(of(""), PolicySet::builtin().digest());
    assert_ne!(
        PolicySet::guard_rails().digest(),
        PolicySet::builtin().digest()
    );
}

#[test]
fn never_allowed_tools_are_known_without_arguments() {
    let hidden = user(
        "@id(\"h\") @reason(\"r\") forbid (principal, action == Action::\"tool.call\", resource == Tool::\"user/files/read_text_file\");",
    );
    let because = hidden.never_allows(&call().query()).unwrap();
    assert_eq!(because.policy, "user/test/h");
    let depends = user(&forbid_when("!(context.every_path in Path::\"./src\")"));
    assert_eq!(
        depends
            .evaluate_all(&[call().query()], Answer::Once)
            .outcome,
        PolicyOutcome::Deny
    );
    assert_eq!(depends.never_allows(&call().query()), None);
    assert_eq!(PolicySet::builtin().never_allows(&exec().query()), None);
}

#[test]
fn explaining_is_judging() {
    let policies = user(&forbid_when(
        "!(context.every_path in Path::\"./src\") && context.args_valid",
    ));
    let asking = call();
    let explained = policies.explain(&[asking.query()], Answer::Remembered);
    assert_eq!(
        explained.verdict,
        policies.evaluate_all(&[asking.query()], Answer::Remembered)
    );
    let shown = explained.to_string();
    for line in [
        "deny\n",
        "  user/test/f: r\n",
        "tool.call user/files/read_text_file: deny\n",
        "  forbid user/test/f (test.cedar:1): true\n",
        "    when !(context.every_path in Path::\"./src\"): true   <- would turn it\n",
        "    when context.args_valid: true   <- would turn it\n",
        "  permit builtin/defaults/ask (builtin/defaults.cedar:5): true\n",
        "    unless context.args_complete || context.approved_now: true\n",
    ] {
        assert!(shown.contains(line), "{line:?}\n{shown}");
    }
    assert!(serde_json::to_value(&explained).unwrap()["parts"][0]["facts"].is_object());
    let wish = wish(creance::Wish::Network(creance::NetworkWish::Whole));
    let explained = PolicySet::builtin().explain(&[wish.query()], Answer::None);
    assert!(
        explained
            .to_string()
            .starts_with("ask (an answer may last: always)\n"),
        "{explained}"
    );
}
