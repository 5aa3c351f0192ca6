//! One sign-in: first what is to be asked for, which is put to policy and people; then, with their yes, a
//! registration where one is needed, the page, the answer and the token.

use std::sync::Arc;

use rmcp::transport::auth::{
    AuthError, AuthorizationRequest, AuthorizationSession, StoredCredentials,
};
use serde_json::Value;
use tokio::time::timeout;

use crate::disk::Vault;

use super::answer::Expected;
use super::browser::Browser;
use super::callback::Callback;
use super::discover::{Discovered, Facts, discover};
use super::endpoint::{Endpoint, Ground};
use super::entry::{Client, Entry, Kept, Known, Secrets};
use super::error::{SignInError, Trouble};
use super::known::{How, client, scopes};
use super::query::{pairs, value};
use super::sdk::{self, STATE_LIMIT, Slot};
use super::tokens::{read_kept, write_kept};
use super::web::Web;
use super::wire::Wire;

/// By which name people know who asks.
const CLIENT_NAME: &str = "Creance";

/// What is signed in to.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Under what it is kept.
    pub(crate) key: String,
    /// The server's address.
    pub(crate) url: String,
    pub(crate) ground: Ground,
    pub(crate) client: Client,
    /// The server's challenge, `WWW-Authenticate`.
    pub(crate) challenge: Option<String>,
    /// Scopes that are wanted besides those that are there.
    pub(crate) more: Vec<String>,
}

/// A sign-in that can be asked about: nothing is registered, no page is open.
pub(crate) struct Prospect {
    wanted: Wanted,
    found: Discovered,
    slot: Slot,
    how: How,
    callback: Callback,
    scopes: Vec<String>,
    web: Arc<dyn Web>,
}

/// Finds out what a sign-in would ask for.
pub(crate) async fn prospect(
    web: Arc<dyn Web>,
    vault: &Vault,
    wanted: Wanted,
) -> Result<Prospect, SignInError> {
    let slot = Slot::default();
    let wire = Wire::new(
        Arc::clone(&web),
        wanted.ground,
        wanted.client.issuer.clone(),
    );
    let from = (wanted.url.as_str(), wanted.challenge.as_deref());
    let found = discover(from, wire, slot.clone()).await?;
    let before = read_kept(vault, &wanted.key).await?;
    // What is known at one sign-in server means nothing at another.
    let before = before
        .filter(|kept| kept.entry.issuer == found.facts.issuer && kept.entry.url == wanted.url);
    let (how, callback) = client(&wanted.client, &found, before.as_ref()).await?;
    let scopes = scopes(&wanted, &found.facts.scopes, before.as_ref());
    Ok(Prospect {
        wanted,
        found,
        slot,
        how,
        callback,
        scopes,
        web,
    })
}

impl Prospect {
    /// The sign-in server, exactly as it names itself.
    pub(crate) fn issuer(&self) -> &str {
        &self.found.facts.issuer
    }

    /// The page on which a person signs in.
    pub(crate) fn page(&self) -> &Endpoint {
        &self.found.facts.page
    }

    /// What is asked for.
    pub(crate) fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Where the browser comes back to.
    pub(crate) fn callback(&self) -> &str {
        self.callback.redirect()
    }

    /// Whether Creance registers itself by itself, now or when it did.
    pub(crate) fn registers(&self) -> bool {
        matches!(
            self.how,
            How::Registers
                | How::Is {
                    known: Known::Registered,
                    ..
                }
        )
    }

    /// Signs in: `show` tells the person the page, which is opened too.
    pub(crate) async fn sign_in(
        self,
        vault: &Vault,
        (browser, show): (Arc<dyn Browser>, Show<'_>),
        clock: fn() -> i64,
    ) -> Result<Vec<String>, SignInError> {
        let Self {
            wanted,
            found,
            slot,
            how,
            callback,
            scopes,
            web,
        } = self;
        let (told, facts) = (found.told(), found.facts.clone());
        let wire = found.wire.clone();
        let redirect = callback.redirect().to_owned();
        let (session, (known, id, secret)) = begin(found, (how, &scopes), &redirect).await?;
        let page = page(&session, &facts.page, wanted.ground)?;
        let expected = Expected {
            path: callback.path().to_owned(),
            state: state_of(page.as_str())?,
            issuer: facts.issuer.clone(),
            named: facts.always_named,
        };
        show(page.as_str());
        // Where none opens, the person has its address.
        let opening = tokio::task::spawn_blocking(move || browser.open(&page));
        drop(opening);
        let answer = timeout(STATE_LIMIT, callback.wait(expected)).await;
        let answer = answer.map_err(|_| {
            SignInError::new(Trouble::NoAnswer, "nobody signed in within five minutes")
        })??;
        look_again(&wanted, web, &facts).await?;
        let got = sdk::quiet(session.handle_callback_url(&format!("{redirect}?{answer}"))).await;
        got.map_err(|error| exchange_error(&error, &wire))?;
        let got = slot.take().ok_or_else(|| {
            SignInError::new(Trouble::Network, "the sign-in server gave no token")
        })?;
        let entry = Entry {
            url: wanted.url,
            issuer: facts.issuer,
            token_endpoint: facts.token.as_str().to_owned(),
            known,
            client_id: id,
            redirect,
            scopes: Vec::new(),
            until_ms: None,
            renew_ms: None,
            challenge: wanted.challenge,
            told,
        };
        let secrets = Secrets {
            client: secret,
            ..Secrets::default()
        };
        let kept = filled(Kept { entry, secrets }, &got, clock())?;
        let granted = kept.entry.scopes.clone();
        write_kept(vault, &wanted.key, kept).await?;
        Ok(granted)
    }
}

/// Between the question and the answer minutes may have passed: the sign-in server must describe itself
/// as it did.
async fn look_again(wanted: &Wanted, web: Arc<dyn Web>, facts: &Facts) -> Result<(), SignInError> {
    let look = Wire::new(web, wanted.ground, wanted.client.issuer.clone());
    let from = (wanted.url.as_str(), wanted.challenge.as_deref());
    let again = discover(from, look, Slot::default()).await?;
    if again.facts == *facts {
        return Ok(());
    }
    Err(SignInError::new(
        Trouble::Foreign,
        "the sign-in server described itself in another way when the answer came, so the answer was not used",
    ))
}

/// Tells a person the address of the sign-in page.
pub(crate) type Show<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// The state that the sign-in page is asked to give back.
fn state_of(page: &str) -> Result<String, SignInError> {
    let query = page.split_once('?').map_or("", |(_, query)| query);
    let pairs = pairs(query).ok();
    let state = pairs.and_then(|pairs| value(&pairs, "state").map(str::to_owned));
    state.ok_or_else(|| SignInError::new(Trouble::Description, "the sign-in page gets no state"))
}

type Known3 = (Known, String, Option<String>);

/// Registers where needed, and makes the page's address.
async fn begin(
    found: Discovered,
    (how, scopes): (How, &[String]),
    redirect: &str,
) -> Result<(AuthorizationSession, Known3), SignInError> {
    let Discovered {
        mut manager, wire, ..
    } = found;
    let (known, id, secret) = match how {
        How::Is { known, id, secret } => (known, id, secret),
        How::Registers => {
            let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
            let made = sdk::quiet(manager.register_client(CLIENT_NAME, redirect, &names)).await;
            let made = made.map_err(|_| registration_error(&wire))?;
            (Known::Registered, made.client_id, made.client_secret)
        }
    };
    let mut request = AuthorizationRequest::new(redirect)
        .with_initial_scope_selection()
        .with_scopes(scopes.iter().cloned())
        .with_preregistered_client(id.as_str());
    if let Some(secret) = &secret {
        request = request.with_client_secret(secret.as_str());
    }
    let session = sdk::quiet(AuthorizationSession::new(manager, request)).await;
    let session = session.map_err(|_| {
        SignInError::new(
            Trouble::Description,
            "the sign-in page has no address that can be used",
        )
    })?;
    Ok((session, (known, id, secret)))
}

/// The page with all that it is asked: judged once more, since this is what opens.
fn page(
    session: &AuthorizationSession,
    page: &Endpoint,
    ground: Ground,
) -> Result<Endpoint, SignInError> {
    let whole = Endpoint::read(session.get_authorization_url(), ground);
    let whole = whole.ok().filter(|whole| whole.origin() == page.origin());
    whole.ok_or_else(|| {
        SignInError::new(
            Trouble::Description,
            "the sign-in page has no address that can be used",
        )
    })
}

fn registration_error(wire: &Wire) -> SignInError {
    let why = wire
        .code()
        .map_or_else(String::new, |code| format!(": {code}"));
    wire.fault().unwrap_or_else(|| {
        let text = format!("the sign-in server did not register Creance{why}");
        SignInError::new(Trouble::Registration, text)
    })
}

fn exchange_error(error: &AuthError, wire: &Wire) -> SignInError {
    if let Some(fault) = wire.fault() {
        return fault;
    }
    let why = match error {
        AuthError::AuthorizationServerMismatch { .. }
        | AuthError::AuthorizationServerMissingIssuer { .. } => {
            return SignInError::new(
                Trouble::Foreign,
                "the answer does not come from the sign-in server that was asked",
            );
        }
        _ => wire
            .code()
            .unwrap_or_else(|| "its answer is no token".to_owned()),
    };
    SignInError::new(
        Trouble::Refused,
        format!("the sign-in server gave no token: {why}"),
    )
}

/// What was got, put into what is kept.
pub(super) fn filled(
    mut kept: Kept,
    got: &StoredCredentials,
    now_ms: i64,
) -> Result<Kept, SignInError> {
    let unusable = || {
        SignInError::new(
            Trouble::Refused,
            "the sign-in server gave a token that cannot be used",
        )
    };
    let token = serde_json::to_value(&got.token_response).map_err(|_| unusable())?;
    let text = |name: &str| {
        token
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let access = text("access_token").ok_or_else(unusable)?;
    let bearer = text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
    // It becomes a field of a request.
    if !bearer || !access.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(unusable());
    }
    kept.secrets.access = Some(access.to_owned());
    kept.secrets.refresh = text("refresh_token")
        .map(str::to_owned)
        .or(kept.secrets.refresh);
    kept.entry.scopes.clone_from(&got.granted_scopes);
    let lasts = token.get("expires_in").and_then(Value::as_u64);
    let lasts =
        lasts.map(|seconds| i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX));
    kept.entry.until_ms = lasts.map(|lasts| now_ms.saturating_add(lasts));
    // A little before its end, and of a short life not more than half.
    kept.entry.renew_ms = lasts.map(|lasts| now_ms.saturating_add(lasts - (lasts / 2).min(30_000)));
    Ok(kept)
}
