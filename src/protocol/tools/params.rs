//! Arguments that stand in the fields of an HTTP request as well (2026-07-28, SEP-2243): those whose schema
//! has `x-mcp-header`.

use crate::protocol::json::{Json, Object};

/// The keyword of a schema that names the field.
const KEYWORD: &str = "x-mcp-header";

/// Most fields of one tool, and the deepest argument.
const FIELDS_MAX: usize = 64;
const DEPTH_MAX: usize = 16;

/// One argument of a tool that stands in a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParamField {
    /// The field's name behind `Mcp-Param-`, as the schema has it.
    pub(crate) name: String,
    path: Vec<String>,
}

impl ParamField {
    /// The value of the field for these arguments: text, whole numbers and truth values as they are.
    /// `None` where the argument is missing, null, or of another kind than its schema says.
    #[cfg_attr(
        not(any(feature = "http", test)),
        expect(dead_code, reason = "only requests over HTTP have fields")
    )]
    pub(crate) fn value(&self, arguments: &Json) -> Option<String> {
        let mut at = arguments;
        for step in &self.path {
            at = at.get(step)?;
        }
        match at {
            Json::String(text) => Some(text.clone()),
            Json::Bool(truth) => Some(truth.to_string()),
            Json::Number(number) => Some(number.text().into_owned()),
            _ => None,
        }
    }
}

/// The arguments of a tool that stand in fields.
///
/// # Errors
/// Why the schema's marks are not as MCP wants them: then clients over HTTP leave the tool out.
pub(crate) fn param_fields(schema: &Json) -> Result<Vec<ParamField>, String> {
    let mut found = Vec::new();
    let mut path = Vec::new();
    if let Some(schema) = schema.as_object() {
        walk(schema, &mut path, &mut found)?;
    }
    Ok(found)
}

fn walk(
    schema: &Object,
    path: &mut Vec<String>,
    found: &mut Vec<ParamField>,
) -> Result<(), String> {
    let Some(Json::Object(properties)) = schema.get("properties") else {
        return Ok(());
    };
    for (key, property) in properties.iter() {
        let Some(property) = property.as_object() else {
            continue;
        };
        path.push(key.to_owned());
        if let Some(mark) = property.get(KEYWORD) {
            let name = field_name(mark, property)?;
            if found
                .iter()
                .any(|other| other.name.eq_ignore_ascii_case(&name))
            {
                return Err(format!("two arguments have the same `{KEYWORD}`"));
            }
            let path = path.clone();
            found.push(ParamField { name, path });
        }
        if found.len() > FIELDS_MAX || path.len() > DEPTH_MAX {
            return Err(format!("it has too many arguments with `{KEYWORD}`"));
        }
        walk(property, path, found)?;
        path.pop();
    }
    Ok(())
}

fn field_name(mark: &Json, property: &Object) -> Result<String, String> {
    let name = mark.as_str().unwrap_or_default();
    // RFC 9110, 5.6.2: `tchar`.
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(format!("an `{KEYWORD}` is no name of a field"));
    }
    match property.get("type").and_then(Json::as_str) {
        Some("string" | "integer" | "boolean") => Ok(name.to_owned()),
        _ => Err(format!(
            "an argument with `{KEYWORD}` is no text, whole number or truth value"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::read;

    fn json(text: &str) -> Json {
        read(text.as_bytes()).unwrap().json
    }

    fn check(properties: &str, arguments: &str, want: Result<&[(&str, &str)], &str>) {
        let schema = json(&format!(r#"{{"type":"object","properties":{properties}}}"#));
        let arguments = json(arguments);
        let got = param_fields(&schema).map(|fields| {
            let value = |field: ParamField| Some((field.name.clone(), field.value(&arguments)?));
            fields.into_iter().filter_map(value).collect::<Vec<_>>()
        });
        match (got, want) {
            (Ok(got), Ok(want)) => {
                let got: Vec<_> = got.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
                assert_eq!(got, want, "{properties} {arguments:?}");
            }
            (Err(got), Err(want)) => assert!(got.contains(want), "{got}"),
            (got, want) => panic!("{properties}: {got:?}, not {want:?}"),
        }
    }

    #[test]
    fn marked_arguments_stand_in_fields() {
        let all = r#"{"r":{"type":"string","x-mcp-header":"Region"},
            "in":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
            "b":{"type":"boolean","x-mcp-header":"B"},"plain":{"type":"string"}}"#;
        let full = r#"{"r":"a b","in":{"n":-7},"b":false,"plain":"x"}"#;
        check(
            all,
            full,
            Ok(&[("Region", "a b"), ("N", "-7"), ("B", "false")]),
        );
        check(all, r#"{"r":"","b":null}"#, Ok(&[("Region", "")]));
        check(all, r#"{"r":["x"],"in":3}"#, Ok(&[]));
        check(
            r#"{"a":true,"b":{"items":{"x-mcp-header":"X"}}}"#,
            "{}",
            Ok(&[]),
        );
    }

    #[test]
    fn bad_marks_are_told() {
        for mark in [
            r#""""#,
            "3",
            r#""a b""#,
            r#""a:b""#,
            r#""é""#,
            r#""a\u0007""#,
        ] {
            let one = format!(r#"{{"a":{{"type":"string","x-mcp-header":{mark}}}}}"#);
            check(&one, "{}", Err("no name of a field"));
        }
        for kind in [
            r#""number""#,
            r#""object""#,
            r#""array""#,
            r#""null""#,
            r#"["string"]"#,
        ] {
            let one = format!(r#"{{"a":{{"type":{kind},"x-mcp-header":"A"}}}}"#);
            check(&one, "{}", Err("no text"));
        }
        let two = r#"{"a":{"type":"string","x-mcp-header":"Id"},
            "b":{"type":"object","properties":{"c":{"type":"string","x-mcp-header":"ID"}}}}"#;
        check(two, "{}", Err("same"));
        let deep = format!(
            "{}{{}}{}",
            r#"{"a":{"properties":"#.repeat(30),
            "}}".repeat(30)
        );
        check(&deep, "{}", Err("too many"));
    }
}
