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
        match self.capabilities.get("elicitation") {
            Some(Json::Object(modes)) => modes.is_empty() || modes.get("form").is_some(),
            _ => false,
        }
    }
}

/// What a server answers to `initialize`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerHello {
    /// The revision that both speak from now on.
    pub(crate) revision: Revision,
    /// Its capabilities, as they came.
    pub(crate) capabilities: Object,
    /// Its `serverInfo`, as it came. Never proof of who it is.
    pub(crate) info: Object,
    /// Its words for the model. Raw: clean them first.
    pub(crate) instructions: Option<String>,
}

impl ServerHello {
    /// Reads the result of `initialize`.
    ///
    /// # Errors
    /// Why one cannot go on with this server.
    pub(crate) fn from_result(result: &Json) -> Result<Self, String> {
        let name = result.get("protocolVersion").and_then(Json::as_str);
        let name = name.ok_or("its answer to `initialize` has no `protocolVersion`")?;
        let revision = Revision::from_name(name).ok_or_else(|| {
            let spoken = Revision::ALL.map(Revision::name).join(", ");
            let shown: String = name.chars().take(32).collect();
            format!(
                "it speaks protocol revision `{}`, spoken here are {spoken}",
                shown.escape_debug()
            )
        })?;
        let object = |key| match result.get(key) {
            Some(Json::Object(object)) => object.clone(),
            _ => Object::default(),
        };
        Ok(Self {
            revision,
            capabilities: object("capabilities"),
            info: object("serverInfo"),
            instructions: result
                .get("instructions")
                .and_then(Json::as_str)
                .map(str::to_owned),
        })
    }

    /// Whether it says that it has tools. Some servers have them and do not say so.
    pub(crate) fn claims_tools(&self) -> bool {
        matches!(self.capabilities.get("tools"), Some(Json::Object(_)))
    }

    /// The name that it gives itself.
    pub(crate) fn name(&self) -> &str {
        self.info.get("name").and_then(Json::as_str).unwrap_or("")
    }
}
