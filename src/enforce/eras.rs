//! Which servers do not know `server/discover`: they are not asked a second time in one run. What is
//! known holds for one definition with one program.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::digest::Digest;
use crate::protocol::mcp::Era;
use crate::request::ServerFacts;
use crate::transport::Known;

/// What is known of servers' eras.
#[derive(Debug, Default)]
pub(crate) struct Eras(Mutex<HashSet<Digest>>);

impl Eras {
    /// What is known of a server.
    pub(super) fn of(&self, server: &ServerFacts) -> Known {
        let legacy = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if legacy.contains(&server.itself) {
            Known::Legacy
        } else {
            Known::Nothing
        }
    }

    /// Keeps how a server answered.
    pub(super) fn keep(&self, server: &ServerFacts, era: Era) {
        let mut legacy = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match era {
            Era::Legacy(_) => legacy.insert(server.itself),
            Era::Modern => legacy.remove(&server.itself),
        };
    }
}
