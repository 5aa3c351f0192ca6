//! Facts that no feature fills yet: told in a test of policies, each alone turns a decision.

use creance::{Layer, PolicySet, PolicySource, PolicyTest};
use serde_json::{Map, Value, json};

use crate::base::user;
use crate::facts::TO_COME;

/// The request of an action, with what it must be told.
fn plain(action: &str) -> Map<String, Value> {
    let mut told = Map::from_iter([("action".to_owned(), json!(action))]);
    if action.starts_with("fs.") {
        told.insert("path".to_owned(), json!("src/a"));
    }
    told
}

/// Two values of a fact and the condition that the second one meets.
fn values(schema: &Value, name: &str, shape: &Value) -> Option<(Value, Value, String)> {
    let context = format!("context.{name}");
    let kind = shape["name"].as_str().unwrap_or_default();
    if shape["type"] == "Set" {
        let words = &schema["entityTypes"][shape["element"]["name"].as_str()?]["enum"];
        return Some(match words.get(0) {
            Some(word) => (
                json!([]),
                json!([word]),
                format!("{context}.contains(Risk::{word})"),
            ),
            None => (
                json!([]),
                json!(["x"]),
                format!(r#"{context}.contains("x")"#),
            ),
        });
    }
    if name == "url" {
        let (one, two) = ("https://example.com/a", "https://example.com/x");
        return Some((json!(one), json!(two), format!("{context} == \"{two}\"")));
    }
    Some(match kind {
        "Bool" => (json!(false), json!(true), context),
        "Long" => (json!(1), json!(7), format!("{context} == 7")),
        "String" => (json!("a"), json!("x"), format!(r#"{context} == "x""#)),
        "ipaddr" => (
            json!("8.8.8.8"),
            json!("127.0.0.1"),
            format!("{context}.isLoopback()"),
        ),
        _ => {
            let words = schema["entityTypes"][kind]["enum"].as_array()?;
            let (one, two) = (&words[0], &words[1]);
            (
                one.clone(),
                two.clone(),
                format!("{context} == {kind}::{two}"),
            )
        }
    })
}

#[track_caller]
fn check(policies: &PolicySet, told: &Map<String, Value>, want: &str) {
    let because = if want == "deny" {
        json!(["user/test/fact"])
    } else {
        json!([])
    };
    let test = json!([{ "name": "n", "do": told, "expect": want, "because": because }]);
    let file = PolicySource {
        layer: Layer::User,
        file: "t.json".to_owned(),
        text: test.to_string(),
    };
    let report = policies.test(&PolicyTest::read(&file).unwrap(), &[]);
    let said = &report.results[0];
    assert_eq!(said.problem, None, "{told:?}\n{said}");
}

#[test]
fn each_fact_to_come_turns_a_decision() {
    let schema: Value = serde_json::from_str(PolicySet::schema_json()).unwrap();
    let schema = &schema[""];
    let mut seen = 0;
    for (action, of) in schema["actions"].as_object().unwrap() {
        if !TO_COME.contains(&action.as_str()) {
            continue;
        }
        let facts = of["appliesTo"]["context"]["attributes"]
            .as_object()
            .unwrap();
        for (name, shape) in facts
            .iter()
            .filter(|(name, _)| !name.starts_with("approved"))
        {
            let Some((before, after, when)) = values(schema, name, shape) else {
                continue;
            };
            let rule = format!(
                "@id(\"all\") @reason(\"r\") permit (principal, action == Action::\"{action}\", resource);\n\
                 @id(\"fact\") @reason(\"r\") forbid (principal, action == Action::\"{action}\", resource) when {{ {when} }};"
            );
            let policies = user(&rule);
            // The built-in guard rails have their say about some facts; those are told at their mildest.
            let mut told = plain(action);
            told.insert("held".to_owned(), json!("once"));
            told.insert(name.clone(), after);
            check(&policies, &told, "deny");
            told.insert(name.clone(), before);
            let milder = ["scheme", "ip_class", "ip"].contains(&name.as_str());
            if !milder {
                check(&policies, &told, "allow");
            }
            seen += 1;
        }
    }
    // Exactly: one more or less was passed over by mistake, or its action moved to `facts.rs`.
    assert_eq!(seen, 45);
}
