//! Shapes of input schemas as real servers have them, and what policies see of each.

use serde_json::json;

use super::*;
use crate::policy::typed::input::{left_out, record_text};

/// What a schema comes to: the type, then what is left out.
fn read(schema: &Json) -> Result<String, String> {
    let input = input_of(schema)?;
    let left_out = left_out(&input).into_iter();
    let left_out = left_out.map(|(at, why)| format!("; {at}: {why}"));
    Ok(record_text(&input) + &left_out.collect::<String>())
}

/// The input of a tool with one argument `a`.
fn check(of_a: &Json, want: &str) {
    let schema = json!({"type": "object", "properties": {"a": of_a}, "required": ["a"]});
    assert_eq!(read(&schema).as_deref(), Ok(want), "{of_a}");
}

/// A whole input schema.
fn whole(schema: &Json, want: Result<&str, &str>) {
    let got = read(schema);
    assert_eq!(got.as_deref().map_err(String::as_str), want, "{schema}");
}

#[test]
fn plain_types() {
    check(&json!({"type": "string"}), r#"{ "a": String }"#);
    check(
        &json!({"type": "integer", "minimum": 1}),
        r#"{ "a": Long }"#,
    );
    check(&json!({"type": "number"}), r#"{ "a": decimal }"#);
    check(&json!({"type": "boolean"}), r#"{ "a": Bool }"#);
    check(
        &json!({"type": ["integer", "number"]}),
        r#"{ "a": decimal }"#,
    );
    check(
        &json!({"type": "string", "format": "date-time"}),
        r#"{ "a": String }"#,
    );
    check(
        &json!({"type": "string", "enum": ["x", "y"]}),
        r#"{ "a": String }"#,
    );
    check(&json!({"enum": ["x", "y"]}), r#"{ "a": String }"#);
    check(&json!({"enum": [1, 2]}), r#"{ "a": Long }"#);
    check(&json!({"const": true}), r#"{ "a": Bool }"#);
}

#[test]
fn lists_and_objects() {
    let list = json!({"type": "array", "items": {"type": "string"}});
    check(&list, r#"{ "a": Set<String> }"#);
    check(
        &json!({"items": {"type": "number"}}),
        r#"{ "a": Set<decimal> }"#,
    );
    check(
        &json!({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        r#"{ "a": Set<Set<Long>> }"#,
    );
    check(
        &json!({"type": "object", "properties": {"force": {"type": "boolean"}, "n": {"type": "integer"}}, "required": ["n"]}),
        r#"{ "a": { "force"?: Bool, "n": Long } }"#,
    );
    check(
        &json!({"type": "object", "additionalProperties": false}),
        r#"{ "a": {} }"#,
    );
    check(
        &json!({"type": "array", "items": {"type": "object", "properties": {"path": {"type": "string"}}}}),
        r#"{ "a": Set<{ "path"?: String }> }"#,
    );
}

#[test]
fn what_may_be_null_may_be_absent() {
    check(&json!({"type": ["string", "null"]}), r#"{ "a"?: String }"#);
    check(
        &json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null}),
        r#"{ "a"?: Long }"#,
    );
    check(&json!({"enum": ["x", null]}), r#"{ "a"?: String }"#);
    check(
        &json!({"type": "string", "nullable": true}),
        r#"{ "a"?: String }"#,
    );
}

#[test]
fn what_has_no_type_is_left_out() {
    let left_out = |of_a: &Json, why: &str| check(of_a, &format!("{{}}; a: {why}"));
    left_out(&json!({}), "it may be anything");
    left_out(&json!(true), "it may be anything");
    left_out(
        &json!({"type": ["string", "integer"]}),
        "it may be of several types",
    );
    left_out(
        &json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        "it may be of several types",
    );
    left_out(&json!({"enum": ["x", 1]}), "it may be of several types");
    left_out(&json!({"type": "null"}), "it is always null");
    left_out(&json!({"type": "array"}), "its items may be anything");
    left_out(
        &json!({"type": "array", "items": true}),
        "of its items: it may be anything",
    );
    left_out(
        &json!({"type": "array", "prefixItems": [{"type": "string"}]}),
        "each of its items is of a type of its own",
    );
    left_out(
        &json!({"type": "array", "items": {"type": ["string", "null"]}}),
        "its items may be null",
    );
    left_out(
        &json!({"type": "object"}),
        "the names of its members are not known",
    );
    left_out(
        &json!({"type": "object", "additionalProperties": {"type": "string"}}),
        "the names of its members are not known",
    );
    left_out(
        &json!({"allOf": [{}, {}]}),
        "it has to fit several schemas at once",
    );
    left_out(
        &json!({"$ref": "https://example.test/s.json"}),
        "it refers to another document",
    );
    left_out(
        &json!({"$ref": "#/$defs/gone"}),
        "it refers to what the schema does not hold",
    );
    left_out(&json!({"$ref": "#"}), "it refers to itself");
    left_out(
        &json!({"$ref": "#/properties/a", "type": "string"}),
        "its reference has other rules beside it",
    );
    left_out(
        &json!({"$dynamicRef": "#x"}),
        "its reference is only known with the value",
    );
    left_out(&json!({"type": "text"}), "its type is none that JSON has");
}

#[test]
fn several_of_one_type_are_that_type() {
    check(
        &json!({"oneOf": [{"const": "x"}, {"type": "string"}]}),
        r#"{ "a": String }"#,
    );
    check(
        &json!({"anyOf": [{"type": "integer"}, {"type": "number"}]}),
        r#"{ "a": decimal }"#,
    );
    check(
        &json!({"allOf": [{"type": "string"}]}),
        r#"{ "a": String }"#,
    );
    check(
        &json!({"type": "string", "anyOf": [{"minLength": 1}]}),
        r#"{ "a": String }"#,
    );
}

#[test]
fn references_are_followed_and_recursion_is_cut() {
    let schema = json!({
        "type": "object",
        "properties": {
            "to": {"$ref": "#/$defs/Place", "description": "where"},
            "tree": {"$ref": "#/definitions/Node"},
        },
        "$defs": {"Place": {"type": "string"}},
        "definitions": {"Node": {"type": "object", "properties": {
            "name": {"type": "string"},
            "next": {"$ref": "#/definitions/Node"},
            "below": {"type": "array", "items": {"$ref": "#/definitions/Node"}},
        }}},
    });
    whole(
        &schema,
        Ok("{ \"to\"?: String, \"tree\"?: { \"name\"?: String } }; \
            tree.below: of its items: it refers to itself; tree.next: it refers to itself"),
    );
}

#[test]
fn whole_schemas() {
    whole(&json!({"type": "object"}), Ok("{}"));
    whole(&json!({"type": "object", "properties": {}}), Ok("{}"));
    whole(
        &json!({"type": "object", "properties": {"never": false, "any": true}, "required": ["gone"]}),
        Ok("{}; any: it may be anything; gone: it may be anything"),
    );
    whole(
        &json!({"type": "object", "properties": {"a b": {"type": "string"}, "if": {"type": "boolean"}, "q\"\u{fc}": {"type": "integer"}}}),
        Ok("{ \"a b\"?: String, \"if\"?: Bool, \"q\\\"\u{fc}\"?: Long }"),
    );
    whole(
        &json!({"$ref": "#/$defs/In", "$defs": {"In": {"type": "object", "properties": {"x": {"type": "string"}}}}}),
        Ok(r#"{ "x"?: String }"#),
    );
    whole(
        &json!({"type": "object", "anyOf": [{"properties": {"x": {"type": "string"}}}]}),
        Err("its arguments cannot be typed: the names of its members are not known"),
    );
    whole(
        &json!({"type": "string"}),
        Err("its input schema is not that of an object"),
    );
    whole(
        &json!(true),
        Err("its arguments cannot be typed: it may be anything"),
    );
}

/// However a schema is made, reading it ends, and soon.
#[test]
fn schemas_cannot_blow_up() {
    let mut deep = json!({"type": "string"});
    for _ in 0..30 {
        deep = json!({"type": "array", "items": deep});
    }
    let said = read(&json!({"type": "object", "properties": {"a": deep}})).unwrap();
    assert!(
        said.ends_with("it is nested deeper than 8 levels"),
        "{said}"
    );
    // Each definition names the next one ten times.
    let mut defs = Map::new();
    for level in 0..30 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        let ten: Map<String, Json> = (0..10).map(|at| (at.to_string(), next.clone())).collect();
        let of = json!({"type": "object", "properties": ten});
        defs.insert(format!("d{level}"), of);
    }
    let bomb =
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    let said = read(&bomb).unwrap();
    assert!(said.contains("more than 1000 parts"), "{}", said.len());
}
