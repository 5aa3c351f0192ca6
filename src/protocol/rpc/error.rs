//! Error members of responses, kept whole.

use std::fmt;

use crate::protocol::json::{Json, Number, Object};

/// The bytes are not JSON.
pub(crate) const PARSE_ERROR: i64 = -32700;
/// The message is not a request.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// There is no such method here.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// The method is known, its parameters are not fit for it.
pub(crate) const INVALID_PARAMS: i64 = -32602;

/// The `error` of a response, with members that no standard knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RpcError(Object);

impl RpcError {
    /// An error of Creance's own.
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        let mut object = Object::default();
        object.insert("code", code.into());
        object.insert("message", Json::String(message.into()));
        Self(object)
    }

    /// The same under another code.
    pub(crate) fn with_code(mut self, code: i64) -> Self {
        self.0.insert("code", code.into());
        self
    }

    /// The same with `data`.
    pub(crate) fn with_data(mut self, data: Json) -> Self {
        self.0.insert("data", data);
        self
    }

    /// A peer's error as it came: an object with a number `code` and a text `message`.
    pub(crate) fn from_json(json: Json) -> Option<Self> {
        let Json::Object(object) = json else {
            return None;
        };
        let fits = matches!(object.get("code"), Some(Json::Number(_)))
            && matches!(object.get("message"), Some(Json::String(_)));
        fits.then_some(Self(object))
    }

    /// The code; 0 for one that no machine word holds.
    pub(crate) fn code(&self) -> i64 {
        let code = self.0.get("code").and_then(Json::as_number);
        code.and_then(Number::as_i64).unwrap_or_default()
    }

    /// The text, from the peer: clean it before it is shown.
    pub(crate) fn message(&self) -> &str {
        self.0.get("message").and_then(Json::as_str).unwrap_or("")
    }

    /// More about it.
    pub(crate) fn data(&self) -> Option<&Json> {
        self.0.get("data")
    }

    /// The member `error`, as it came.
    pub(crate) fn into_json(self) -> Json {
        Json::Object(self.0)
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}: {}", self.code(), self.message())
    }
}
