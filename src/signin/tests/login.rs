//! What each test signs in with.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::disk::{Keep, Vault};

use super::super::endpoint::Ground;
use super::super::entry::Client;
use super::super::error::SignInError;
use super::super::flow::{Wanted, prospect};
use super::super::tokens::Tokens;
use super::play::{BASE, Host, Scripted};

/// A home of its own, and a server on a scripted host.
pub(super) struct Login {
    pub(super) host: Host,
    pub(super) vault: Vault,
    pub(super) wanted: Wanted,
    pub(super) browser: Scripted,
    _home: tempfile::TempDir,
}

/// Long ago, and it stays.
pub(super) fn clock() -> i64 {
    1_796_000_000_000
}

impl Login {
    pub(super) fn new(host: Host, path: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        Self {
            browser: Scripted::of(&host),
            host,
            vault: Vault::new(home.path().join("sign-in"), Keep::Files),
            wanted: Wanted {
                key: "k".to_owned(),
                url: format!("{BASE}{path}"),
                ground: Ground::ThisMachine,
                client: Client::default(),
                challenge: None,
                more: Vec::new(),
            },
            _home: home,
        }
    }

    /// A public report.
    pub(super) fn case(name: &str) -> Self {
        Self::new(Host::case(name), "/mcp")
    }

    pub(super) async fn sign_in(&self) -> Result<Vec<String>, SignInError> {
        let web = Arc::new(self.host.clone());
        let prospect = prospect(web, &self.vault, self.wanted.clone()).await?;
        let browser = Arc::new(self.browser.clone());
        prospect
            .sign_in(&self.vault, (browser, &|_| ()), clock)
            .await
    }

    pub(super) fn tokens(&self, clock: fn() -> i64) -> Tokens {
        let web = Arc::new(self.host.clone());
        Tokens::new(self.vault.clone(), self.wanted.clone(), web, clock)
    }

    pub(super) async fn token(&self) -> Option<String> {
        self.tokens(clock).token().await.unwrap()
    }

    /// The one place where a person is sent, as name and value.
    pub(super) fn asked(&self, name: &str) -> Option<String> {
        let opened = self.browser.opened.lock().unwrap();
        let [page] = opened.as_slice() else {
            panic!("{opened:?}");
        };
        let query = page.split_once('?').unwrap().1;
        let pairs = super::super::query::pairs(query).unwrap();
        pairs
            .into_iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    pub(super) fn opened(&self) -> usize {
        self.browser.opened.lock().unwrap().len()
    }
}

/// A sign-in server and a server of our own, with nothing odd about them.
pub(super) fn plain() -> Value {
    json!({ "routes": [
        {"path": "/.well-known/oauth-protected-resource/mcp", "json": {
            "resource": "{{BASE}}/mcp", "authorization_servers": ["{{BASE}}"], "scopes_supported": ["files:read"]}},
        {"path": "/.well-known/oauth-authorization-server", "json": {
            "issuer": "{{BASE}}", "authorization_endpoint": "{{BASE}}/authorize", "token_endpoint": "{{BASE}}/token",
            "registration_endpoint": "{{BASE}}/register", "response_types_supported": ["code"],
            "scopes_supported": ["files:read", "files:write", "admin"],
            "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"]}},
        {"method": "POST", "path": "/register", "register": {"client_id": "dyn-1"}},
        {"path": "/authorize", "authorize": {}},
        {"method": "POST", "path": "/token", "json": {
            "access_token": "at-0", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt-0"}},
        {"method": "POST", "path": "/mcp", "when": {"header:authorization": null}, "status": 401,
            "headers": {"www-authenticate": "Bearer resource_metadata=\"{{BASE}}/.well-known/oauth-protected-resource/mcp\""}},
    ]})
}

/// The description of the sign-in server in a script.
pub(super) fn description(routes: &mut [Value]) -> &mut Value {
    let found = routes
        .iter_mut()
        .find(|route| route["path"] == "/.well-known/oauth-authorization-server");
    &mut found.unwrap()["json"]
}

pub(super) fn plain_login() -> Login {
    Login::new(Host::play(plain()), "/mcp")
}
