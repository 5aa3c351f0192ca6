//! A policy that cannot be evaluated. No policy that loads fails on facts that fit the schema; these
//! are put in behind the loader's back.

use std::sync::Arc;

use cedar_policy::{Policy, PolicyId};

use super::base::call;
use crate::policy::load::Loaded;
use crate::policy::members::Members;
use crate::policy::{PolicyOutcome, PolicySet};
use crate::request::{Answer, Layer, Role};

fn failing(effect: &str, id: &str) -> Loaded {
    let text = format!(
        r#"@reason("r") {effect} (principal, action == Action::"tool.call", resource)
        when {{ 9223372036854775807 + context.args_bytes > 0 }};"#
    );
    Loaded {
        policy: Policy::parse(Some(PolicyId::new(id)), &text).unwrap(),
        text,
        layer: Layer::User,
        file: "test.cedar".to_owned(),
        line: 1,
        reason: "r".to_owned(),
        heeds_answers: false,
        heeds_context: true,
    }
}

fn with(extra: Loaded) -> PolicySet {
    let builtin = PolicySet::builtin();
    let policies = builtin
        .0
        .policies
        .values()
        .cloned()
        .chain([Arc::new(extra)]);
    PolicySet::new(policies.collect(), Members::default()).unwrap()
}

/// POL-01: Cedar alone skips the forbid and allows.
#[test]
fn a_forbid_that_errors_denies() {
    let policies = with(failing("forbid", "user/test/broken"));
    for held in [Answer::None, Answer::Once] {
        let verdict = policies.evaluate_all(&[call().query()], held);
        assert_eq!(verdict.outcome, PolicyOutcome::Deny);
        assert_eq!(verdict.because[0].policy, "user/test/broken");
        assert_eq!(verdict.because[0].role, Role::Error);
        assert!(
            verdict.because[0].reason.contains("overflow"),
            "{verdict:?}"
        );
    }
}

#[test]
fn a_permit_that_errors_permits_nothing() {
    let policies = with(failing("permit", "user/test/broken"));
    let verdict = policies.evaluate_all(&[call().query()], Answer::None);
    assert_eq!(verdict.outcome, PolicyOutcome::Ask(Answer::Remembered));
    let verdict = policies.evaluate_all(&[call().query()], Answer::Once);
    assert_eq!(verdict.outcome, PolicyOutcome::Allow);
}
