//! A compiled schema and its three answers.

use std::fmt;
use std::sync::Arc;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

use crate::clean;
use crate::protocol::json::Json;

use super::walk::bounded;

/// A schema, compiled once and shared by its clones; keep it beside the tool.
#[derive(Clone, Debug)]
pub(crate) struct Schema(Arc<Compiled>);

enum Compiled {
    Ready {
        schema: Value,
        validator: Box<Validator>,
    },
    Unusable(String),
}

/// Whether a value fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It fits.
    Fits,
    /// It does not; the first reason, with names of fields but never with values.
    Unfit(String),
    /// Nobody can say: the schema refers to other documents, does not compile, or would take too
    /// much work. As a fact of a call this counts as not valid, and the reason is told.
    Unknown(String),
}

impl Fit {
    /// The fact that policy sees.
    pub(crate) fn is_valid(&self) -> bool {
        *self == Self::Fits
    }
}

impl Schema {
    /// Compiles a schema. One that cannot be used answers `Unknown` to everything.
    pub(crate) fn compile(schema: &Json) -> Self {
        Self(Arc::new(compile(schema).unwrap_or_else(Compiled::Unusable)))
    }

    /// Checks a value.
    pub(crate) fn check(&self, json: &Json) -> Fit {
        let (schema, validator) = match &*self.0 {
            Compiled::Ready { schema, validator } => (schema, validator),
            Compiled::Unusable(why) => return Fit::Unknown(why.clone()),
        };
        let converted = json.to_value();
        if converted.inexact > 0 {
            let why = "it holds numbers that no machine word holds";
            return Fit::Unknown(why.to_owned());
        }
        if let Err(why) = bounded(schema, &converted.value) {
            return Fit::Unknown(why.to_owned());
        }
        match validator.validate(&converted.value) {
            Ok(()) => Fit::Fits,
            // Masked: values may be secrets, and reasons end in logs.
            Err(error) => {
                let path = error.instance_path().to_string();
                let place = if path.is_empty() {
                    "the value".to_owned()
                } else {
                    format!("`{path}`")
                };
                Fit::Unfit(one_line(&format!("{place}: {}", error.masked())))
            }
        }
    }
}

fn compile(schema: &Json) -> Result<Compiled, String> {
    let schema = schema.to_value();
    if schema.inexact > 0 {
        return Err("its schema holds numbers that no machine word holds".to_owned());
    }
    // A first walk finds references that cannot be followed, whatever the value.
    super::walk::followable(&schema.value)?;
    let patterns = PatternOptions::regex()
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES);
    let validator = jsonschema::options()
        .with_draft(draft(&schema.value))
        .with_pattern_options(patterns)
        .should_validate_formats(false)
        .offline()
        .build(&schema.value)
        .map_err(|error| one_line(&format!("its schema cannot be used: {error}")))?;
    Ok(Compiled::Ready {
        schema: schema.value,
        validator: Box::new(validator),
    })
}

/// The draft that a schema names, where it is a known one; else the protocol's own.
fn draft(schema: &Value) -> Draft {
    let named = schema.get("$schema").and_then(Value::as_str).unwrap_or("");
    match named.trim_end_matches('#') {
        "http://json-schema.org/draft-04/schema" => Draft::Draft4,
        "http://json-schema.org/draft-06/schema" => Draft::Draft6,
        "http://json-schema.org/draft-07/schema" => Draft::Draft7,
        "https://json-schema.org/draft/2019-09/schema" => Draft::Draft201909,
        _ => Draft::Draft202012,
    }
}

/// Text of strangers may stand in reasons.
fn one_line(text: &str) -> String {
    clean::line(text, REASON_CHARS)
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready { .. } => f.write_str("Ready"),
            Self::Unusable(why) => write!(f, "Unusable({why})"),
        }
    }
}

const PATTERN_BYTES: usize = 1024 * 1024;
const REASON_CHARS: usize = 300;
