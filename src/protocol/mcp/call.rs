//! The parameters of `tools/call`.

use crate::protocol::json::{Json, Object};
use crate::protocol::rpc::{INVALID_PARAMS, RpcError};

/// A call of a tool: well-formed parameters, with all members that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolCall {
    // INVARIANT: `name` is a string, `arguments` an object, `_meta` absent or an object.
    params: Object,
}

impl ToolCall {
    /// Checks the parameters of a request. Absent `arguments` are `{}`; anything but an object is
    /// refused before a person is asked and before the server sees it.
    ///
    /// # Errors
    /// The error to answer with.
    pub(crate) fn from_params(params: Option<Object>) -> Result<Self, RpcError> {
        let refuse = |text: String| Err(RpcError::new(INVALID_PARAMS, text));
        let mut params = params.unwrap_or_default();
        if params.get("name").and_then(Json::as_str).is_none() {
            return refuse("`params.name` must be a string".to_owned());
        }
        match params.get("arguments") {
            None => params.insert("arguments", Json::Object(Object::default())),
            Some(Json::Object(_)) => {}
            Some(other) => {
                let kind = other.kind();
                return refuse(format!(
                    "`params.arguments` must be an object or be left out, this is {kind}"
                ));
            }
        }
        match params.get("_meta") {
            None | Some(Json::Object(_)) => Ok(Self { params }),
            Some(other) => refuse(format!(
                "`params._meta` must be an object, this is {}",
                other.kind()
            )),
        }
    }

    /// The name, as the caller gives it.
    pub(crate) fn name(&self) -> &str {
        self.params.get("name").and_then(Json::as_str).unwrap_or("")
    }

    /// The arguments.
    pub(crate) fn arguments(&self) -> Option<&Object> {
        self.params.get("arguments").and_then(Json::as_object)
    }

    /// The token that the caller wants progress under: a string or a number, 0 too.
    pub(crate) fn progress_token(&self) -> Option<&Json> {
        progress_token(Some(&self.params))
    }
}

/// The token that a caller wants progress under, in the parameters of any request.
pub(crate) fn progress_token(params: Option<&Object>) -> Option<&Json> {
    let token = params?.get("_meta")?.get("progressToken")?;
    matches!(token, Json::String(_) | Json::Number(_)).then_some(token)
}
