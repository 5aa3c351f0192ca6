//! What proofs take for granted, and what needs their inside.

use std::sync::Arc;
use std::time::Duration;

use cedar_policy::{Authorizer, Decision, Policy, PolicySet as Cedar};
use serde_json::{Value, json};

use crate::digest::Digest;
use crate::policy::builtin_tests;
use crate::policy::facts::{self, Mentioned};
use crate::policy::load::Loaded;
use crate::policy::polarity;
use crate::policy::typed::{LockedTool, ToolLock};
use crate::policy::vocabulary::JSON;
use crate::policy::{PolicySet, PolicySource, PolicyTest, StoreParts};
use crate::request::Layer;
use crate::runner::{Proved, Solver};

use super::Invariants;
use super::claim::{assumed, raised};
use super::spots::places;

/// No request that is told, through the functions that fill real ones, is one of those that are taken
/// for impossible.
#[test]
fn what_is_assumed_holds_of_requests() {
    let mut set = Cedar::from_policies(assumed().unwrap()).unwrap();
    let everything = "permit (principal, action, resource);";
    set.add(Policy::parse(None, everything).unwrap()).unwrap();
    let store = PolicySet::builtin();
    let mut told = 0;
    for file in builtin_tests() {
        for test in PolicyTest::read(&file).unwrap() {
            let scene = facts::scene(test.request(), Mentioned::Any, store.0.terms()).unwrap();
            let request = scene.judged.request(scene.held).unwrap();
            let response = Authorizer::new();
            let entities = scene.judged.entities.clone().into();
            let response = response.is_authorized(&request.into(), &set, &entities);
            let why: Vec<String> = response
                .diagnostics()
                .reason()
                .map(ToString::to_string)
                .collect();
            assert_eq!(
                response.decision(),
                Decision::Allow,
                "{}: {why:?}",
                test.name
            );
            assert_eq!(response.diagnostics().errors().count(), 0, "{}", test.name);
            told += 1;
        }
    }
    assert!(told > 50, "{told}");
}

/// The places that are told apart are those of the schema.
#[test]
fn places_are_those_of_the_schema() {
    let schema: Value = serde_json::from_str(JSON).unwrap();
    let known = schema[""]["entityTypes"]["Place"]["enum"]
        .as_array()
        .unwrap();
    let known: Vec<&str> = known.iter().map(|place| place.as_str().unwrap()).collect();
    assert_eq!(places().collect::<Vec<_>>(), known);
}

/// An answer that is one step stronger: each flag gives way to the one below it.
#[test]
fn flags_are_raised() {
    for (written, want) in [
        ("context.approved", "true"),
        ("context.approved_this_session", "context.approved"),
        (
            "context.approved_now && context.approved",
            "context.approved_this_session && true",
        ),
    ] {
        let text = format!("permit (principal, action, resource) when {{ {written} }};");
        let policy = Policy::parse(None, &text).unwrap();
        let loaded = Loaded {
            heeds_answers: polarity::mentions_flags(&policy.to_json().unwrap()),
            heeds_context: true,
            policy,
            text,
            ..(**PolicySet::builtin().loaded().next().unwrap()).clone()
        };
        assert!(loaded.heeds_answers, "{written}");
        let raised = raised(&Arc::new(loaded)).unwrap();
        let text = format!("permit (principal, action, resource) when {{ {want} }};");
        let wanted = Policy::parse(None, text).unwrap();
        assert_eq!(raised.policy.to_json().unwrap(), wanted.to_json().unwrap());
    }
}

/// A call of a tool with an action of its own is asked about with its typed arguments, and told.
#[test]
fn typed_tools_are_asked_about() {
    let solver = match Solver::find(None, Duration::from_secs(60)) {
        Ok(solver) => solver,
        Err(why) => {
            let required = std::env::var("CREANCE_REQUIRE_REAL").is_ok_and(|v| v == "1");
            assert!(!required, "{why}");
            return println!("skipped: typed_tools_are_asked_about: {why}");
        }
    };
    let tool = "user/files/read_text_file";
    let schema =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let mut lock = ToolLock::default();
    let locked = LockedTool::new(Digest::of("tool"), &schema).unwrap();
    lock.tools.insert(tool.to_owned(), locked);
    let user = |file: &str, text: String| PolicySource {
        layer: Layer::User,
        file: file.to_owned(),
        text,
    };
    let text = format!(
        "@id(\"p\") @reason(\"r\") permit (principal, action == Action::\"{tool}\", resource) when {{ context.input.path == \"a.md\" }};"
    );
    let (store, _) = PolicySet::build(&StoreParts {
        sources: vec![user("p.cedar", text)],
        locks: vec![user("tools.lock.json", lock.text())],
        ..StoreParts::default()
    })
    .unwrap();
    let invariants = Invariants::read(
        "asked.cedar",
        "@id(\"asked\") @reason(\"r\") forbid (principal, action in Action::\"tool.call\", resource) unless { context.approved };",
    );
    let invariants = invariants.unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let proofs = runtime.block_on(solver.prove(&store, &invariants, |_| {}));
    let proofs = proofs.unwrap();
    let open: Vec<_> = proofs
        .iter()
        .filter(|proof| proof.result != Proved::Proved)
        .collect();
    let [proof] = &open[..] else {
        panic!("{open:?}");
    };
    let test = proof.examples[0].test.as_ref();
    let told = test.map(|test| &test["do"]);
    let want = json!({"action": tool, "input": {"path": "a.md"}});
    assert_eq!(told, Some(&want), "{proof:?}");

    // Beside a store that names no tool, both are asked about the tools of either.
    let other = PolicySet::builtin();
    let proofs = runtime.block_on(solver.compare((&store, &other), |_| {}));
    let proofs = proofs.unwrap();
    assert_eq!(proofs[0].result, Proved::Proved, "{proofs:?}");
    assert_eq!(proofs[1].result, Proved::Refuted, "{proofs:?}");
}
