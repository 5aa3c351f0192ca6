//! The SDK's flow behind our own stores: one state that is used once and ends with the waiting, one place
//! for what it got. Its events hold codes and tokens, so none of them is heard.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore, StateStore, StoredAuthorizationState,
    StoredCredentials,
};
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;

use super::error::{SignInError, Trouble};
use super::wire::Wire;

/// A state is good for so long; nobody waits longer for its answer.
pub(super) const STATE_LIMIT: Duration = Duration::from_secs(300);

type Boxed<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the SDK got, or starts from.
#[derive(Clone, Default)]
pub(super) struct Slot(Arc<Mutex<Option<StoredCredentials>>>);

impl Slot {
    pub(super) fn holding(credentials: StoredCredentials) -> Self {
        Self(Arc::new(Mutex::new(Some(credentials))))
    }

    pub(super) fn take(&self) -> Option<StoredCredentials> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, credentials: Option<StoredCredentials>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = credentials;
    }

    fn get(&self) -> Option<StoredCredentials> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl CredentialStore for Slot {
    fn load<'life0, 'async_trait>(
        &'life0 self,
    ) -> Boxed<'async_trait, Result<Option<StoredCredentials>, AuthError>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async { Ok(self.get()) })
    }

    fn save<'life0, 'async_trait>(
        &'life0 self,
        credentials: StoredCredentials,
    ) -> Boxed<'async_trait, Result<(), AuthError>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async {
            self.set(Some(credentials));
            Ok(())
        })
    }

    fn clear<'life0, 'async_trait>(&'life0 self) -> Boxed<'async_trait, Result<(), AuthError>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async {
            self.set(None);
            Ok(())
        })
    }
}

/// The one state of a flow.
#[derive(Clone)]
pub(super) struct OneState {
    kept: Arc<Mutex<Option<(String, StoredAuthorizationState, Instant)>>>,
    limit: Duration,
}

impl OneState {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            kept: Arc::default(),
            limit,
        }
    }

    fn find(&self, name: &str) -> Option<StoredAuthorizationState> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, state, since) = kept.as_ref()?;
        (known == name && since.elapsed() < self.limit).then(|| state.clone())
    }

    fn put(&self, state: Option<(String, StoredAuthorizationState, Instant)>) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

impl StateStore for OneState {
    fn save<'life0, 'life1, 'async_trait>(
        &'life0 self,
        name: &'life1 str,
        state: StoredAuthorizationState,
    ) -> Boxed<'async_trait, Result<(), AuthError>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            self.put(Some((name.to_owned(), state, Instant::now())));
            Ok(())
        })
    }

    fn load<'life0, 'life1, 'async_trait>(
        &'life0 self,
        name: &'life1 str,
    ) -> Boxed<'async_trait, Result<Option<StoredAuthorizationState>, AuthError>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move { Ok(self.find(name)) })
    }

    fn delete<'life0, 'life1, 'async_trait>(
        &'life0 self,
        _name: &'life1 str,
    ) -> Boxed<'async_trait, Result<(), AuthError>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async {
            self.put(None);
            Ok(())
        })
    }
}

/// A flow of the SDK for one server.
pub(super) async fn manager(
    url: &str,
    wire: &Wire,
    slot: Slot,
) -> Result<AuthorizationManager, SignInError> {
    let made = quiet(AuthorizationManager::new_with_oauth_http_client(
        url,
        wire.as_client(),
    ))
    .await;
    let mut manager = made.map_err(|_| {
        SignInError::new(Trouble::Description, "the server's address cannot be read")
    })?;
    manager.set_credential_store(slot);
    manager.set_state_store(OneState::new(STATE_LIMIT));
    Ok(manager)
}

/// Runs the SDK without anybody listening to its events.
pub(super) async fn quiet<F: Future>(future: F) -> F::Output {
    future.with_subscriber(NoSubscriber::default()).await
}
