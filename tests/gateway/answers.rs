//! Lasting answers as their giver meets them again: `creance answers`.

use std::fs;

use serde_json::Value;

use crate::stage::Stage;
use crate::up::{Up, run, stage, text};

/// The answers on file: `(id, action, covers)`.
fn listed(stage: &Stage) -> Vec<(String, String, String)> {
    let listed = run(stage.creance(&["answers", "list", "--json"]));
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    (listed.iter())
        .map(|entry| {
            (
                word(entry, "id"),
                word(entry, "action"),
                word(entry, "scope"),
            )
        })
        .collect()
}

fn of_tool(stage: &Stage) -> String {
    let answers = listed(stage);
    let tool = |(_, action, _): &&(String, String, String)| action == "tool.call";
    answers.iter().find(tool).unwrap().0.clone()
}

#[test]
fn a_lasting_answer_is_taken_back() {
    let stage = stage();
    let mut up = Up::answering(&stage, "always");
    assert!(up.call(&stage, "always", 2).1);
    assert!(!up.call(&stage, "no", 1).1);
    let actions: Vec<String> = listed(&stage)
        .into_iter()
        .map(|(_, action, _)| action)
        .collect();
    assert_eq!(actions, ["server.start", "tool.call"]);
    let said = run(stage.creance(&["answers", "list"]));
    for want in [
        "covers   the tool user/t/echo",
        "given    20",
        "until    20",
    ] {
        assert!(said.contains(want), "{want}: {said}");
    }
    // The gateway that runs asks again too.
    let id = of_tool(&stage);
    run(stage.creance(&["answers", "revoke", &id[..6]]));
    assert!(up.call(&stage, "no", 1).1);
    let again = stage.creance(&["answers", "revoke", &id]).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "{}", text(&again));
    let audit = run(stage.creance(&["audit", "show", "--json"]));
    assert!(audit.contains("answer-revoked"), "{audit}");
    stage.audit_verifies();
}

#[test]
fn a_lasting_answer_becomes_a_policy() {
    let stage = stage();
    let mut up = Up::answering(&stage, "always");
    up.call(&stage, "always", 2);
    drop(up);
    let id = of_tool(&stage);
    let shown = run(stage.creance(&["answers", "rule", &id]));
    assert!(
        shown.contains("resource == Tool::\"user/t/echo\""),
        "{shown}"
    );
    run(stage.creance(&["answers", "rule", &id, "--write"]));
    let file = stage.home.join(".config/creance/policies/answers.cedar");
    assert!(fs::read_to_string(&file).unwrap().contains(&shown));
    let twice = stage
        .creance(&["answers", "rule", &id, "--write"])
        .output()
        .unwrap();
    assert_eq!(twice.status.code(), Some(2), "{}", text(&twice));
    run(stage.creance(&["policy", "check"]));
    // The policy stands in for the answer.
    run(stage.creance(&["answers", "revoke", &id]));
    let mut up = Up::answering(&stage, "no");
    assert!(!up.call(&stage, "no", 1).1);
    // A start holds for more than a policy can say.
    let start = &listed(&stage)[0].0;
    let start = stage.creance(&["answers", "rule", start]).output().unwrap();
    assert_eq!(start.status.code(), Some(1), "{}", text(&start));
    assert!(text(&start).contains("stays in force"), "{}", text(&start));
}
