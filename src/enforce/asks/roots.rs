//! The roots: the project's, where the server's sandbox lets it be read. What the client calls its
//! roots was not decided about, and is not passed on.

use crate::address::file_url;
use crate::protocol::json::{Json, Object};
use crate::protocol::rpc::RpcError;

use super::hearing::{Hearing, no_method};

/// Answers `roots/list`.
pub(super) fn answer(hearing: Hearing<'_>) -> Result<Json, RpcError> {
    let asker = hearing.asker;
    if !hearing.offers.roots.is_made() {
        return Err(no_method());
    }
    let root = asker.root.as_deref();
    let roots = root.and_then(|root| {
        let mut entry = Object::default();
        entry.insert("uri", file_url(root)?.into());
        if let Some(name) = root.file_name() {
            entry.insert("name", name.to_string_lossy().into_owned().into());
        }
        Some(Json::Object(entry))
    });
    Ok(Json::object([(
        "roots",
        Json::Array(roots.into_iter().collect()),
    )]))
}
