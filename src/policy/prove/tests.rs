//! What proofs take for granted, and what needs their inside.

use std::sync::Arc;

use cedar_policy::{Authorizer, Decision, Policy, PolicySet as Cedar};
use serde_json::Value;

use crate::policy::PolicySet;
use crate::policy::facts::{self, Mentioned};
use crate::policy::load::Loaded;
use crate::policy::polarity;
use crate::policy::set::builtin_tests;
use crate::policy::trial::PolicyTest;
use crate::policy::vocabulary::JSON;

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
        let policy = Policy::parse(None, text).unwrap();
        let loaded = Loaded {
            heeds_answers: polarity::mentions_flags(&policy.to_json().unwrap()),
            heeds_context: true,
            policy,
            ..(**PolicySet::builtin().loaded().next().unwrap()).clone()
        };
        assert!(loaded.heeds_answers, "{written}");
        let raised = raised(&Arc::new(loaded)).unwrap();
        let text = format!("permit (principal, action, resource) when {{ {want} }};");
        let wanted = Policy::parse(None, text).unwrap();
        assert_eq!(raised.policy.to_json().unwrap(), wanted.to_json().unwrap());
    }
}
