//! A recorded request is decided again as it was decided, or it is said why not.

use serde_json::{Value, json};

use super::asked::{form, link, sample, sign_in};
use super::base::{
    Asking, arg_path, call, env, exec, path, prompt, resource, start, tools, user, weakened, wish,
};
use crate::audit::Record;
use crate::clean;
use crate::grant::Guarantee;
use crate::policy::{self, Decided, PolicySet};
use crate::request::{Answer, NetworkWish, Query, Risk, Wish};

/// The record of a decision on these queries, as the log has it.
fn record(queries: &[Query<'_>], policies: &PolicySet, answer: Answer) -> Record {
    let verdict = policies.evaluate_all(queries, answer);
    let facts: Vec<Value> = queries.iter().map(policy::facts).collect();
    let allow = verdict.outcome == policy::PolicyOutcome::Allow;
    serde_json::from_value(json!({
        "v": 1, "seq": 1, "prev": "0".repeat(64), "at_ms": 1, "run": "r", "event": "decision",
        "action": "x", "principal": "y", "resource": "z",
        "facts": clean::mask_value(Value::Array(facts)),
        "outcome": if allow { "allow" } else { "deny" }, "because": verdict.because,
        "answer": answer, "channel": null, "asked": false, "store": "0".repeat(64), "judged_us": 1
    }))
    .unwrap()
}

/// Requests of every action, in several circumstances.
fn requests() -> Vec<Asking> {
    let mut weak = start();
    weak.start().confinement = weakened(Guarantee::Secrets);
    let mut risky = exec();
    risky.exec().risks = vec![Risk::Privilege, Risk::Network];
    let mut outside = call();
    outside.call().paths = vec![arg_path("path", "/etc/passwd"), arg_path("to", "docs/a.md")];
    let mut late = call();
    late.run.attended = false;
    late.agent.depth = 2;
    vec![
        start(),
        weak,
        tools(),
        call(),
        outside,
        late,
        resource(),
        prompt(),
        exec(),
        risky,
        sign_in(),
        env("LANG"),
        env("API_KEY"),
        wish(Wish::Read(path("src"))),
        wish(Wish::Write(path(".git"))),
        wish(Wish::Network(NetworkWish::Whole)),
        form(),
        link(),
        sample(),
    ]
}

#[test]
fn what_was_decided_is_decided_again() {
    let sets = [
        PolicySet::builtin(),
        user(
            "@id(\"no\") forbid (principal, action == Action::\"tool.call\", resource) when { context.args.hasTag(\"path\") };",
        ),
        user("@id(\"no\") forbid (principal, action, resource) when { context.run.attended };"),
        user("@id(\"yes\") permit (principal, action, resource);"),
    ];
    for asking in requests() {
        let begun = start();
        let mut queries = vec![asking.query()];
        if asking.by.is_some() {
            // A grant stands behind the start that it belongs to.
            queries.insert(0, begun.query());
        }
        for policies in &sets {
            for answer in [Answer::None, Answer::Once, Answer::Remembered] {
                let record = record(&queries, policies, answer);
                let replay = policies.replay(&record).unwrap();
                let want = policies.evaluate_all(&queries, answer);
                assert_eq!(replay.now(), Some(replay.then), "{asking:?}");
                assert_eq!(replay.now, Ok(want), "{asking:?}");
            }
        }
    }
}

#[test]
fn other_policies_decide_otherwise() {
    let open = user("@id(\"yes\") permit (principal, action, resource);");
    let closed = user("@id(\"no\") forbid (principal, action == Action::\"tool.call\", resource);");
    let call = call();
    let record = record(&[call.query()], &open, Answer::None);
    let replay = closed.replay(&record).unwrap();
    assert_eq!(
        (replay.then, replay.now()),
        (Decided::Allow, Some(Decided::Deny))
    );
    assert_eq!(replay.now.unwrap().because[0].policy, "user/test/no");
}

/// A masked value may be looked at by a policy: then nobody can tell.
#[test]
fn what_is_masked_is_not_guessed() {
    let mut call = call();
    call.call().arguments = json!({"path": "a", "password": "hunter2hunter2"});
    let looks = user(
        "@id(\"no\") forbid (principal, action == Action::\"tool.call\", resource) when { context.args.hasTag(\"password\") };",
    );
    let record = record(&[call.query()], &looks, Answer::None);
    let why = looks.replay(&record).unwrap().now.unwrap_err();
    assert!(
        why.contains("arguments") && why.contains("user/test/no"),
        "{why}"
    );
    let other =
        user("@id(\"no\") forbid (principal, action, resource) when { context.run.attended };");
    assert!(other.replay(&record).unwrap().now.is_ok());
}

/// Of a link its origin is on record: a policy about the rest cannot be told, one about the host can.
#[test]
fn a_link_is_not_guessed() {
    let link = link();
    let rule = |when: &str| {
        user(&format!(
            "@id(\"no\") forbid (principal, action == Action::\"elicit.url\", resource) when {{ {when} }};"
        ))
    };
    let record = record(&[link.query()], &PolicySet::builtin(), Answer::Once);
    let looks = rule("context.url like \"*pay*\"");
    let why = looks.replay(&record).unwrap().now.unwrap_err();
    assert!(
        why.contains("not kept on record") && why.contains("user/test/no"),
        "{why}"
    );
    let host = rule("resource == Host::\"example.com\" && context.url_length == 27");
    let replay = host.replay(&record).unwrap();
    assert_eq!(
        (replay.then, replay.now()),
        (Decided::Allow, Some(Decided::Deny))
    );
}

#[test]
fn records_that_are_not_whole_are_not_decided() {
    let policies = PolicySet::builtin();
    let call = call();
    let good = record(&[call.query()], &policies, Answer::None);
    let check = |change: fn(&mut Value), want: &str| {
        let mut record = serde_json::to_value(&good).unwrap();
        change(&mut record["facts"]);
        let record: Record = serde_json::from_value(record).unwrap();
        let why = policies.replay(&record).unwrap().now.unwrap_err();
        assert!(why.contains(want), "{why}");
    };
    check(|facts| facts[0]["action"] = json!("web.fetch"), "web.fetch");
    check(|facts| facts[0]["agent"] = json!(7), "agent");
    check(|facts| facts[0]["facts"]["valid"] = json!("yes"), "valid");
    check(
        |facts| facts[0]["resource"] = json!("user/other/x"),
        "not its server's",
    );
    check(
        |facts| facts[0]["principal"] = json!("[secret:aws:00000000]"),
        "masked",
    );
    // Nothing was asked: nothing is allowed.
    let mut none = good.clone();
    if let crate::audit::EventKind::Decision { facts, .. } = &mut none.event.kind {
        *facts = json!([]).into();
    }
    assert_eq!(policies.replay(&none).unwrap().now(), Some(Decided::Deny));
}
