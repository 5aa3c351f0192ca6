//! Who decides, and what the proxy tells about each connection. The proxy knows words only: a
//! [`Gate`] is what joins it to decisions.

use std::fmt;
use std::pin::Pin;

use crate::address::{Reach, Target};

use super::refusal::Refusal;

/// Decides connections and hears of them.
pub(crate) trait Gate: Send + Sync + fmt::Debug + 'static {
    /// Judges one connection, by the name alone, before any look-up. The client waits meanwhile, also
    /// while a person is asked. Dropping the future withdraws the question: the client left, or the
    /// proxy closes. A verdict that a [`cut`](super::Proxy::cut) overtakes is asked for again.
    fn judge<'a>(&'a self, wanted: &'a Wanted) -> Judging<'a>;

    /// Hears what came of a connection. Must not wait.
    fn report(&self, event: EgressEvent);
}

/// A verdict to come.
pub(crate) type Judging<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// A connection that a program wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Its number: 1, 2, … in the order in which this proxy accepted them.
    pub(crate) id: u64,
    /// Where it goes.
    pub(crate) target: Target,
    /// How the program asks for it.
    pub(crate) way: Way,
}

/// How a program asks for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// `CONNECT host:port`.
    Connect,
    /// One request of plain HTTP, `GET http://host/`.
    Http,
    /// SOCKS5.
    Socks,
}

impl Way {
    /// The name in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Http => "http",
            Self::Socks => "socks",
        }
    }
}

/// What the gate answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The connection may be made, under these terms.
    Allow(Terms),
    /// It may not. The reason reaches the program, one line: it names the way out for people.
    Deny {
        /// Why.
        reason: String,
    },
}

/// The terms of an allowed connection. The default is what an ordinary rule grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Which addresses it may lead to.
    pub(crate) reach: Reach,
    /// What may pass.
    pub(crate) carries: Carries,
}

/// What may pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Carries {
    /// TLS to the very host, and nothing that others on the way can read.
    Tls,
    /// TLS to the very host, or one request of plain HTTP to it.
    #[default]
    Web,
    /// Any bytes (SSH, a database): by an explicit rule only, since nothing in them can be checked
    /// against the host.
    Anything,
}

/// What happened to a connection. Holds no path, no query, no header, no byte of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EgressEvent {
    /// It stands: a checked address was dialled, and what the program sent first names the host that
    /// was judged.
    Opened {
        /// What was wanted.
        wanted: Wanted,
    },
    /// It ended. Comes once for each `Opened`.
    Closed {
        /// What was wanted.
        wanted: Wanted,
        /// Why.
        end: End,
        /// Bytes each way.
        traffic: Traffic,
    },
    /// The proxy itself refused it, or could not make it; never followed by `Opened`. Denials of the
    /// gate are not told again.
    Refused {
        /// What was wanted, where the program came so far as to say it.
        wanted: Option<Wanted>,
        /// Why.
        refusal: Refusal,
    },
    /// The proxy ended though nobody closed it: the sandbox has no network from now on.
    Lost,
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Both sides were done.
    Done,
    /// One side broke it off.
    Broken,
    /// Nothing passed for too long.
    Idle,
    /// Too many bytes passed.
    Spent,
    /// It is no longer allowed.
    Cut,
    /// The proxy closed.
    Closed,
}

impl End {
    /// The name in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Broken => "broken",
            Self::Idle => "idle",
            Self::Spent => "spent",
            Self::Cut => "cut",
            Self::Closed => "closed",
        }
    }
}

/// Bytes that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// From the program to the host.
    pub(crate) up: u64,
    /// From the host to the program.
    pub(crate) down: u64,
}
