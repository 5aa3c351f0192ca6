//! Typed reading of a JSONC file: every value knows where it stands, keys are unique, and a fault
//! names its field.

use std::path::Path;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions};

use crate::clean;

use super::problem::{ConfigProblem, NAME_MAX, Origin, nearest};

/// The largest configuration file, in bytes.
pub(crate) const FILE_MAX: usize = 1 << 20;

/// Comments and trailing commas and nothing else beyond JSON.
pub(crate) const SYNTAX: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A file that is read.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    file: &'a Path,
    text: &'a str,
    /// Byte offsets at which lines start.
    lines: Vec<usize>,
}

/// A value with the way to it.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    /// `mcpServers.b.env.KEY`, cleaned.
    pub(super) path: String,
    pub(super) value: &'a Value<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a Path, text: &'a str) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            file,
            text,
            lines: std::iter::once(0).chain(starts).collect(),
        }
    }

    /// The file's one value; `None` when nothing but comments stands in it.
    pub(super) fn parse(&self) -> Result<Option<Value<'a>>, ConfigProblem> {
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::Off,
            tokens: false,
        };
        let parsed = jsonc_parser::parse_to_ast(self.text, &collect, &SYNTAX);
        parsed
            .map(|parsed| parsed.value)
            .map_err(|error| ConfigProblem {
                origin: self.origin(error.range().start),
                server: None,
                field: String::new(),
                reason: format!("not JSON: {}", error.kind())
                    .to_lowercase()
                    .replace("json:", "JSON:"),
                help: "nothing of this file is used".into(),
                missing: None,
            })
    }

    /// A problem at a value.
    pub(super) fn problem(&self, field: &Field<'_>, reason: impl Into<String>) -> ConfigProblem {
        self.problem_at(field.value.range().start, &field.path, reason)
    }

    /// A problem at a byte offset.
    pub(super) fn problem_at(
        &self,
        at: usize,
        path: &str,
        reason: impl Into<String>,
    ) -> ConfigProblem {
        ConfigProblem {
            origin: self.origin(at),
            server: None,
            field: path.to_owned(),
            reason: reason.into(),
            help: Box::default(),
            missing: None,
        }
    }

    /// Where a byte offset lies.
    pub(super) fn origin(&self, at: usize) -> Origin {
        let line = self.lines.partition_point(|start| *start <= at);
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.text.get(start..at).unwrap_or_default();
        Origin {
            file: self.file.into(),
            line,
            column: before.chars().count() + 1,
        }
    }

    /// The members of an object. Keys are compared as they are read, so `"\u0061"` is `"a"`.
    pub(super) fn members(&self, field: &Field<'a>) -> Result<Vec<Member<'a>>, ConfigProblem> {
        let Value::Object(object) = field.value else {
            return Err(self.problem(
                field,
                format!("must be an object, not {}", kind(field.value)),
            ));
        };
        self.members_of(object, &field.path)
    }

    /// The members of an object; a key that stands twice is an error.
    fn members_of(
        &self,
        object: &'a Object<'a>,
        path: &str,
    ) -> Result<Vec<Member<'a>>, ConfigProblem> {
        let members: Vec<Member<'a>> = self.all_members(object, path);
        let mut seen = std::collections::HashSet::new();
        match members.iter().find(|member| !seen.insert(member.key)) {
            Some(twice) => Err(self.problem_at(twice.at, &twice.field.path, "stands twice")),
            None => Ok(members),
        }
    }

    /// The members of an object, also those whose key stands twice.
    pub(super) fn all_members(&self, object: &'a Object<'a>, path: &str) -> Vec<Member<'a>> {
        let member = |property: &'a ObjectProp<'a>| Member {
            key: property.name.as_str(),
            at: property.range.start,
            field: Field {
                path: join(path, property.name.as_str()),
                value: &property.value,
            },
        };
        object.properties.iter().map(member).collect()
    }

    /// A text.
    pub(super) fn text(&self, field: &Field<'a>) -> Result<&'a str, ConfigProblem> {
        let Value::StringLit(text) = field.value else {
            return Err(self.problem(field, format!("must be a text, not {}", kind(field.value))));
        };
        if text.value.contains('\0') {
            return Err(self.problem(field, "holds a zero character, which no program can get"));
        }
        Ok(&text.value)
    }

    /// A list, each item with its own path.
    pub(super) fn list(&self, field: &Field<'a>) -> Result<Vec<Field<'a>>, ConfigProblem> {
        let Value::Array(array) = field.value else {
            return Err(self.problem(field, format!("must be a list, not {}", kind(field.value))));
        };
        let item = |(at, value)| Field {
            path: format!("{}[{at}]", field.path),
            value,
        };
        Ok(array.elements.iter().enumerate().map(item).collect())
    }

    /// True or false.
    pub(super) fn flag(&self, field: &Field<'a>) -> Result<bool, ConfigProblem> {
        let Value::BooleanLit(flag) = field.value else {
            let reason = format!("must be true or false, not {}", kind(field.value));
            return Err(self.problem(field, reason));
        };
        Ok(flag.value)
    }

    /// A time in whole milliseconds, from 1 ms to a day.
    pub(super) fn milliseconds(&self, field: &Field<'a>) -> Result<u64, ConfigProblem> {
        self.whole(field, "milliseconds", 86_400_000)
    }

    /// A time in whole days, from a day to ten years.
    pub(super) fn days(&self, field: &Field<'a>) -> Result<u64, ConfigProblem> {
        self.whole(field, "days", 3_650)
    }

    /// A whole number of something, from 1 to `max`.
    pub(super) fn whole(
        &self,
        field: &Field<'a>,
        unit: &str,
        max: u64,
    ) -> Result<u64, ConfigProblem> {
        let number = match field.value {
            Value::NumberLit(number) => number.value.parse::<u64>().ok(),
            _ => None,
        };
        number
            .filter(|count| (1..=max).contains(count))
            .ok_or_else(|| self.problem(field, format!("must be whole {unit} from 1 to {max}")))
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(
        &self,
        field: &Field<'a>,
        known: &[(&'static str, T)],
    ) -> Result<T, ConfigProblem> {
        let text = self.text(field)?;
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let found = known.iter().find(|(name, _)| *name == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let given = clean::line(text, NAME_MAX);
            self.problem(
                field,
                format!("is `{given}`, and can be {}", names.join(", ")),
            )
        })
    }

    /// A key that is not known, with the nearest one that is.
    pub(super) fn unknown(&self, member: &Member<'_>, known: &[&str]) -> ConfigProblem {
        let problem = self.problem_at(member.at, &member.field.path, "is not a known key");
        match nearest(member.key, known) {
            Some(name) => problem.with_help(format!("did you mean `{name}`?")),
            None => problem.with_help(format!("known keys: {}", known.join(", "))),
        }
    }
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    pub(super) key: &'a str,
    /// The byte offset of the key.
    pub(super) at: usize,
    pub(super) field: Field<'a>,
}

/// A path and one key more.
pub(super) fn join(path: &str, key: &str) -> String {
    let key = clean::line(key, NAME_MAX);
    if path.is_empty() {
        return key;
    }
    format!("{path}.{key}")
}

fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a text",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "true or false",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "null",
    }
}
