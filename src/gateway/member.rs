//! One configured server in the gateway: its state, and the running server behind it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tokio::sync::watch;

use crate::config::ServerDefinition;
use crate::enforce::Server;
use crate::request::{ServerId, Source};

/// How often a server that died is started again in one run.
pub(crate) const RESTARTS_MAX: u32 = 3;

/// The state of a configured server.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// Switched off in its configuration.
    Disabled,
    /// Not started yet.
    Idle,
    /// Being started.
    Starting,
    /// A person is asked.
    Waiting,
    /// Policy or a person said no.
    Denied(String),
    /// A remote server that wants a sign-in first: its origin.
    SignIn(String),
    /// It did not start, or answered badly.
    Failed(String),
    /// It runs.
    Connected(Arc<Server>),
    /// It ran, and ended.
    Stopped(String),
}

impl State {
    /// The state in one word.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Waiting => "waiting for an answer",
            Self::Denied(_) => "denied",
            Self::SignIn(_) => "needs a sign-in",
            Self::Failed(_) => "failed",
            Self::Connected(_) => "connected",
            Self::Stopped(_) => "stopped",
        }
    }

    /// Why, where there is more to say.
    pub(crate) fn why(&self) -> Option<&str> {
        match self {
            Self::Denied(why) | Self::Failed(why) | Self::Stopped(why) | Self::SignIn(why) => {
                Some(why)
            }
            Self::Waiting => Some("answer in the client, or run `creance approve` in a terminal"),
            _ => None,
        }
    }

    /// In words for a model. Why a server that comes with a repository does not run holds the
    /// repository's text, and nobody has agreed to it yet: that is for people alone.
    pub(crate) fn for_model(&self, source: Source) -> String {
        match self {
            Self::Denied(_) | Self::Failed(_) if source == Source::Project => format!(
                "{}; `creance server status` tells the person why",
                self.word()
            ),
            state => state.to_string(),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why() {
            Some(why) => write!(f, "{}: {why}", self.word()),
            None => f.write_str(self.word()),
        }
    }
}

/// One configured server.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) definition: ServerDefinition,
    state: watch::Sender<State>,
    restarts: AtomicU32,
    /// Lines of its output that were no messages.
    stray: AtomicU64,
    /// The addresses of its resources whose changes the client wants to hear of.
    subscribed: watch::Sender<BTreeSet<String>>,
}

impl Member {
    /// A server that is not started yet.
    pub(crate) fn new(definition: ServerDefinition) -> Self {
        let state = if definition.enabled {
            State::Idle
        } else {
            State::Disabled
        };
        Self {
            definition,
            state: watch::Sender::new(state),
            restarts: AtomicU32::new(0),
            stray: AtomicU64::new(0),
            subscribed: watch::Sender::default(),
        }
    }

    /// Its identity.
    pub(crate) fn id(&self) -> &ServerId {
        &self.definition.id
    }

    /// Its state.
    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Sets its state.
    pub(crate) fn set(&self, state: State) {
        self.state.send_replace(state);
    }

    /// Its state once no start is under way.
    pub(crate) async fn settled(&self) -> State {
        self.past(|state| matches!(state, State::Starting | State::Waiting))
            .await
    }

    /// Waits until its start waits for a person.
    pub(crate) async fn waits(&self) {
        self.past(|state| !matches!(state, State::Waiting)).await;
    }

    /// Its state once it is none of these.
    async fn past(&self, these: impl Fn(&State) -> bool) -> State {
        let mut states = self.state.subscribe();
        match states.wait_for(|state| !these(state)).await {
            Ok(state) => state.clone(),
            // The sender is this very member's.
            Err(_) => self.state(),
        }
    }

    /// Waits until this server is not the running one any more.
    pub(crate) async fn let_go(&self, server: &Arc<Server>) {
        let mut states = self.state.subscribe();
        let other =
            |state: &State| !matches!(state, State::Connected(now) if Arc::ptr_eq(now, server));
        // It fails only when this member is gone.
        let _ = states.wait_for(other).await;
    }

    /// The running server.
    pub(crate) fn server(&self) -> Option<Arc<Server>> {
        match &*self.state.borrow() {
            State::Connected(server) => Some(Arc::clone(server)),
            _ => None,
        }
    }

    /// Claims the start: true for one caller only, and only from a state that may be started.
    pub(crate) fn claim_start(&self) -> bool {
        self.state.send_if_modified(|state| {
            match state {
                State::Idle => {}
                State::Stopped(_) if self.restarts.load(Ordering::Relaxed) < RESTARTS_MAX => {
                    self.restarts.fetch_add(1, Ordering::Relaxed);
                }
                _ => return false,
            }
            *state = State::Starting;
            true
        })
    }

    /// Whether it may be started again after it stopped.
    pub(crate) fn may_restart(&self) -> bool {
        self.restarts.load(Ordering::Relaxed) < RESTARTS_MAX
    }

    /// Sets what is wanted of it.
    pub(crate) fn subscribe(&self, addresses: BTreeSet<String>) {
        self.subscribed.send_if_modified(|now| {
            let other = *now != addresses;
            *now = addresses;
            other
        });
    }

    /// What is wanted of it.
    pub(crate) fn subscribed(&self) -> watch::Receiver<BTreeSet<String>> {
        self.subscribed.subscribe()
    }

    /// Counts lines that were no messages; returns how many there were in all.
    pub(crate) fn count_stray(&self, count: usize) -> u64 {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.stray.fetch_add(count, Ordering::Relaxed) + count
    }

    /// How many lines of its output were no messages.
    pub(crate) fn stray(&self) -> u64 {
        self.stray.load(Ordering::Relaxed)
    }
}
