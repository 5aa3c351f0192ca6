//! The id that ties a response to its request.

use std::fmt;

use crate::protocol::json::{Json, Number};

/// A request's id: a whole number of any size, or a string. `null` is no id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Id {
    /// A whole number, exactly as it was written.
    Number(Number),
    /// A string.
    Text(String),
}

impl Id {
    /// The id that a member's value is.
    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        match json {
            Json::Number(number) if number.is_whole() => Some(Self::Number(number.clone())),
            Json::String(text) => Some(Self::Text(text.clone())),
            _ => None,
        }
    }

    /// The value of the member `id`.
    pub(crate) fn to_json(&self) -> Json {
        match self {
            Self::Number(number) => Json::Number(number.clone()),
            Self::Text(text) => Json::String(text.clone()),
        }
    }

    /// The counter that Creance numbered its request with; servers are forgiven for sending it back
    /// as a string or with a point (`"7"`, `7.0`).
    pub(crate) fn as_counter(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.text().parse().ok(),
            Self::Text(text) => text.trim_end_matches(".0").parse().ok(),
        }
    }
}

impl From<u64> for Id {
    fn from(counter: u64) -> Self {
        Self::Number(counter.into())
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}
