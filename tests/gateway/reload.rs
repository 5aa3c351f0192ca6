//! Policy files that change while the gateway runs.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::stage::Stage;
use crate::up::{Up, run, stage};

/// Where changes are seen every second, a loaded machine may take longer.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits until the gateway's status is as it should be.
#[track_caller]
fn wait(up: &mut Up, good: impl Fn(&str) -> bool) -> String {
    let end = Instant::now() + LIMIT;
    loop {
        let status = up
            .raw
            .request("tools/call", &json!({ "name": "creance_status" }));
        let status = status["result"]["content"][0]["text"].as_str().unwrap();
        if good(status) {
            return status.to_owned();
        }
        assert!(Instant::now() < end, "{status}");
        // Messages that come by themselves are read meanwhile.
        let _ = up.raw.next_within(Duration::from_millis(100));
    }
}

fn rule(stage: &Stage, text: &str) {
    stage.write("home/.config/creance/policies/rule.cedar", text);
}

const UNUSED: &str = "the policy files changed and cannot be used";
const ALLOW: &str = "@id(\"echo\") @reason(\"r\") permit (principal, action == \
                     Action::\"tool.call\", resource == Tool::\"user/t/echo\");";
const BROKEN: &str = "@id(\"echo\") permit (principal, action == Action::\"tool.cal\", resource);";
const NO_START: &str = "@id(\"gone\") @reason(\"recalled\") forbid (principal, action == \
                        Action::\"server.start\", resource == Server::\"user/t\");";

#[test]
fn changed_policies_come_into_force() {
    let stage = stage();
    let mut up = Up::answering(&stage, "always");
    assert!(up.call(&stage, "no", 1).1, "asked, as nothing permits it");
    rule(&stage, ALLOW);
    // There is no sign of it but what it does.
    let end = Instant::now() + LIMIT;
    while up.call(&stage, "no", 1).1 {
        assert!(Instant::now() < end, "the policy does not come into force");
    }
    // A file that cannot be used costs nothing of what is in force.
    rule(&stage, BROKEN);
    let status = wait(&mut up, |status| status.contains(UNUSED));
    assert!(status.contains("user/t: connected"), "{status}");
    assert!(!up.call(&stage, "no", 1).1, "the last good policies stay");
    rule(&stage, ALLOW);
    wait(&mut up, |status| !status.contains(UNUSED));
    assert!(!up.call(&stage, "no", 1).1);
    // Without the file, the question is back.
    fs::remove_file(stage.home.join(".config/creance/policies/rule.cedar")).unwrap();
    let end = Instant::now() + LIMIT;
    while !up.call(&stage, "no", 1).1 {
        assert!(Instant::now() < end, "the policy does not go out of force");
    }
    let audit = run(stage.creance(&["audit", "show", "--json"]));
    for want in ["policies-replaced", "policies-refused", "tool.cal"] {
        assert!(audit.contains(want), "{want}: {audit}");
    }
    stage.audit_verifies();
}

#[test]
fn a_server_that_policy_denies_now_is_ended() {
    let stage = stage();
    let mut up = Up::answering(&stage, "always");
    rule(&stage, NO_START);
    let status = wait(&mut up, |status| status.contains("user/t: denied"));
    assert!(status.contains("user/rule/gone"), "{status}");
    let list = up.raw.request("tools/list", &json!({})).to_string();
    assert!(!list.contains("t__echo"), "{list}");
    let audit = run(stage.creance(&["audit", "show", "--json"]));
    assert!(audit.contains("server-recalled"), "{audit}");
    stage.audit_verifies();
}
