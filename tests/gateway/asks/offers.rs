//! What servers are told that they may ask.

use serde_json::json;

use crate::cases::desk::PERMIT_ALL;

use super::talk::{PERMIT_USE, Talk, agreeable, all, branch, desk, prompt};

#[test]
fn a_server_is_told_what_client_and_policy_offer() {
    let silent = format!(
        "{PERMIT_USE}\n@id(\"mute\") @reason(\"No models here.\") forbid (principal, action == Action::\"sampling.create\", resource);"
    );
    for (client, policy, want) in [
        (json!({}), PERMIT_USE, json!({})),
        (
            json!({ "elicitation": {} }),
            PERMIT_USE,
            json!({ "elicitation": {} }),
        ),
        (
            all(),
            PERMIT_USE,
            json!({ "elicitation": { "url": {}, "form": {} }, "sampling": { "tools": {} }, "roots": {} }),
        ),
        (
            all(),
            &silent,
            json!({ "elicitation": { "url": {}, "form": {} }, "roots": {} }),
        ),
    ] {
        let Some(desk) = desk("a_server_is_told", policy) else {
            return;
        };
        let mut talk = Talk::open(desk, &client, agreeable);
        let said = talk.call("asks__said", &json!({}));
        assert_eq!(said["capabilities"], want, "{client}");
        if want.get("sampling").is_none() {
            let said = talk.asks("sampling/createMessage", &prompt());
            assert_eq!(said["error"]["code"], -32601, "{said}");
            assert_eq!(talk.came("sampling/createMessage").len(), 0);
        }
    }
}

#[test]
fn a_server_that_nobody_listens_to_has_no_such_methods() {
    let Some(desk) = desk("a_server_that_nobody_listens_to", PERMIT_ALL) else {
        return;
    };
    let mut talk = Talk::open(desk, &json!({}), agreeable);
    for method in ["elicitation/create", "sampling/createMessage", "roots/list"] {
        let said = talk.asks(method, &branch());
        assert_eq!(said["error"]["code"], -32601, "{said}");
    }
}
