//! The parameters of `prompts/get`.

use crate::protocol::json::{Json, Object};
use crate::protocol::rpc::{INVALID_PARAMS, RpcError};

/// A prompt that is asked for, with its arguments in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromptCall {
    /// The name, as the caller gives it.
    pub(crate) name: String,
    /// Names and texts.
    pub(crate) arguments: Vec<(String, String)>,
}

impl PromptCall {
    /// Checks the parameters of a request: arguments are texts.
    ///
    /// # Errors
    /// The error to answer with.
    pub(crate) fn from_params(params: Option<&Object>) -> Result<Self, RpcError> {
        let refuse = |text: String| Err(RpcError::new(INVALID_PARAMS, text));
        let member = |key| params.and_then(|params| params.get(key));
        let Some(name) = member("name").and_then(Json::as_str) else {
            return refuse("`params.name` must be a string".to_owned());
        };
        let mut arguments = Vec::new();
        match member("arguments") {
            None | Some(Json::Null) => {}
            Some(Json::Object(given)) => {
                for (key, value) in given.iter() {
                    let text = text_of(key, value)?;
                    arguments.push((key.to_owned(), text));
                }
            }
            Some(other) => {
                let kind = other.kind();
                return refuse(format!(
                    "`params.arguments` must be an object or be left out, this is {kind}"
                ));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            arguments,
        })
    }
}

fn text_of(key: &str, value: &Json) -> Result<String, RpcError> {
    if let Json::String(text) = value {
        return Ok(text.clone());
    }
    let key = crate::clean::line(key, 80);
    let kind = value.kind();
    Err(RpcError::new(
        INVALID_PARAMS,
        format!("`params.arguments.{key}` must be a string, this is {kind}"),
    ))
}
