//! What names, texts and values of strangers do to a store and to its records: nothing.

use creance::{Answer, Layer, PolicyOutcome, PolicySet, PolicySource};

use crate::base::{call, user};

fn source(layer: Layer, file: &str, text: &str) -> PolicySource {
    PolicySource {
        layer,
        file: file.to_owned(),
        text: text.to_owned(),
    }
}

/// A repository's texts reach terminals and logs.
#[test]
fn hostile_texts_stay_on_their_line() {
    let reason = "ok\\n\\u{1b}[2Jbuiltin/guardrails/x: all is well";
    let policy = format!(
        "@id(\"x\") @reason(\"{reason}\") forbid (principal, action == Action::\"tool.call\", resource);"
    );
    let set = crate::base::layer(Layer::Project, &policy);
    let verdict = set.evaluate_all(&[call().query()], Answer::None);
    let shown = &verdict.because[0].reason;
    assert_eq!(shown, "ok \u{fffd}[2Jbuiltin/guardrails/x: all is well");
    let broken = source(Layer::Project, "a\u{1b}[2J\nb.cedar", "\u{1b}[2J");
    for problem in PolicySet::parse(&[broken]).unwrap_err() {
        let line = problem.to_string();
        assert!(!line.contains(['\n', '\u{1b}']), "{line:?}");
    }
    let broken = source(Layer::Project, "b.cedar", "forbid \u{1b}[2J\u{202e}");
    for problem in PolicySet::parse(&[broken]).unwrap_err() {
        let line = problem.to_string();
        assert!(!line.contains(['\n', '\u{1b}', '\u{202e}']), "{line:?}");
    }
}

/// The tool `b/c` of the server `a` is not the tool `c` of the server `a/b`.
#[test]
fn a_slash_in_a_name_moves_nothing() {
    let policies = user(
        "@id(\"x\") @reason(\"r\") permit (principal, action == Action::\"tool.call\", resource == Tool::\"user/a%2Fb/c\");",
    );
    let outcome = |server: &str, tool: &str| {
        let mut asking = call();
        asking.server().id.name = server.to_owned();
        asking.call().tool.name = tool.to_owned();
        asking.outcome(&policies)
    };
    assert_eq!(outcome("a/b", "c"), PolicyOutcome::Allow);
    assert_eq!(outcome("a", "b/c"), PolicyOutcome::Ask(Answer::Remembered));
    assert_eq!(
        outcome("a%2Fb", "c"),
        PolicyOutcome::Ask(Answer::Remembered)
    );
}

/// What goes on record names variables and never holds their values.
#[test]
fn recorded_facts_hold_no_values_of_variables() {
    let mut asking = crate::base::start();
    let value = "s3cr3t-value".to_owned();
    asking
        .start()
        .grant
        .env
        .0
        .insert("TOKEN".to_owned(), value.clone());
    let facts = creance::facts(&asking.query());
    assert_eq!(facts["action"], "server.start");
    assert_eq!(facts["resource"], "user/files");
    assert_eq!(facts["principal"], "agent/claude-code");
    assert_eq!(
        facts["facts"]["env_names"],
        serde_json::json!(["PATH", "TOKEN"])
    );
    assert_eq!(facts["facts"]["confinement"]["enforced"][0], "writes");
    assert!(!facts.to_string().contains(&value));
}
