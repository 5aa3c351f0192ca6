//! The schema of a form: a flat object of texts, numbers, truths and choices, as the protocol has it.
//! Names and values go back to the server as they are, so what cannot be shown as it is is refused;
//! titles and descriptions are cleaned.

use crate::clean;
use crate::protocol::json::{Json, Object};

use super::refused::Refused;

/// The longest schema, as JSON, in bytes.
const BYTES_MAX: usize = 32 * 1024;
/// The most fields, and the most values of one choice.
const FIELDS_MAX: usize = 64;
const CHOICES_MAX: usize = 256;
/// The longest name, title and description, in characters.
const NAME_MAX: usize = 128;
const TITLE_MAX: usize = 200;
const DESCRIPTION_MAX: usize = 1_000;

/// Keywords that would make a form more than flat.
const NESTED: &[&str] = &[
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "$defs",
    "definitions",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "propertyNames",
    "prefixItems",
    "contains",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "unevaluatedItems",
];

/// Checks a schema, and cleans what is only shown.
pub(super) fn flat(mut schema: Object) -> Result<Object, Refused> {
    let size = Json::Object(schema.clone()).to_string().len();
    if size > BYTES_MAX {
        return refuse(format!(
            "the form's schema has {size} bytes, at most {BYTES_MAX}"
        ));
    }
    if schema.get("type").and_then(Json::as_str) != Some("object") {
        return refuse("the form's schema must have the type `object`");
    }
    not_nested("the form", &schema, &["anyOf", "oneOf", "items"])?;
    let Some(Json::Object(properties)) = schema.get_mut("properties") else {
        return refuse("the form's schema must have `properties`, an object");
    };
    let count = properties.iter().len();
    if count == 0 || count > FIELDS_MAX {
        return refuse(format!(
            "a form has 1 to {FIELDS_MAX} fields, this has {count}"
        ));
    }
    for (name, property) in properties.iter_mut() {
        shown_as_it_is("a field's name", name, NAME_MAX)?;
        let Json::Object(property) = property else {
            return refuse(format!("the field `{name}` must be an object"));
        };
        field(name, property)?;
    }
    let known: Vec<String> = properties.iter().map(|(name, _)| name.to_owned()).collect();
    match schema.get("required") {
        None => {}
        Some(Json::Array(names)) => {
            let is_known =
                |name: &Json| name.as_str().is_some_and(|n| known.iter().any(|k| k == n));
            if !names.iter().all(is_known) {
                return refuse("the form requires a field that it does not have");
            }
        }
        Some(_) => return refuse("`required` must be a list of names"),
    }
    words(&mut schema);
    Ok(schema)
}

fn field(name: &str, field: &mut Object) -> Result<(), Refused> {
    let owner = format!("the field `{name}`");
    let kind = field.get("type").and_then(Json::as_str).map(str::to_owned);
    match kind.as_deref() {
        Some("string" | "number" | "integer" | "boolean") => {
            not_nested(&owner, field, &["anyOf", "items", "properties"])?;
            choices(&owner, field)?;
        }
        Some("array") => {
            not_nested(&owner, field, &["anyOf", "oneOf", "properties"])?;
            let Some(Json::Object(items)) = field.get_mut("items") else {
                return refuse(format!("{owner} must say its `items`"));
            };
            not_nested(&owner, items, &["items", "properties"])?;
            let has_choices = ["enum", "anyOf", "oneOf"]
                .iter()
                .any(|k| items.get(k).is_some());
            if !has_choices {
                return refuse(format!("{owner} must list what may be chosen"));
            }
            choices(&owner, items)?;
            words(items);
        }
        _ => {
            return refuse(format!(
                "{owner} must be a string, number, integer, boolean or a list of choices"
            ));
        }
    }
    if let Some(default) = field.get("default") {
        each_text(default, &mut |text| match clean::text(text) == text {
            true => Ok(()),
            false => refuse(format!("the default of {owner} holds what cannot be shown")),
        })?;
    }
    words(field);
    Ok(())
}

/// Values that may be chosen, with their titles.
fn choices(owner: &str, schema: &mut Object) -> Result<(), Refused> {
    for keyword in ["enum", "oneOf", "anyOf"] {
        let values = match schema.get_mut(keyword) {
            None => continue,
            Some(Json::Array(values)) => values,
            Some(_) => return refuse(format!("`{keyword}` of {owner} must be a list")),
        };
        if values.is_empty() || values.len() > CHOICES_MAX {
            return refuse(format!("{owner} has 1 to {CHOICES_MAX} choices"));
        }
        for value in values {
            match keyword {
                "enum" => value_as_it_is(owner, value)?,
                _ => titled(owner, value)?,
            }
        }
    }
    Ok(())
}

fn titled(owner: &str, choice: &mut Json) -> Result<(), Refused> {
    let Json::Object(choice) = choice else {
        return refuse(format!("a choice of {owner} must be an object"));
    };
    let Some(constant) = choice.get("const") else {
        return refuse(format!("a choice of {owner} has no `const`"));
    };
    value_as_it_is(owner, constant)?;
    words(choice);
    Ok(())
}

fn value_as_it_is(owner: &str, value: &Json) -> Result<(), Refused> {
    match value {
        Json::String(text) => {
            shown_as_it_is(&format!("a choice of {owner}"), text, DESCRIPTION_MAX)
        }
        Json::Number(_) | Json::Bool(_) => Ok(()),
        Json::Null | Json::Array(_) | Json::Object(_) => refuse(format!(
            "a choice of {owner} must be a text, a number or a truth"
        )),
    }
}

/// What goes back to the server must be what the person saw.
fn shown_as_it_is(what: &str, text: &str, most: usize) -> Result<(), Refused> {
    if clean::line(text, most) == text {
        return Ok(());
    }
    let shown = clean::line(text, most.min(80));
    refuse(format!(
        "{what} is too long or holds what cannot be shown: `{shown}`"
    ))
}

fn not_nested(owner: &str, schema: &Object, more: &[&str]) -> Result<(), Refused> {
    let found = NESTED
        .iter()
        .chain(more)
        .find(|keyword| schema.get(keyword).is_some());
    match found {
        Some(keyword) => refuse(format!("{owner} has `{keyword}`, and forms are flat")),
        None => Ok(()),
    }
}

/// Cleans what is shown and never goes back.
fn words(schema: &mut Object) {
    for (key, most) in [("title", TITLE_MAX), ("description", DESCRIPTION_MAX)] {
        if let Some(value) = schema.get_mut(key) {
            *value = Json::String(clean::line(value.as_str().unwrap_or_default(), most));
        }
    }
    if let Some(Json::Array(names)) = schema.get_mut("enumNames") {
        for name in names {
            *name = Json::String(clean::line(name.as_str().unwrap_or_default(), TITLE_MAX));
        }
    }
}

fn each_text(
    value: &Json,
    check: &mut impl FnMut(&str) -> Result<(), Refused>,
) -> Result<(), Refused> {
    match value {
        Json::String(text) => check(text),
        Json::Array(items) => items.iter().try_for_each(|item| each_text(item, check)),
        Json::Object(_) => refuse("a default must be a text, a number, a truth or a list of them"),
        Json::Null | Json::Bool(_) | Json::Number(_) => Ok(()),
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::new(why))
}
