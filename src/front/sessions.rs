//! All conversations: found by their id, bounded in number, ended when nobody uses them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::DuplexStream;
use tokio::sync::{Notify, watch};

use crate::digest::Digest;

use super::reply::Refusal;
use super::session::{Manners, Session};
use super::tokens::{Principal, new_token};

/// Opens a gateway for somebody.
pub(crate) type Opener = Arc<dyn Fn(&Principal) -> Result<Opened, String> + Send + Sync>;

/// A gateway for one conversation.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Messages, one a line. The gateway ends when it does.
    pub(crate) pipe: DuplexStream,
    /// True once its servers are up.
    pub(crate) up: watch::Receiver<bool>,
}

/// All conversations.
pub(super) struct Sessions {
    open: Opener,
    table: Mutex<HashMap<Key, Arc<Session>>>,
    /// A stream lost its reader.
    left: Arc<Notify>,
}

/// What a conversation is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// `Mcp-Session-Id`.
    Legacy(String),
    /// Who asks, with which client and which capabilities: modern requests stand alone, and those
    /// that agree in this share servers.
    Modern(Digest),
}

impl Sessions {
    /// None yet.
    pub(super) fn new(open: Opener) -> Self {
        Self {
            open,
            table: Mutex::default(),
            left: Arc::default(),
        }
    }

    /// A new conversation of a legacy client, and its id.
    ///
    /// # Errors
    /// There are too many, or no gateway can be opened.
    pub(super) async fn begin(
        &self,
        principal: &Principal,
    ) -> Result<(String, Arc<Session>), Refusal> {
        let id = new_token().map_err(|e| Refusal::busy(format!("no random numbers: {e}")))?;
        let session = self.enter(Key::Legacy(id.clone()), principal).await?;
        Ok((id, session))
    }

    /// A legacy client's conversation.
    ///
    /// # Errors
    /// There is none, or it is somebody else's: nobody learns which.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Result<Arc<Session>, Refusal> {
        let found = self.lock().get(&Key::Legacy(id.to_owned())).cloned();
        found
            .filter(|session| session.principal == *principal && !session.is_over())
            .ok_or(Refusal::no_session())
    }

    /// The conversation of modern requests that agree in `client`.
    ///
    /// # Errors
    /// As [`Sessions::begin`].
    pub(super) async fn of(
        &self,
        principal: &Principal,
        client: &str,
    ) -> Result<Arc<Session>, Refusal> {
        let fields = [principal.as_str(), client];
        let key = Key::Modern(Digest::of_fields("modern-client/1", fields));
        let found = self.lock().get(&key).cloned();
        match found.filter(|session| !session.is_over()) {
            Some(session) => Ok(session),
            None => self.enter(key, principal).await,
        }
    }

    /// Ends a legacy client's conversation.
    pub(super) fn end(&self, id: &str) {
        let gone = self.lock().remove(&Key::Legacy(id.to_owned()));
        if let Some(session) = gone {
            session.end();
        }
    }

    /// Ends all.
    pub(super) fn end_all(&self) {
        for (_, session) in self.lock().drain() {
            session.end();
        }
    }

    /// Looks after all: cancels what nobody waits for, ends what nobody uses.
    pub(super) async fn tend(&self) {
        loop {
            let _ = tokio::time::timeout(TEND_EVERY, self.left.notified()).await;
            let all: Vec<(Key, Arc<Session>)> = {
                let table = self.lock();
                let pairs = table.iter();
                pairs
                    .map(|(key, session)| (key.clone(), Arc::clone(session)))
                    .collect()
            };
            for (key, session) in all {
                session.tend();
                let idle = session.idle_for().is_some_and(|idle| idle >= IDLE_MAX);
                let done = (session.is_over() || idle).then(|| self.lock().remove(&key));
                done.flatten().into_iter().for_each(|session| session.end());
            }
        }
    }

    async fn enter(&self, key: Key, principal: &Principal) -> Result<Arc<Session>, Refusal> {
        self.make_room(principal)?;
        let (open, who) = (Arc::clone(&self.open), principal.clone());
        // Policies are read and the log is opened: that blocks.
        let opened = tokio::task::spawn_blocking(move || open(&who)).await;
        let gateway = opened
            .map_err(|_| "it did not start".to_owned())
            .and_then(|gateway| gateway)
            .map_err(|why| {
                tracing::error!("no gateway for a new session: {why}");
                Refusal::busy("no gateway can be opened now; the gateway's own log says why")
            })?;
        let manners = match key {
            Key::Legacy(_) => Manners::Legacy,
            Key::Modern(_) => Manners::Modern,
        };
        let session = Session::begin(principal.clone(), manners, gateway, Arc::clone(&self.left));
        let mut table = self.lock();
        // Another request may have been faster: then all share that one.
        if let Some(other) = table.get(&key).filter(|other| !other.is_over()) {
            session.end();
            return Ok(Arc::clone(other));
        }
        table.insert(key, Arc::clone(&session));
        Ok(session)
    }

    /// At the bound, the principal's own conversation goes that was not used for longest.
    fn make_room(&self, principal: &Principal) -> Result<(), Refusal> {
        let mut table = self.lock();
        let own = table.values().filter(|s| s.principal == *principal).count();
        if own < OWN_MAX && table.len() < ALL_MAX {
            return Ok(());
        }
        let idle = table
            .iter()
            .filter(|(_, session)| session.principal == *principal)
            .filter_map(|(key, session)| Some((session.idle_for()?, key.clone())))
            .max_by_key(|(idle, _)| *idle);
        let Some((_, key)) = idle else {
            return Err(Refusal::busy(format!(
                "too many sessions ({OWN_MAX} a token, {ALL_MAX} in all), and none of yours is idle"
            )));
        };
        if let Some(session) = table.remove(&key) {
            session.end();
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<Session>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Conversations of one principal, and of all.
const OWN_MAX: usize = 32;
const ALL_MAX: usize = 128;
const IDLE_MAX: Duration = Duration::from_secs(30 * 60);
const TEND_EVERY: Duration = Duration::from_secs(1);
