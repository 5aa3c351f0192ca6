//! Signing in to a remote server: at which sign-in server, with which scopes, by which way.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

use super::act::{Act, Action, Holding, Key, Query, Run};
use super::principal::{Agent, Principal, ServerFacts};

/// Signs in to a remote server with OAuth. Cedar action `oauth.sign_in`; decided before anything is
/// registered and before a page opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignIn {
    /// The server that a token is wanted for.
    pub server: ServerFacts,
    /// The sign-in server, exactly as its own description names it.
    pub issuer: String,
    /// The origin of the page on which a person signs in.
    pub page: String,
    /// The addresses that the page's host has; none when its name does not resolve.
    pub addresses: Vec<IpAddr>,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// Whether Creance registers itself there by itself.
    pub dynamic_registration: bool,
    /// Whether the exchange is bound to this process (PKCE with S256).
    pub pkce: bool,
    /// Whether one of the hosts of server and sign-in server is the other, or below it.
    pub issuer_matches_server: bool,
}

impl SignIn {
    /// What "the same sign-in" means.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        let mut scopes = self.scopes.clone();
        scopes.sort();
        Digest::of_fields(
            "oauth.sign_in/1",
            [
                self.server.itself.to_string(),
                self.issuer.clone(),
                self.page.clone(),
                scopes.join(" "),
            ],
        )
    }
}

impl Action for SignIn {
    const NAME: &'static str = "oauth.sign_in";

    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
        vec![Query::new(
            agent,
            Principal::Agent(agent),
            Act::SignIn(self),
            run,
        )]
    }

    /// An answer is about the server and not about who asks; it holds for these scopes alone.
    fn keys(&self, _agent: &Agent) -> Vec<Key> {
        vec![Key {
            action: Self::NAME,
            principal: "*".to_owned(),
            resource: self.server.subject.clone(),
            fingerprint: self.fingerprint(),
            scope: "signing in to this server at this sign-in server".to_owned(),
            holding: Holding::Latest,
        }]
    }
}
