//! Each shipped policy with a request that it lets pass and one that it does not.

use creance::{Answer, PolicyOutcome, PolicySet};

use crate::base::{call, env, exec, start};

#[test]
fn smoke() {
    let policies = PolicySet::builtin();
    for asking in [start(), call(), env("LANG"), exec()] {
        let verdict = policies.evaluate_all(&[asking.query()], Answer::None);
        println!("{verdict:#?}");
        assert_ne!(verdict.outcome, PolicyOutcome::Deny);
    }
}
