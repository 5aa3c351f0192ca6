//! What a person sees before agreeing, through the client and through another terminal.

use serde_json::{Value, json};

use super::desk::{Desk, PERMIT_START, failed, script, text, tool};

fn demo(test: &str) -> Option<Desk> {
    let desk = Desk::new(test)?;
    let server = desk.plays("demo", &script(&json!([tool("exec")])));
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(PERMIT_START);
    Some(desk)
}

/// What must be seen of each call of the case, and the warnings that it takes.
const WANT: [(&[&str], &[&str]); 7] = [
    (&["import shutil; shutil.rmtree('/tmp/x')"], &[]),
    (
        &["blanks⟧; rm -rf x"],
        &["hidden or odd characters are marked"],
    ),
    (&["\\nrm -rf x"], &[]),
    (
        &["⟦U+202E⟧xr- mr⟦U+202C⟧", "⟦U+200B⟧ok"],
        &["hidden or odd characters are marked"],
    ),
    (&["rm -rf x\\recho harmless"], &[]),
    (
        &[
            "\"command\": \"ls\"",
            "\"command \": \"rm -rf x\"",
            "\"comm⟦U+0430⟧nd\": \"rm\"",
        ],
        &[
            "easily taken for one another: \"command\" and \"command \"",
            "hidden or odd characters are marked",
        ],
    ),
    (
        &["⟦U+3164 ×2⟧; rm x"],
        &["hidden or odd characters are marked"],
    ),
];

#[track_caller]
fn shows(shown: &str, want: (&[&str], &[&str])) {
    for part in want.0.iter().chain(want.1) {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    let unseen = |c: char| "\u{202e}\u{202c}\u{200b}\u{3164}\r".contains(c);
    assert!(!shown.contains(unseen), "{shown:?}");
}

#[test]
fn sh_08_the_client_shows_all_that_will_run() {
    let Some(mut desk) = demo("sh_08") else {
        return;
    };
    desk.say("Call user/demo/exec?", "once");
    desk.open();
    desk.wait_for("demo__exec");
    let calls = include_str!("../../cases/SH-08.calls.jsonl");
    for (call, want) in calls.lines().zip(WANT) {
        let call: Value = serde_json::from_str(call).unwrap();
        desk.asked.clear();
        let result = desk.call("demo__exec", &call["arguments"]);
        assert_eq!(text(&result), "ok", "{result}");
        shows(&desk.asked.join(""), want);
    }
}

#[test]
fn sh_08_another_terminal_shows_all_that_will_run() {
    let Some(mut desk) = demo("sh_08") else {
        return;
    };
    desk.open();
    desk.wait_for("demo__exec");
    let calls = include_str!("../../cases/SH-08.calls.jsonl");
    for (call, want) in calls.lines().zip(WANT) {
        let call: Value = serde_json::from_str(call).unwrap();
        let params = json!({ "name": "demo__exec", "arguments": call["arguments"] });
        let id = desk.raw().ask("tools/call", &params);
        let question = desk.wait_for_question("Call user/demo/exec?");
        let asked = &question["question"]["asked"];
        assert_eq!(asked["complete"], true);
        let texts = asked["details"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| &d["text"]);
        let shown: Vec<&str> = texts
            .chain(asked["warnings"].as_array().unwrap())
            .map(|text| text.as_str().unwrap())
            .collect();
        shows(&shown.join("\n"), want);
        assert!(desk.approve(&question, "once"));
        assert_eq!(text(&desk.answer(id)["result"]), "ok");
    }
}

#[test]
fn sh_08_what_cannot_be_shown_whole_cannot_be_agreed_to() {
    let Some(mut desk) = demo("sh_08") else {
        return;
    };
    // The client would agree, and is not offered to.
    desk.say("Call user/demo/exec?", "(wait)");
    desk.open();
    desk.wait_for("demo__exec");
    let long = format!("{}; rm -rf x", "a".repeat(70_000));
    let params = json!({ "name": "demo__exec", "arguments": { "command": long } });
    let id = desk.raw().ask("tools/call", &params);
    let question = desk.wait_for_question("Call user/demo/exec?");
    assert_eq!(question["question"]["asked"]["complete"], false);
    for word in ["once", "session", "always"] {
        assert!(!desk.approve(&question, word), "{word}");
    }
    assert!(desk.approve(&question, "no"));
    let answer = desk.answer(id);
    assert!(failed(&answer["result"]), "{answer}");
    let shown = desk.asked.join("");
    assert!(shown.contains("⟦cut here: "), "it says that it is cut");
    assert!(shown.contains("It cannot be shown in full here, so it cannot be agreed to."));
    assert!(desk.notes("demo").is_empty(), "nothing ran");
}
