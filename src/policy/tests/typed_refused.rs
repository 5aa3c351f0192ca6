//! What keeps a store from being used when policies name tools as actions; and what its digest holds.

use serde_json::json;

use super::typed::{OWN, TOOL, lock, parts, refused, schema, source, store};
use crate::digest::Digest;
use crate::policy::typed::LockedTool;
use crate::policy::{PolicySet, PolicySource, StoreParts};
use crate::request::Layer;

#[track_caller]
fn check(text: &str, want: &[&str]) {
    let said = refused(&parts(text));
    for part in want {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn what_would_go_quiet_is_refused() {
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
}

/// Policies that would miss the calls, of whatever layer.
#[test]
fn what_would_miss_the_calls_is_refused() {
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
