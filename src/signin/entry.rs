//! What is kept of a sign-in: the client that Creance is there, what was found out about the sign-in
//! server, and apart from that the secrets.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A client that the configuration names.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Client {
    /// Its id, when Creance is registered there by hand.
    pub(crate) id: Option<String>,
    /// Its secret, when it has one.
    pub(crate) secret: Option<String>,
    /// The address of a document that describes the client (CIMD).
    pub(crate) document: Option<String>,
    /// The callback that is registered, when it is fixed.
    pub(crate) redirect: Option<String>,
    /// The scopes to ask for in place of those that the server names.
    pub(crate) scopes: Vec<String>,
    /// The sign-in server, exactly as it names itself.
    pub(crate) issuer: Option<String>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("id", &self.id)
            .field("secret", &self.secret.as_ref().map(|_| "…"))
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// How Creance is known at a sign-in server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Known {
    /// The configuration names its id.
    Configured,
    /// By a document that describes it.
    Document,
    /// It registered itself.
    Registered,
}

/// A reply to a question about the server or its sign-in server, as it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) url: String,
    pub(super) status: u16,
    /// `WWW-Authenticate`, where it stands.
    pub(super) challenge: Option<String>,
    pub(super) body: String,
}

/// What is kept of a sign-in, apart from its secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The server's address, which alone gets the token.
    pub(super) url: String,
    /// The sign-in server, exactly as it names itself.
    pub(super) issuer: String,
    /// Where tokens are fetched.
    pub(super) token_endpoint: String,
    pub(super) known: Known,
    pub(super) client_id: String,
    /// The callback that is registered.
    pub(super) redirect: String,
    /// What was granted.
    pub(super) scopes: Vec<String>,
    /// When the access token ends, in milliseconds since the Unix epoch.
    pub(super) until_ms: Option<i64>,
    /// From when on it is renewed.
    pub(super) renew_ms: Option<i64>,
    /// The challenge that discovery began with.
    pub(super) challenge: Option<String>,
    /// What discovery was told: a later exchange goes by it.
    pub(super) told: Vec<Told>,
}

/// The secrets of a sign-in.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Secrets {
    pub(super) client: Option<String>,
    pub(super) access: Option<String>,
    pub(super) refresh: Option<String>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(…)")
    }
}

/// A sign-in as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(super) entry: Entry,
    pub(super) secrets: Secrets,
}

impl Kept {
    /// The token, where it holds at this time.
    pub(super) fn token(&self, now_ms: i64) -> Option<&str> {
        let ended = self.entry.renew_ms.is_some_and(|until| now_ms >= until);
        self.secrets.access.as_deref().filter(|_| !ended)
    }

    /// The token, where it holds at all.
    pub(super) fn token_until_the_end(&self, now_ms: i64) -> Option<&str> {
        let ended = self.entry.until_ms.is_some_and(|until| now_ms >= until);
        self.secrets.access.as_deref().filter(|_| !ended)
    }
}
