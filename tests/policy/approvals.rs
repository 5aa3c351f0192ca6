//! The facts that every action has: what was answered, and the run. For each action of the schema whose
//! feature exists, each of them alone turns a decision.

use std::collections::BTreeSet;

use creance::{Answer, NetworkWish, PolicyOutcome, PolicySet, Role, Wish};

use crate::asked::{form, link, sample, sign_in};
use crate::base::{
    Asking, call, env, exec, path, prompt, remote, resource, start, tools, user, wish,
};
use crate::facts::TO_COME;

fn actions() -> Vec<(&'static str, Asking)> {
    vec![
        ("server.start", start()),
        ("server.tools", tools()),
        ("sandbox.read", wish(Wish::Read(path("a")))),
        ("sandbox.write", wish(Wish::Write(path("a")))),
        ("sandbox.network", wish(Wish::Network(NetworkWish::Whole))),
        ("sandbox.env", env("LANG")),
        ("sandbox.socket", wish(Wish::Socket(path("/run/x")))),
        ("server.connect", remote()),
        ("tool.call", call()),
        ("resource.read", resource()),
        ("prompt.get", prompt()),
        ("elicit.form", form()),
        ("elicit.url", link()),
        ("sampling.create", sample()),
        ("exec.run", exec()),
        ("oauth.sign_in", sign_in()),
    ]
}

/// Everything of an action is permitted but for this.
fn but(action: &str, condition: &str) -> PolicySet {
    let head = format!(r#"(principal, action == Action::"{action}", resource)"#);
    user(&format!(
        r#"@id("all") @reason("r") permit {head};
@id("fact") @reason("r") forbid {head} {condition};"#
    ))
}

#[test]
fn each_answer_alone_turns_a_decision_of_each_action() {
    // (the fact, the strongest answer without it, the weakest with it)
    let facts = [
        ("approved", Answer::None, Answer::Remembered),
        ("approved_this_session", Answer::Remembered, Answer::Session),
        ("approved_now", Answer::Session, Answer::Once),
    ];
    for (action, asking) in actions() {
        for (fact, without, with) in facts {
            let policies = but(action, &format!("unless {{ context.{fact} }}"));
            let before = policies.evaluate_all(&[asking.query()], without);
            assert_eq!(before.outcome, PolicyOutcome::Ask(with), "{action}: {fact}");
            let because = &before.because[0];
            assert_eq!(because.policy, "user/test/fact", "{action}: {fact}");
            assert_eq!(because.role, Role::RequiresAnswer, "{action}: {fact}");
            let after = policies.evaluate_all(&[asking.query()], with);
            assert_eq!(after.outcome, PolicyOutcome::Allow, "{action}: {fact}");
        }
    }
}

#[test]
fn the_run_turns_a_decision_of_each_action() {
    for (action, asking) in actions() {
        let policies = but(action, "when { context.run.dry_run }");
        assert_eq!(asking.outcome(&policies), PolicyOutcome::Allow, "{action}");
        let mut dry = asking.clone();
        dry.run.dry_run = true;
        assert_eq!(dry.outcome(&policies), PolicyOutcome::Deny, "{action}");
    }
}

/// The list above is that of the schema, and what is to come is in the schema too.
#[test]
fn no_action_is_left_out() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../schemas/creance.cedarschema.json")).unwrap();
    let schema = &schema[""];
    let names = |member: &str| -> BTreeSet<&str> {
        let named = schema[member].as_object().unwrap();
        named.keys().map(String::as_str).collect()
    };
    let asked = schema["actions"].as_object().unwrap().iter();
    // A group of actions is asked for by none.
    let asked = asked.filter(|(_, action)| action["appliesTo"]["context"].is_object());
    let wanted: BTreeSet<&str> = asked
        .map(|(name, _)| name.as_str())
        .filter(|name| !TO_COME.contains(name))
        .collect();
    let tested: BTreeSet<&str> = actions().into_iter().map(|(action, _)| action).collect();
    assert_eq!(tested, wanted);
    let known: BTreeSet<&str> = &names("actions") | &names("entityTypes");
    let gone: Vec<_> = TO_COME
        .iter()
        .filter(|name| !known.contains(*name))
        .collect();
    assert!(gone.is_empty(), "no longer in the schema: {gone:?}");
}
