//! Both sides of `initialize`.

use crate::protocol::json::{Json, Object};
use crate::protocol::rpc::{INVALID_PARAMS, RpcError};

use super::revision::Revision;

/// What a client says in its `initialize` request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientHello {
    /// The revision that it asks for, any text.
    pub(crate) asked: String,
    /// Its `clientInfo.name`; empty when it gives none. Never proof of who it is.
    pub(crate) name: String,
    /// Its `clientInfo.version`.
    pub(crate) version: String,
    /// Its capabilities, as they came.
    pub(crate) capabilities: Object,
}

impl ClientHello {
    /// Reads the parameters of `initialize`.
    ///
    /// # Errors
    /// The error to answer with.
    pub(crate) fn from_params(params: Option<&Object>) -> Result<Self, RpcError> {
        let refuse = |text: &str| Err(RpcError::new(INVALID_PARAMS, text));
        let member = |key| params.and_then(|p| p.get(key));
        let Some(asked) = member("protocolVersion").and_then(Json::as_str) else {
            return refuse("`params.protocolVersion` must be a string");
        };
        let capabilities = match member("capabilities") {
            None | Some(Json::Null) => Object::default(),
            Some(Json::Object(capabilities)) => capabilities.clone(),
            Some(_) => return refuse("`params.capabilities` must be an object"),
        };
        let info = |key| {
            let text = member("clientInfo").and_then(|info| info.get(key));
            text.and_then(Json::as_str).unwrap_or("").to_owned()
        };
        Ok(Self {
            asked: asked.to_owned(),
            name: info("name"),
            version: info("version"),
            capabilities,
        })
    }

    /// Whether it can put forms before its user (`elicitation/create` in form mode). An empty
    /// object means forms, as the capability had no members at first.
    pub(crate) fn takes_forms(&self) -> bool {
        takes_forms(&self.capabilities)
    }
}

/// The same, of a client's capabilities in either era.
pub(super) fn takes_forms(capabilities: &Object) -> bool {
    match capabilities.get("elicitation") {
        Some(Json::Object(modes)) => modes.is_empty() || modes.get("form").is_some(),
        _ => false,
    }
}

/// The revision that both speak from now on, by a server's answer to `initialize`. What else stands
/// there is the server's word about itself: nothing here goes by it.
///
/// # Errors
/// Why one cannot go on with this server.
pub(crate) fn agreed_revision(result: &Json) -> Result<Revision, String> {
    let name = result.get("protocolVersion").and_then(Json::as_str);
    let name = name.ok_or("its answer to `initialize` has no `protocolVersion`")?;
    Revision::from_name(name).ok_or_else(|| {
        let spoken = Revision::ALL.map(Revision::name).join(", ");
        let shown = crate::clean::line(name, 32);
        format!("it speaks protocol revision `{shown}`, spoken here are {spoken}")
    })
}
