//! One configured server in the gateway: its state, and the running server behind it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::ServerDefinition;
use crate::enforce::Server;
use crate::request::ServerId;

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
            Self::Failed(_) => "failed",
            Self::Connected(_) => "connected",
            Self::Stopped(_) => "stopped",
        }
    }

    /// Why, where there is more to say.
    pub(crate) fn why(&self) -> Option<&str> {
        match self {
            Self::Denied(why) | Self::Failed(why) | Self::Stopped(why) => Some(why),
            Self::Waiting => Some("answer in the client, or run `creance approve` in a terminal"),
            _ => None,
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
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: State,
    restarts: u32,
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
            inner: Mutex::new(Inner { state, restarts: 0 }),
        }
    }

    /// Its identity.
    pub(crate) fn id(&self) -> &ServerId {
        &self.definition.id
    }

    /// Its state.
    pub(crate) fn state(&self) -> State {
        self.lock().state.clone()
    }

    /// Sets its state.
    pub(crate) fn set(&self, state: State) {
        self.lock().state = state;
    }

    /// The running server.
    pub(crate) fn server(&self) -> Option<Arc<Server>> {
        match &self.lock().state {
            State::Connected(server) => Some(Arc::clone(server)),
            _ => None,
        }
    }

    /// Claims the start: true for one caller only, and only from a state that may be started.
    pub(crate) fn claim_start(&self) -> bool {
        let mut inner = self.lock();
        match inner.state {
            State::Idle => {}
            State::Stopped(_) if inner.restarts < RESTARTS_MAX => inner.restarts += 1,
            _ => return false,
        }
        inner.state = State::Starting;
        true
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
