//! How much work a validation would be, found out by walking schema and value together before the
//! validator may start. A schema of a few hundred bytes can ask for 2^100 steps or for endless
//! recursion; the walk costs its budget at most and uses no stack.

use serde_json::{Map, Value};

use crate::clean;
/// Whether every reference can be followed inside the schema itself.
///
/// # Errors
/// The reason why not.
pub(super) fn followable(schema: &Value) -> Result<(), String> {
    let mut waiting = vec![schema];
    while let Some(value) = waiting.pop() {
        if let Value::Object(members) = value {
            members_followable(schema, members)?;
            let own_base = members.get("$id").is_some_and(Value::is_string);
            if own_base && !std::ptr::eq(schema, value) {
                return Err("its schema holds another schema with an `$id` of its own".to_owned());
            }
        }
        waiting.extend(parts(value));
    }
    Ok(())
}

fn members_followable(schema: &Value, members: &Map<String, Value>) -> Result<(), String> {
    for key in ["$dynamicRef", "$recursiveRef"] {
        if members.get(key).is_some_and(Value::is_string) {
            return Err(format!("its schema uses `{key}`, which is not followed"));
        }
    }
    match members.get("$ref").and_then(Value::as_str) {
        Some(target) if resolve(schema, target).is_none() => {
            let shown = clean::line(target, 120);
            Err(format!(
                "its schema refers to `{shown}`; only `#/…` inside the schema itself is followed, and nothing is fetched"
            ))
        }
        _ => Ok(()),
    }
}

/// Whether the validation of a value stays within bounds.
///
/// # Errors
/// The reason why not.
pub(super) fn bounded(schema: &Value, value: &Value) -> Result<(), &'static str> {
    let mut walk = Walk {
        root: schema,
        waiting: vec![Step {
            schema,
            value,
            depth: 0,
        }],
        left: STEPS_MAX,
    };
    while let Some(step) = walk.waiting.pop() {
        if walk.left == 0 {
            return Err("checking it would take too many steps");
        }
        if step.depth > DEPTH_MAX {
            return Err("checking it would go too deep");
        }
        walk.left -= 1;
        if let Value::Object(keywords) = step.schema {
            for _ in 0..rounds(keywords) {
                walk.keywords(keywords, step);
            }
        }
        if walk.waiting.len() > STEPS_MAX {
            return Err("checking it would take too many steps");
        }
    }
    Ok(())
}

/// To know what is left unevaluated, a validator goes through its neighbours again; nested, that
/// more than doubles the work at each level.
fn rounds(keywords: &Map<String, Value>) -> usize {
    let again = ["unevaluatedProperties", "unevaluatedItems"];
    if again.iter().any(|key| keywords.contains_key(*key)) {
        3
    } else {
        1
    }
}

struct Walk<'a> {
    root: &'a Value,
    waiting: Vec<Step<'a>>,
    left: usize,
}

#[derive(Clone, Copy)]
struct Step<'a> {
    schema: &'a Value,
    value: &'a Value,
    depth: usize,
}

impl<'a> Walk<'a> {
    /// Takes on all that these keywords may lead to, as if every condition held.
    fn keywords(&mut self, keywords: &'a Map<String, Value>, step: Step<'a>) {
        for (keyword, inner) in keywords {
            match keyword.as_str() {
                "$ref" => {
                    let target = inner.as_str().and_then(|t| resolve(self.root, t));
                    target
                        .into_iter()
                        .for_each(|t| self.add(t, step.value, step));
                }
                "not" | "if" | "then" | "else" => self.add(inner, step.value, step),
                "allOf" | "anyOf" | "oneOf" => self.each(inner, step.value, step),
                "dependentSchemas" | "dependencies" => self.each(inner, step.value, step),
                "properties" => self.properties(inner, step),
                "patternProperties" => parts(inner).for_each(|s| self.children(s, step)),
                "items" | "prefixItems" => {
                    self.children(inner, step);
                    elements(inner).for_each(|s| self.children(s, step));
                }
                "additionalProperties"
                | "unevaluatedProperties"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "propertyNames" => self.children(inner, step),
                _ => {}
            }
        }
    }

    fn add(&mut self, schema: &'a Value, value: &'a Value, from: Step<'a>) {
        self.waiting.push(Step {
            schema,
            value,
            depth: from.depth + 1,
        });
    }

    fn each(&mut self, schemas: &'a Value, value: &'a Value, from: Step<'a>) {
        for schema in parts(schemas) {
            self.add(schema, value, from);
        }
    }

    fn properties(&mut self, schemas: &'a Value, step: Step<'a>) {
        let (Value::Object(schemas), Value::Object(members)) = (schemas, step.value) else {
            return;
        };
        for (name, schema) in schemas {
            if let Some(child) = members.get(name) {
                self.add(schema, child, step);
            }
        }
    }

    fn children(&mut self, schema: &'a Value, step: Step<'a>) {
        // Beyond the budget there is no need to know how much.
        let room = STEPS_MAX.saturating_sub(self.waiting.len()) + 1;
        for child in parts(step.value).take(room) {
            self.add(schema, child, step);
        }
    }
}

/// The members' or elements' values.
fn parts(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Object(members) => Box::new(members.values()),
        Value::Array(elements) => Box::new(elements.iter()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Box::new(std::iter::empty())
        }
    }
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The part of a schema that a local reference names.
fn resolve<'a>(schema: &'a Value, target: &str) -> Option<&'a Value> {
    match target.strip_prefix('#')? {
        "" => Some(schema),
        pointer if pointer.starts_with('/') && !pointer.contains('%') => schema.pointer(pointer),
        _ => None,
    }
}

const STEPS_MAX: usize = 200_000;
const DEPTH_MAX: usize = 256;
