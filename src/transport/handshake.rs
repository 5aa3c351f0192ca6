//! How a conversation with a server begins, in either era.

use std::time::Duration;

use tokio::time::timeout;

use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::{Era, Revision, agreed_revision, era};

use super::calls::CallOptions;
use super::error::CallError;
use super::upstream::Upstream;

/// How Creance names itself to servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientInfo {
    /// The name.
    pub(crate) name: &'static str,
    /// The version.
    pub(crate) version: &'static str,
}

/// How a server speaks, and what it says that it can do. The latter is its word about itself: it is
/// asked for what it offers and nothing else goes by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerHello {
    /// How it speaks.
    pub(crate) era: Era,
    /// Its capabilities, as they came.
    pub(crate) capabilities: Object,
}

impl ServerHello {
    /// Whether it says that it offers something.
    pub(crate) fn offers(&self, capability: &str) -> bool {
        matches!(self.capabilities.get(capability), Some(Json::Object(_)))
    }

    /// Whether it says that it offers a part of something.
    pub(crate) fn offers_part(&self, capability: &str, part: &str) -> bool {
        let found = self.capabilities.get(capability).and_then(|c| c.get(part));
        found.and_then(Json::as_bool) == Some(true)
    }
}

/// What is known of a server's era before it is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing.
    #[default]
    Nothing,
    /// It is a legacy server.
    Legacy,
}

/// How long a server may be silent about `server/discover` before it is taken for a legacy one. One
/// that is slow to start may still turn out to be modern.
const PROBE: Duration = Duration::from_millis(2_500);

impl Upstream {
    /// Begins: asks `server/discover`, and shakes hands where that is not understood. No code of an
    /// error counts as a legacy server's, and silence is one too. What was asked first is still waited
    /// for beside the handshake: a modern server that starts slowly answers it, and refuses the other.
    ///
    /// # Errors
    /// Why there is no connection. [`CallError::Closed`] before any answer may mean that the server
    /// ends when it is asked what it does not know.
    pub(crate) async fn greet(
        &self,
        client: ClientInfo,
        known: Known,
        limit: Duration,
    ) -> Result<ServerHello, CallError> {
        if known == Known::Legacy {
            return self.initialize(client, limit).await;
        }
        let mut probe = Box::pin(self.discover(client, limit));
        match timeout(PROBE.min(limit), &mut probe).await {
            Ok(Ok(Some(hello))) => return Ok(hello),
            Ok(Err(error @ CallError::Closed(_))) => return Err(error),
            Ok(_) => return self.initialize(client, limit).await,
            Err(_) => {}
        }
        let mut shaken = Box::pin(self.initialize(client, limit));
        tokio::select! {
            hello = &mut shaken => match hello {
                Err(CallError::Rpc(error)) if error.code() == era::UNSUPPORTED_VERSION => {
                    probe.await?.ok_or(CallError::Rpc(error))
                }
                hello => hello,
            },
            found = &mut probe => match found {
                Ok(Some(hello)) => Ok(hello),
                _ => shaken.await,
            },
        }
    }

    /// Asks a server what it is; `None` for one that is not modern.
    async fn discover(
        &self,
        client: ClientInfo,
        limit: Duration,
    ) -> Result<Option<ServerHello>, CallError> {
        let options = CallOptions::within(limit);
        let mut params = Object::default();
        params.insert("_meta", self.envelope(client).into());
        let mut answer = self
            .ask(era::DISCOVER, Some(params.clone()), options.clone())
            .await;
        // One that refuses the revision and speaks it all the same is asked once more.
        if matches!(&answer, Err(CallError::Rpc(error)) if era::speaks_ours(error)) {
            answer = self.ask(era::DISCOVER, Some(params), options).await;
        }
        let result = match answer {
            Ok(result) => result,
            Err(CallError::Closed(why)) => return Err(CallError::Closed(why)),
            Err(_) => return Ok(None),
        };
        let Some(capabilities) = era::discovered(&result) else {
            return Ok(None);
        };
        self.speak_modern(self.envelope(client));
        Ok(Some(ServerHello {
            era: Era::Modern,
            capabilities,
        }))
    }

    /// Shakes hands: `initialize` with what whoever listens to its requests offers, then `notifications/initialized`.
    ///
    /// # Errors
    /// Why there is no connection.
    pub(crate) async fn initialize(
        &self,
        client: ClientInfo,
        limit: Duration,
    ) -> Result<ServerHello, CallError> {
        let mut params = Object::default();
        params.insert("protocolVersion", Revision::LATEST.name().into());
        params.insert("capabilities", self.asks.capabilities().into());
        params.insert("clientInfo", info(client));
        let options = CallOptions::within(limit);
        let result = self.ask("initialize", Some(params), options).await?;
        let revision = agreed_revision(&result).map_err(CallError::Reply)?;
        self.notify("notifications/initialized", None).await?;
        let capabilities = result.get("capabilities").and_then(Json::as_object);
        Ok(ServerHello {
            era: Era::Legacy(revision),
            capabilities: capabilities.cloned().unwrap_or_default(),
        })
    }

    /// What is said with each request to a modern server: what whoever listens to it offers, too.
    fn envelope(&self, client: ClientInfo) -> Object {
        let mut meta = Object::default();
        meta.insert(era::META_VERSION, era::MODERN.into());
        meta.insert(era::META_CAPABILITIES, self.asks.capabilities().into());
        meta.insert(era::META_CLIENT, info(client));
        meta
    }
}

fn info(client: ClientInfo) -> Json {
    Json::object(
        [("name", client.name), ("version", client.version)]
            .map(|(key, text)| (key, Json::from(text))),
    )
}
