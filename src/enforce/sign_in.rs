//! Signing in to a remote server: what would be asked for is decided, and a person sees it, before Creance
//! registers anywhere and before a page opens. And signing out.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;

use crate::address::{HostName, Target};
use crate::audit::{EventKind, Outcome};
use crate::clean;
use crate::config;
use crate::decision::{Asking, Decision, DecisionError, DecisionPoint, Denial};
use crate::digest::Digest;
use crate::disk::{self, Vault};
use crate::request::{ServerFacts, SignIn, Source};
use crate::signin::{self, Browser, Client, Ground, Prospect, SignInError, Tokens, Wanted, Web};

use super::present;
use super::web::SignInWeb;

/// What signing in takes beside the line.
#[derive(Clone, Debug)]
pub(crate) struct SignIns {
    pub(crate) vault: Vault,
    pub(crate) browser: Arc<dyn Browser>,
}

/// The server that is signed in to.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub(crate) facts: ServerFacts,
    pub(crate) url: String,
    pub(crate) client: Client,
}

/// Why nobody is signed in.
#[derive(Debug)]
pub(crate) enum NotSignedIn {
    /// Policy or a person said no.
    Denied(Denial),
    /// It cannot be decided or put on record.
    Decision(DecisionError),
    /// The sign-in itself.
    Trouble(SignInError),
}

impl fmt::Display for NotSignedIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denial) => write!(f, "{}; {}", denial.reason(), denial.hint()),
            Self::Decision(error) => error.fmt(f),
            Self::Trouble(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NotSignedIn {}

impl From<SignInError> for NotSignedIn {
    fn from(error: SignInError) -> Self {
        Self::Trouble(error)
    }
}

impl From<DecisionError> for NotSignedIn {
    fn from(error: DecisionError) -> Self {
        Self::Decision(error)
    }
}

/// What the server said that made a sign-in necessary.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cause {
    /// `WWW-Authenticate`.
    pub(crate) challenge: Option<String>,
    /// Scopes that it wants besides those that are there.
    pub(crate) more: Vec<String>,
}

/// Under what a sign-in is kept: the server where it is configured, and its address.
pub(super) fn key(subject: &str, url: &str) -> String {
    Digest::of_fields("sign-in/1", [subject, url]).to_string()
}

impl Remote {
    pub(crate) fn new(facts: ServerFacts, remote: &config::Remote) -> Self {
        let oauth = remote.oauth.clone();
        let client = Client {
            id: oauth.client_id,
            secret: oauth.client_secret.map(|secret| secret.value),
            document: oauth.client_metadata_url,
            redirect: oauth.redirect_uri,
            scopes: oauth.scopes,
            issuer: oauth.issuer,
        };
        Self {
            facts,
            url: remote.address.as_str().to_owned(),
            client,
        }
    }

    fn key(&self) -> String {
        key(&self.facts.subject, &self.url)
    }

    fn web(&self) -> Arc<dyn Web> {
        match self.ground() {
            Ground::ThisMachine => Arc::new(SignInWeb::this_machine()),
            Ground::Public => Arc::new(SignInWeb::public()),
        }
    }

    /// A sign-in server on this machine is for a server on this machine, of the user's own.
    fn ground(&self) -> Ground {
        let own = matches!(self.facts.id.source, Source::User | Source::Org);
        if own && signin::is_local(&self.url) {
            Ground::ThisMachine
        } else {
            Ground::Public
        }
    }

    fn wanted(&self, cause: Cause) -> Wanted {
        Wanted {
            key: self.key(),
            url: self.url.clone(),
            ground: self.ground(),
            client: self.client.clone(),
            challenge: cause.challenge,
            more: cause.more,
        }
    }

    /// Its tokens.
    pub(crate) fn tokens(&self, vault: &Vault) -> Tokens {
        Tokens::new(
            vault.clone(),
            self.wanted(Cause::default()),
            self.web(),
            disk::clock,
        )
    }
}

/// Signs in; what was granted. `show` tells a person the page.
pub(crate) async fn sign_in(
    (point, asking): (&DecisionPoint, Asking<'_>),
    remote: &Remote,
    cause: Cause,
    (tools, show): (&SignIns, &(dyn Fn(&str) + Send + Sync)),
) -> Result<Vec<String>, NotSignedIn> {
    let prospect = signin::prospect(remote.web(), &tools.vault, remote.wanted(cause)).await?;
    let action = action(remote, &prospect).await;
    let callback = prospect.callback().to_owned();
    let present = |action: &SignIn| present::sign_in(action, (&remote.url, &callback));
    let permit = match point.decide(asking, action, present).await? {
        Decision::Allow(permit) => permit,
        Decision::Deny(denial) => return Err(NotSignedIn::Denied(denial)),
    };
    let (action, seq) = point.redeem(permit).map_err(NotSignedIn::Denied)?;
    let begun = Instant::now();
    let done = prospect
        .sign_in(
            &tools.vault,
            (Arc::clone(&tools.browser), show),
            disk::clock,
        )
        .await;
    let (result, why) = match &done {
        Ok(_) => ("signed-in", String::new()),
        Err(error) => ("not-signed-in", error.to_string()),
    };
    let outcome = EventKind::Outcome(Outcome {
        of: seq,
        ok: done.is_ok(),
        result: result.to_owned(),
        details: json!({
            "server": action.server.id.to_string(),
            "issuer": clean::line(&action.issuer, 400),
            "granted": done.as_ref().ok(),
            "why": why,
        }),
        took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    point.note(outcome).map_err(DecisionError::from)?;
    Ok(done?)
}

/// Signs out: what is kept is forgotten. Whether there was something.
pub(crate) async fn sign_out(
    point: &DecisionPoint,
    remote: &Remote,
    vault: &Vault,
) -> Result<bool, NotSignedIn> {
    let note = EventKind::Note {
        name: "signed-out".to_owned(),
        details: json!({ "server": remote.facts.id.to_string() }),
    };
    point.note(note).map_err(DecisionError::from)?;
    let gone = signin::forget(vault, &remote.key()).await?;
    Ok(gone)
}

async fn action(remote: &Remote, prospect: &Prospect) -> SignIn {
    let page = prospect.page();
    let server = signin::target_of(&remote.url);
    let issuer = signin::target_of(prospect.issuer());
    SignIn {
        server: remote.facts.clone(),
        issuer: prospect.issuer().to_owned(),
        page: page.origin(),
        addresses: addresses(page.target()).await,
        scopes: prospect.scopes().to_vec(),
        dynamic_registration: prospect.registers(),
        // Without it there is no prospect.
        pkce: true,
        issuer_matches_server: match (server, issuer) {
            (Some(server), Some(issuer)) => related(&server.host, &issuer.host),
            _ => false,
        },
    }
}

/// The addresses of a page's host, as far as they can be told now: the browser looks it up itself.
async fn addresses(target: &Target) -> Vec<IpAddr> {
    if let Some(address) = target.host.address() {
        return vec![address];
    }
    let found = tokio::net::lookup_host((target.host.as_str(), target.port)).await;
    let mut addresses: Vec<IpAddr> = found.into_iter().flatten().map(|one| one.ip()).collect();
    addresses.dedup();
    addresses
}

/// Whether one host is the other, or below it.
fn related(one: &HostName, other: &HostName) -> bool {
    let below = |one: &str, other: &str| {
        one.strip_suffix(other)
            .is_some_and(|rest| rest.ends_with('.'))
    };
    one == other
        || (one.address().is_none()
            && other.address().is_none()
            && (below(one.as_str(), other.as_str()) || below(other.as_str(), one.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_related_by_names_alone() {
        let check = |one: &str, other: &str, want: bool| {
            let (one, other) = (one.parse().unwrap(), other.parse().unwrap());
            assert_eq!(related(&one, &other), want, "{one} {other}");
            assert_eq!(related(&other, &one), want, "{other} {one}");
        };
        check("example.com", "example.com", true);
        check("example.com", "login.example.com", true);
        check("mcp.example.com", "login.example.com", false);
        check("ample.com", "example.com", false);
        check("a.co.uk", "b.co.uk", false);
        check("10.0.0.1", "10.0.0.1", true);
    }
}
