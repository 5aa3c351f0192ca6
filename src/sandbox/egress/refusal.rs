//! Why the proxy itself refuses a connection, and how each protocol says so.

use std::fmt;

use crate::address::{TargetError, Unreachable};

/// Why the proxy refuses, or cannot make, a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// What came in is no request of the protocol.
    Misfit(&'static str),
    /// Another SOCKS5 command than `CONNECT`.
    NoSuchCommand,
    /// A kind of address that SOCKS5 does not have.
    NoSuchAddress,
    /// It names no target.
    Target(TargetError),
    /// The target leads where it may not.
    Unreachable(Unreachable),
    /// It leads to this machine by an address of one of its own interfaces.
    OwnAddress,
    /// The name leads nowhere, or could not be looked up.
    Lookup(&'static str),
    /// No address answered.
    Dial(&'static str),
    /// What the program sent first does not go to the host that was judged.
    Hello(&'static str),
    /// More connections than one sandbox gets.
    Busy,
    /// As many bytes passed as one target gets.
    Spent,
    /// It is no longer allowed.
    Cut,
    /// The program left while it waited.
    Left,
    /// The proxy closed meanwhile.
    Closed,
    /// Nothing came in time.
    Late(&'static str),
    /// The gate changed its mind again and again.
    Unsettled,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misfit(reason) | Self::Hello(reason) | Self::Lookup(reason) => {
                f.write_str(reason)
            }
            Self::NoSuchCommand => {
                f.write_str("of SOCKS5, CONNECT alone is served: no BIND, no UDP")
            }
            Self::NoSuchAddress => f.write_str("SOCKS5 has no such kind of address"),
            Self::Dial(reason) => write!(f, "could not connect: {reason}"),
            Self::Target(error) => error.fmt(f),
            Self::Unreachable(error) => error.fmt(f),
            Self::OwnAddress => f.write_str("it leads to this machine itself"),
            Self::Busy => f.write_str("too many connections at one time"),
            Self::Spent => f.write_str("as many bytes passed as this host gets"),
            Self::Cut => f.write_str("it is no longer allowed"),
            Self::Left => f.write_str("the program left before it was answered"),
            Self::Closed => f.write_str("the sandbox ends"),
            Self::Late(what) => write!(f, "{what} did not come in time"),
            Self::Unsettled => f.write_str("the policy changes faster than it is judged"),
        }
    }
}

impl From<TargetError> for Refusal {
    fn from(error: TargetError) -> Self {
        Self::Target(error)
    }
}

impl From<Unreachable> for Refusal {
    fn from(error: Unreachable) -> Self {
        Self::Unreachable(error)
    }
}
