//! Tokens of one server: handed out for its requests, and renewed by one at a time, on the whole machine.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::transport::auth::{AuthError, OAuthClientConfig, StoredCredentials};
use serde_json::json;

use crate::disk::{Safe, Vault};

use super::discover::discover;
use super::entry::{Entry, Kept, Secrets};
use super::error::{SignInError, Trouble};
use super::flow::{Wanted, filled};
use super::sdk::{self, Slot};
use super::web::Web;
use super::wire::Wire;

/// A token that is younger than this is not renewed because it was refused: the request went out with
/// the one before.
const YOUNG: Duration = Duration::from_secs(10);

/// Tokens of one server.
pub(crate) struct Tokens {
    vault: Vault,
    wanted: Wanted,
    web: Arc<dyn Web>,
    clock: fn() -> i64,
    /// Who renews; the others wait for it, or go on with what still holds.
    turn: tokio::sync::Mutex<()>,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    kept: Option<Kept>,
    /// When it was taken into use.
    since: Option<Instant>,
}

/// What becomes of a request that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is another token now.
    Again,
    /// Somebody has to sign in.
    SignIn,
    /// Somebody has to agree to more: these scopes.
    More(Vec<String>),
}

impl Tokens {
    pub(crate) fn new(vault: Vault, wanted: Wanted, web: Arc<dyn Web>, clock: fn() -> i64) -> Self {
        Self {
            vault,
            wanted,
            web,
            clock,
            turn: tokio::sync::Mutex::default(),
            now: Mutex::default(),
        }
    }

    /// The token for the next request; `None` where nobody has signed in.
    pub(crate) async fn token(&self) -> Result<Option<String>, SignInError> {
        let now_ms = (self.clock)();
        let at_hand = |now: &Now| {
            let kept = now.kept.as_ref()?;
            Some((
                kept.token(now_ms).map(str::to_owned),
                kept.token_until_the_end(now_ms).map(str::to_owned),
            ))
        };
        let held = at_hand(&self.lock());
        match held {
            Some((Some(fresh), _)) => Ok(Some(fresh)),
            // Somebody renews it already, and this one still holds.
            Some((None, Some(old))) if self.turn.try_lock().is_err() => Ok(Some(old)),
            _ => self.renewed(None).await,
        }
    }

    /// Told of a request that was refused.
    pub(crate) async fn refused(
        &self,
        status: u16,
        challenges: &[String],
    ) -> Result<Refusal, SignInError> {
        if status == 403 {
            let more = challenges.iter().find_map(|text| more_scope(text));
            return Ok(more.map_or(Refusal::SignIn, Refusal::More));
        }
        let used = {
            let now = self.lock();
            let young = now.since.is_some_and(|since| since.elapsed() < YOUNG);
            match &now.kept {
                Some(_) if young => return Ok(Refusal::Again),
                Some(kept) => kept.secrets.access.clone(),
                None => None,
            }
        };
        match self.renewed(used).await {
            Ok(Some(_)) => Ok(Refusal::Again),
            Ok(None) => Ok(Refusal::SignIn),
            Err(error) if error.trouble == Trouble::NotSignedIn => Ok(Refusal::SignIn),
            Err(error) => Err(error),
        }
    }

    /// Forgets what is at hand: somebody has signed in, or out.
    pub(crate) fn forget(&self) {
        *self.lock() = Now::default();
    }

    /// What is kept, taken up without a look at its time.
    #[cfg(test)]
    pub(super) async fn take_up(&self) {
        let kept = read_kept(&self.vault, &self.wanted.key).await.unwrap();
        *self.lock() = Now { kept, since: None };
    }

    #[cfg(test)]
    pub(super) async fn hold_the_turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    #[cfg(test)]
    pub(super) fn age(&self) {
        self.lock().since = None;
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A token other than the one that was refused, and not at its end: the one that is kept, where
    /// somebody else renewed it, or a new one.
    async fn renewed(&self, refused: Option<String>) -> Result<Option<String>, SignInError> {
        let turn = self.turn.lock().await;
        // Who waited for the turn may find that it is done.
        let done = {
            let now = self.lock();
            let kept = now
                .kept
                .as_ref()
                .and_then(|kept| kept.token((self.clock)()));
            kept.filter(|token| Some(*token) != refused.as_deref())
                .map(str::to_owned)
        };
        if done.is_some() {
            return Ok(done);
        }
        let vault = self.vault.clone();
        let key = self.wanted.key.clone();
        let locked = tokio::task::spawn_blocking(move || vault.lock(&key)).await;
        let locked = locked.ok().and_then(Result::ok);
        let _lock = locked.ok_or_else(|| {
            SignInError::new(Trouble::Store, "the file of the sign-in cannot be locked")
        })?;
        let kept = read_kept(&self.vault, &self.wanted.key).await?;
        let Some(kept) = kept.filter(|kept| kept.entry.url == self.wanted.url) else {
            *self.lock() = Now::default();
            return Ok(None);
        };
        let fresh = kept
            .token((self.clock)())
            .filter(|token| Some(*token) != refused.as_deref());
        let kept = if fresh.is_some() {
            kept
        } else {
            self.renew(kept).await?
        };
        let token = kept.secrets.access.clone();
        *self.lock() = Now {
            kept: Some(kept),
            since: Some(Instant::now()),
        };
        drop(turn);
        Ok(token)
    }

    /// Spends the refresh token. The file is locked.
    async fn renew(&self, mut kept: Kept) -> Result<Kept, SignInError> {
        let ended = || SignInError::new(Trouble::NotSignedIn, "the sign-in has ended");
        let refresh = kept.secrets.refresh.clone().ok_or_else(ended)?;
        let token =
            json!({"access_token": "none", "token_type": "Bearer", "refresh_token": refresh});
        let token = serde_json::from_value(token).map_err(|_| ended())?;
        let entry = &kept.entry;
        let stored = StoredCredentials::new(
            entry.client_id.clone(),
            Some(token),
            entry.scopes.clone(),
            None,
        );
        let slot = Slot::holding(stored.with_issuer(Some(entry.issuer.clone())));
        let wire = Wire::told_before(
            Arc::clone(&self.web),
            self.wanted.ground,
            self.wanted.client.issuer.clone(),
            entry.told.clone(),
        );
        let from = (entry.url.as_str(), entry.challenge.as_deref());
        let mut found = discover(from, wire, slot.clone()).await?;
        // What was kept says where the refresh token goes.
        if found.facts.issuer != entry.issuer || found.facts.token.as_str() != entry.token_endpoint
        {
            return Err(ended());
        }
        let mut client = OAuthClientConfig::new(entry.client_id.as_str(), entry.redirect.as_str());
        if let Some(secret) = &kept.secrets.client {
            client = client.with_client_secret(secret.as_str());
        }
        found
            .manager
            .configure_client(client)
            .map_err(|_| ended())?;
        let got = sdk::quiet(found.manager.refresh_token()).await;
        match got {
            Ok(_) => {}
            Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => {
                // It is spent or withdrawn: who Creance is there stays known.
                kept.secrets.access = None;
                kept.secrets.refresh = None;
                write_kept(&self.vault, &self.wanted.key, kept).await?;
                return Err(ended());
            }
            Err(_) => {
                let why = found
                    .wire
                    .code()
                    .map_or_else(String::new, |code| format!(": {code}"));
                let text = format!("the sign-in could not be renewed{why}");
                return Err(found
                    .wire
                    .fault()
                    .unwrap_or_else(|| SignInError::new(Trouble::Network, text)));
            }
        }
        let got = slot.take().ok_or_else(ended)?;
        let kept = filled(kept, &got, (self.clock)())?;
        write_kept(&self.vault, &self.wanted.key, kept.clone()).await?;
        Ok(kept)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("wanted", &self.wanted.key)
            .finish_non_exhaustive()
    }
}

/// The scopes of a challenge that wants more.
pub(super) fn more_scope(challenge: &str) -> Option<Vec<String>> {
    let fields = fields(challenge);
    let of = |name: &str| {
        fields
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    if of("error") != Some("insufficient_scope") {
        return None;
    }
    let scopes = of("scope").unwrap_or_default().split_ascii_whitespace();
    Some(scopes.map(str::to_owned).collect())
}

/// The parameters of a challenge (RFC 9110, 11.2), names in lower case.
fn fields(challenge: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut rest = challenge;
    while let Some((before, after)) = rest.split_once('=') {
        let name = before.rsplit([' ', ',', '\t']).next().unwrap_or_default();
        let (value, left) = match after.strip_prefix('"') {
            Some(quoted) => quoted_value(quoted),
            None => {
                let end = after.find([',', ' ', '\t']).unwrap_or(after.len());
                let (value, left) = after.split_at_checked(end).unwrap_or((after, ""));
                (value.to_owned(), left)
            }
        };
        fields.push((name.to_ascii_lowercase(), value));
        rest = left;
    }
    fields
}

fn quoted_value(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            '"' => return (value, text.get(at + 1..).unwrap_or_default()),
            other => value.push(other),
        }
    }
    (value, "")
}

/// What is kept under a key.
pub(super) async fn read_kept(vault: &Vault, key: &str) -> Result<Option<Kept>, SignInError> {
    let (vault, key) = (vault.clone(), key.to_owned());
    let read = tokio::task::spawn_blocking(move || vault.read(&key)).await;
    let read = read.map_err(|_| store_error("it could not be read"))?;
    let Some(safe) = read.map_err(|error| store_error(&error.to_string()))? else {
        return Ok(None);
    };
    // One that cannot be read is none: a new sign-in replaces it.
    let entry: Option<Entry> = serde_json::from_str(&safe.open).ok();
    let secrets: Secrets = serde_json::from_str(&safe.secret).unwrap_or_default();
    Ok(entry.map(|entry| Kept { entry, secrets }))
}

pub(super) async fn write_kept(vault: &Vault, key: &str, kept: Kept) -> Result<(), SignInError> {
    let (vault, key) = (vault.clone(), key.to_owned());
    let unwritten = |_| store_error("it could not be written");
    let open = serde_json::to_string(&kept.entry).map_err(unwritten)?;
    let secret = serde_json::to_string(&kept.secrets).map_err(unwritten)?;
    let safe = Safe { open, secret };
    let written = tokio::task::spawn_blocking(move || vault.write(&key, &safe)).await;
    let written = written.map_err(|_| store_error("it could not be written"))?;
    written.map_err(|error| store_error(&error.to_string()))
}

/// Forgets what is kept under a key; whether there was something.
pub(crate) async fn forget(vault: &Vault, key: &str) -> Result<bool, SignInError> {
    let (vault, key) = (vault.clone(), key.to_owned());
    let gone = tokio::task::spawn_blocking(move || {
        let _lock = vault.lock(&key)?;
        vault.remove(&key)
    });
    let gone = gone
        .await
        .map_err(|_| store_error("it could not be forgotten"))?;
    gone.map_err(|error| store_error(&error.to_string()))
}

fn store_error(why: &str) -> SignInError {
    SignInError::new(Trouble::Store, format!("where sign-ins are kept: {why}"))
}
