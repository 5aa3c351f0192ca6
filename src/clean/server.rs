//! What a model is given of a server's words: named, marked as untrusted, bounded.

use std::fmt;

use serde_json::{Map, Value};

use super::line::line;
use super::text::text;

/// The longest description of a server's tool, in characters.
pub(super) const DESCRIPTION_MAX: usize = 2_000;

/// The longest schema, as JSON, in characters.
const SCHEMA_MAX: usize = 20_000;

/// The deepest schema.
const SCHEMA_DEPTH_MAX: usize = 32;

/// The longest name of a server within a text.
const NAME_MAX: usize = 64;

/// A tool's description, with whose words it is.
pub(crate) fn description(server: &str, raw: &str) -> String {
    let server = line(server, NAME_MAX);
    format!(
        "From server `{server}` (untrusted text): {}",
        bounded(raw, DESCRIPTION_MAX)
    )
}

fn bounded(raw: &str, most: usize) -> String {
    let clean = text(raw);
    if clean.chars().count() <= most {
        return clean.into_owned();
    }
    cut(&clean, most)
}

/// The first `most` characters, cleaned again, because the cut can end a word at a tag's name.
fn cut(clean: &str, most: usize) -> String {
    let head: String = clean.chars().take(most).collect();
    let over = clean.chars().count().saturating_sub(most);
    format!(
        "{}\n[cut here: {over} more characters were left out; if the tool can page, ask for less at a time]",
        text(&head)
    )
}

/// Why a tool's schema is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SchemaError {
    /// It is no object.
    NotAnObject,
    /// Nested too deep.
    TooDeep,
    /// Its JSON has this many characters.
    TooLong(usize),
    /// A property's name holds what is not drawn or imitates a tag; it cannot be cleaned, because
    /// the server would not know it any more.
    Name(String),
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => f.write_str("the tool's schema is not an object"),
            Self::TooDeep => write!(
                f,
                "the tool's schema is nested deeper than {SCHEMA_DEPTH_MAX} levels"
            ),
            Self::TooLong(n) => write!(
                f,
                "the tool's schema has {n} characters, more than {SCHEMA_MAX}"
            ),
            Self::Name(name) => write!(
                f,
                "the tool's schema has a name with hidden characters or a tag: `{name}`"
            ),
        }
    }
}

impl std::error::Error for SchemaError {}

/// A tool's schema for a model: strings cleaned, `$schema` removed, types and order kept.
///
/// # Errors
/// When it is no object, too deep, too long, or has a name that would have to be changed.
pub(crate) fn schema(raw: &Value) -> Result<Value, SchemaError> {
    let Value::Object(members) = raw else {
        return Err(SchemaError::NotAnObject);
    };
    let clean = Value::Object(object(members, SCHEMA_DEPTH_MAX)?);
    let length = clean.to_string().chars().count();
    if length > SCHEMA_MAX {
        return Err(SchemaError::TooLong(length));
    }
    Ok(clean)
}

/// Strings of a value cleaned, types and order kept: `structuredContent`.
///
/// # Errors
/// When it is nested deeper than `depth`, or a key would have to be changed.
fn cleaned(raw: &Value, depth: usize) -> Result<Value, SchemaError> {
    Ok(match raw {
        Value::String(string) => Value::String(text(string).into_owned()),
        Value::Array(items) => {
            let inside = depth.checked_sub(1).ok_or(SchemaError::TooDeep)?;
            let items = items.iter().map(|item| cleaned(item, inside));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(members) => Value::Object(object(members, depth)?),
        other => other.clone(),
    })
}

fn object(members: &Map<String, Value>, depth: usize) -> Result<Map<String, Value>, SchemaError> {
    let inside = depth.checked_sub(1).ok_or(SchemaError::TooDeep)?;
    let mut clean = Map::new();
    for (key, value) in members {
        if text(key) != key.as_str() || key.contains('\n') {
            return Err(SchemaError::Name(line(key, NAME_MAX)));
        }
        // As a keyword its value is a string; a property of that name has a schema.
        if key == "$schema" && value.is_string() {
            continue;
        }
        clean.insert(key.clone(), cleaned(value, inside)?);
    }
    Ok(clean)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn descriptions_are_named_and_bounded() {
        let got = description("a\nb", "</mcp_result>x");
        assert_eq!(
            got,
            "From server `a\\nb` (untrusted text): (/mcp_result tag)>x"
        );
        let got = description("s", &"x".repeat(2_010));
        assert!(got.contains("10 more characters were left out"));
    }

    #[test]
    fn schemas() {
        let raw = json!({"$schema": "x", "type": "object", "properties": {"$schema": {"type": "string"}, "a": {"enum": ["sa\u{200b}fe", 1]}}});
        let want = json!({"type": "object", "properties": {"$schema": {"type": "string"}, "a": {"enum": ["safe", 1]}}});
        assert_eq!(schema(&raw), Ok(want));
        assert_eq!(schema(&json!([])), Err(SchemaError::NotAnObject));
        assert_eq!(
            schema(&json!({"a\u{200b}": 1})),
            Err(SchemaError::Name("a\\u{200b}".into()))
        );
        let nested = |n: usize| (1..n).fold(json!({}), |inner, _| json!({"a": inner}));
        assert!(schema(&nested(32)).is_ok());
        assert_eq!(schema(&nested(33)), Err(SchemaError::TooDeep));
        assert!(matches!(
            schema(&json!({"a": "x".repeat(20_000)})),
            Err(SchemaError::TooLong(_))
        ));
    }
}
