//! What a server asks of its client: a legacy server by a request of its own, a modern one within a
//! result. Both come here, so that one place says what may be asked at all.

use crate::protocol::json::{Json, Object};
use crate::protocol::rpc::{METHOD_NOT_FOUND, RpcError};

/// The answer to what a server asks.
///
/// # Errors
/// It may not be asked. No capability is advertised to servers, so only `ping` has an answer.
pub(super) fn answer(method: &str, _params: Option<&Object>) -> Result<Json, RpcError> {
    match method {
        "ping" => Ok(Json::Object(Object::default())),
        _ => Err(RpcError::new(
            METHOD_NOT_FOUND,
            "this client offers no such method",
        )),
    }
}
