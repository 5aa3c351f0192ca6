//! Why a server's request is none that can be put to anybody.

use std::fmt;

use crate::protocol::rpc::{INVALID_PARAMS, RpcError};

/// Why, in words for whoever wrote the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused(String);

impl Refused {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    /// The answer to the server.
    pub(crate) fn to_error(&self) -> RpcError {
        RpcError::new(INVALID_PARAMS, self.0.clone())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}
