//! How a conversation with a client begins, in either era.

use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::era::MODERN;
use crate::protocol::mcp::{ClientHello, Revision};
use crate::protocol::rpc::RpcError;

use super::serve::Gateway;
use super::{status, turn};

impl Gateway {
    /// Answers `initialize`.
    pub(super) fn initialize(&self, params: Option<&Object>) -> Result<Json, RpcError> {
        let said = ClientHello::from_params(params)?;
        let revision = Revision::answer_to(&said.asked).name();
        self.client().greet(&said);
        Ok(Json::object([
            ("protocolVersion", Json::from(revision)),
            ("capabilities", capabilities()),
            ("serverInfo", turn::server_info()),
            ("instructions", self.instructions()),
        ]))
    }

    /// Answers `server/discover`.
    pub(super) fn discover(&self) -> Json {
        Json::object([
            ("supportedVersions", Json::Array(vec![MODERN.into()])),
            ("capabilities", capabilities()),
            ("instructions", self.instructions()),
        ])
    }

    fn instructions(&self) -> Json {
        Json::String(status::instructions(self.members().len()))
    }
}

/// What the gateway can do, before it is known what its servers can.
fn capabilities() -> Json {
    let truth = |keys: &[&str]| Json::object(keys.iter().map(|key| (*key, Json::Bool(true))));
    Json::object([
        ("tools", truth(&["listChanged"])),
        ("prompts", truth(&["listChanged"])),
        ("resources", truth(&["subscribe", "listChanged"])),
        ("completions", truth(&[])),
        ("logging", truth(&[])),
    ])
}
