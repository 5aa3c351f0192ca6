//! Why a call to a peer has no result.

use std::fmt;
use std::time::Duration;

use crate::protocol::rpc::RpcError;

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// The peer answered with an error; it is kept whole.
    Rpc(RpcError),
    /// No answer, and no sign of progress, for this long.
    Timeout(Duration),
    /// Progress was reported, but this is the longest that any call may take.
    HardTimeout(Duration),
    /// Cancelled by the caller, who said why.
    Cancelled(String),
    /// The peer is gone, and what is known about its end.
    Closed(String),
    /// The peer's answer cannot be used.
    Reply(String),
    /// The request is larger than a message may be.
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The most.
        most: usize,
    },
}

impl CallError {
    /// In one word, for the record.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Rpc(_) => "server-error",
            Self::Timeout(_) | Self::HardTimeout(_) => "timed-out",
            Self::Cancelled(_) => "cancelled",
            Self::Closed(_) => "server-died",
            Self::Reply(_) => "bad-answer",
            Self::TooLarge { .. } => "too-large",
        }
    }

    /// Whether there was no answer in time.
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout(_) | Self::HardTimeout(_))
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rpc(error) => error.fmt(f),
            Self::Timeout(limit) => write!(
                f,
                "no answer and no progress within {}",
                humantime::format_duration(*limit)
            ),
            Self::HardTimeout(limit) => write!(
                f,
                "still at work after {}, the longest that a call may take",
                humantime::format_duration(*limit)
            ),
            Self::Cancelled(why) if why.is_empty() => f.write_str("cancelled"),
            Self::Cancelled(why) => write!(f, "cancelled: {why}"),
            Self::Closed(why) => f.write_str(why),
            Self::Reply(why) => write!(f, "the answer cannot be used: {why}"),
            Self::TooLarge { bytes, most } => {
                write!(f, "the request has {bytes} bytes, at most {most} are sent")
            }
        }
    }
}

impl std::error::Error for CallError {}
