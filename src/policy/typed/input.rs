//! The types of a tool's arguments: as the lock file keeps them, as Cedar's schema wants them, and as
//! people read them.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The arguments of a tool by name.
pub(crate) type Input = BTreeMap<String, InputField>;

/// One argument, or one member of an argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InputField {
    /// What it is.
    #[serde(flatten)]
    pub(crate) kind: InputKind,
    /// It need not be given.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) optional: bool,
    /// It may be `null`, which policies see as not given.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) nullable: bool,
}

/// What an argument is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub(crate) enum InputKind {
    /// A text; words of an enumeration too.
    String,
    /// A whole number.
    Long,
    /// A number with at most four decimals.
    Decimal,
    /// A truth value.
    Bool,
    /// A list, of which policies see neither order nor repetitions.
    Set {
        /// What each of its items is.
        element: Box<InputKind>,
    },
    /// An object.
    Record {
        /// Its members.
        attributes: Input,
    },
    /// It has no type in policies: it may be given, and `context.input` does not hold it.
    Omitted {
        /// Why not.
        why: String,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(truth: &bool) -> bool {
    !*truth
}

impl InputField {
    /// Whether policies have to look whether it is there.
    fn may_be_absent(&self) -> bool {
        self.optional || self.nullable
    }
}

impl InputKind {
    /// Left out of policies' sight.
    pub(super) fn omitted(why: impl Into<String>) -> Self {
        Self::Omitted { why: why.into() }
    }

    /// Cedar's JSON form; `None` for what is left out.
    fn to_json(&self) -> Option<Json> {
        Some(match self {
            Self::String => json!({"type": "String"}),
            Self::Long => json!({"type": "Long"}),
            Self::Bool => json!({"type": "Boolean"}),
            Self::Decimal => json!({"type": "Extension", "name": "decimal"}),
            Self::Set { element } => json!({"type": "Set", "element": element.to_json()?}),
            Self::Record { attributes } => record_json(attributes),
            Self::Omitted { .. } => return None,
        })
    }

    /// The Cedar type in the form that people write.
    fn text(&self) -> Option<String> {
        Some(match self {
            Self::String => "String".to_owned(),
            Self::Long => "Long".to_owned(),
            Self::Bool => "Bool".to_owned(),
            Self::Decimal => "decimal".to_owned(),
            Self::Set { element } => format!("Set<{}>", element.text()?),
            Self::Record { attributes } => record_text(attributes),
            Self::Omitted { .. } => return None,
        })
    }
}

/// A record type in Cedar's JSON form.
pub(in crate::policy) fn record_json(input: &Input) -> Json {
    let attributes = input.iter().filter_map(|(name, field)| {
        let mut kind = field.kind.to_json()?;
        if field.may_be_absent()
            && let Some(members) = kind.as_object_mut()
        {
            members.insert("required".to_owned(), json!(false));
        }
        Some((name.clone(), kind))
    });
    let attributes: serde_json::Map<String, Json> = attributes.collect();
    json!({"type": "Record", "attributes": attributes})
}

/// A record type in the form that people write.
pub(in crate::policy) fn record_text(input: &Input) -> String {
    let mut text = String::from("{");
    for (name, field) in input {
        let Some(kind) = field.kind.text() else {
            continue;
        };
        let comma = if text.len() > 1 { "," } else { "" };
        let mark = if field.may_be_absent() { "?" } else { "" };
        // Writing to a text cannot fail.
        let _ = write!(text, "{comma} \"{}\"{mark}: {kind}", name.escape_debug());
    }
    text.push_str(if text.len() > 1 { " }" } else { "}" });
    text
}

/// What of an input policies do not see, and why: `filter.by: it may be of several types`.
pub(in crate::policy) fn left_out(input: &Input) -> Vec<(String, String)> {
    let mut found = Vec::new();
    look(input, "", &mut found);
    found
}

fn look(input: &Input, above: &str, found: &mut Vec<(String, String)>) {
    for (name, field) in input {
        look_at(&field.kind, &join(above, name), found);
    }
}

fn look_at(kind: &InputKind, at: &str, found: &mut Vec<(String, String)>) {
    match kind {
        InputKind::Omitted { why } => found.push((at.to_owned(), why.clone())),
        InputKind::Record { attributes } => look(attributes, at, found),
        InputKind::Set { element } => look_at(element, at, found),
        InputKind::String | InputKind::Long | InputKind::Decimal | InputKind::Bool => {}
    }
}

/// The name of a member below another.
pub(super) fn join(above: &str, name: &str) -> String {
    if above.is_empty() {
        name.to_owned()
    } else {
        format!("{above}.{name}")
    }
}
