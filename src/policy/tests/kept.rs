//! What is kept of a request is all that it was judged by, masked: also where parts of it were masked before.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::clean;
use crate::policy::PolicySet;

use super::base::{Asking, call, start, tools};

fn check(store: &PolicySet, asking: &Asking) {
    let facts = vec![store.facts(&asking.query())];
    let want = clean::mask_value(Value::Array(facts));
    let kept = store.kept(&[asking.query()]);
    assert_eq!(*kept.value(), want);
    let order = serde_json::to_string(&kept).unwrap();
    assert_eq!(order, want.to_string());
}

#[test]
fn nothing_is_left_out_and_nothing_told() {
    let store = PolicySet::builtin();
    for arguments in [
        json!({}),
        json!({ "token": "hunter2", "path": "docs/a" }),
        json!({ "a": "AKIAFAKE", "b": "FAKEFAKE0001" }),
        json!("password=hunter2"),
        json!(["--token", "hunter2"]),
    ] {
        let mut asking = call();
        asking.call().arguments = arguments;
        check(&store, &asking);
    }
    for mut asking in [start(), tools(), call()] {
        asking.agent.client = "Bearer FAKE-SECRET-01".to_owned();
        check(&store, &asking);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn one_call_after_another(calls in prop::collection::vec(("(key|a) ?(=|AKIAFAKEFAKEFAKE0001)?", "[a-z]{0,8}", any::<bool>()), 1..6)) {
        let store = PolicySet::builtin();
        for (name, value, verified) in calls {
            let mut asking = call();
            asking.agent.client_verified = verified;
            asking.agent.client.clone_from(&name);
            asking.run.project.id.clone_from(&value);
            let called = asking.call();
            called.tool.claims.read_only = verified;
            called.option_like = vec![format!("-{name}"), value.clone()];
            called.tool.name.push_str(&name);
            called.arguments = json!({ name: value });
            check(&store, &asking);
        }
    }
}
