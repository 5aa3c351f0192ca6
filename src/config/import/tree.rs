//! A client's file as one value, with the places at which a key stands twice: two readers of such a
//! file may see two servers.

use jsonc_parser::ast::Value as Json;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions};
use serde_json::{Map, Number, Value};

use crate::clean;

use super::super::fields::SYNTAX;

/// The largest file of a client: some keep their history beside the servers.
pub(crate) const CLIENT_FILE_MAX: usize = 32 << 20;

/// Deeper files are not read.
const DEPTH_MAX: usize = 128;

/// What stands in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tree {
    pub(super) root: Value,
    /// Paths to objects in which a key stands twice, the key last.
    pub(super) twice: Vec<Vec<String>>,
}

impl Tree {
    /// Whether a key stands twice at or below this path, or on the way to it.
    pub(super) fn is_doubtful(&self, path: &[&str]) -> bool {
        self.twice.iter().any(|twice| {
            let mut pairs = twice.iter().zip(path);
            pairs.all(|(key, part)| key == part)
        })
    }
}

/// Reads JSON with comments and trailing commas. `Err` says where and why, without the text.
pub(super) fn of_json(text: &str) -> Result<Tree, String> {
    let collect = CollectOptions {
        comments: CommentCollectionStrategy::Off,
        tokens: false,
    };
    let syntax: ParseOptions = SYNTAX;
    let parsed = jsonc_parser::parse_to_ast(text, &collect, &syntax).map_err(|error| {
        let (line, column) = (error.line_display(), error.column_display());
        format!("line {line}, column {column}: not JSON: {}", error.kind())
    })?;
    let mut tree = Tree::default();
    if let Some(value) = &parsed.value {
        let mut path = Vec::new();
        tree.root = json_value(value, &mut path, &mut tree.twice)?;
    }
    Ok(tree)
}

fn json_value(
    value: &Json<'_>,
    path: &mut Vec<String>,
    twice: &mut Vec<Vec<String>>,
) -> Result<Value, String> {
    if path.len() > DEPTH_MAX {
        return Err(format!("is nested more than {DEPTH_MAX} deep"));
    }
    Ok(match value {
        Json::NullKeyword(_) => Value::Null,
        Json::BooleanLit(flag) => Value::Bool(flag.value),
        Json::NumberLit(number) => number
            .value
            .parse::<Number>()
            .map_or(Value::Null, Value::Number),
        Json::StringLit(text) => Value::String(text.value.to_string()),
        Json::Array(array) => {
            let mut items = Vec::new();
            for (at, item) in array.elements.iter().enumerate() {
                path.push(at.to_string());
                items.push(json_value(item, path, twice)?);
                path.pop();
            }
            Value::Array(items)
        }
        Json::Object(object) => {
            let mut members = Map::new();
            for property in &object.properties {
                path.push(property.name.as_str().to_owned());
                let value = json_value(&property.value, path, twice)?;
                if members
                    .insert(property.name.as_str().to_owned(), value)
                    .is_some()
                {
                    twice.push(path.clone());
                }
                path.pop();
            }
            Value::Object(members)
        }
    })
}

/// Reads TOML, which has no key twice.
pub(super) fn of_toml(text: &str) -> Result<Tree, String> {
    let table: toml_edit::DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text.get(..at).unwrap_or(text).matches('\n').count() + 1;
        let why = error.message().lines().next().unwrap_or_default();
        format!("line {line}: not TOML: {}", clean::line(why, 200))
    })?;
    Ok(Tree {
        root: toml_table(table.as_table()),
        twice: Vec::new(),
    })
}

fn toml_table(table: &dyn toml_edit::TableLike) -> Value {
    let members = table.iter();
    Value::Object(
        members
            .map(|(key, item)| (key.to_owned(), toml_item(item)))
            .collect(),
    )
}

fn toml_item(item: &toml_edit::Item) -> Value {
    if let Some(value) = item.as_value() {
        return toml_value(value);
    }
    if let Some(tables) = item.as_array_of_tables() {
        return Value::Array(tables.iter().map(|table| toml_table(table)).collect());
    }
    item.as_table_like().map_or(Value::Null, toml_table)
}

fn toml_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => {
            Number::from_f64(*number.value()).map_or(Value::Null, Value::Number)
        }
        toml_edit::Value::Boolean(flag) => Value::Bool(*flag.value()),
        toml_edit::Value::Datetime(time) => Value::String(time.value().to_string()),
        toml_edit::Value::Array(items) => Value::Array(items.iter().map(toml_value).collect()),
        toml_edit::Value::InlineTable(table) => toml_table(table),
    }
}
