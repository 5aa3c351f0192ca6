//! An effect that the host program carries out itself, between its permit and its outcome.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;

use crate::audit::{EventKind, Outcome};
use crate::enforce::Line;
use crate::request::Action;

use super::error::{Error, ErrorKind};

/// A permitted action that the host program carries out now. Say what became of it with
/// [`Effect::ended`]: dropped without a word, it counts as broken off.
#[must_use = "say what became of the effect"]
#[derive(Debug)]
pub struct Effect<A: Action> {
    line: Arc<Line>,
    action: A,
    seq: u64,
    begun: Instant,
    open: bool,
}

impl<A: Action> Effect<A> {
    pub(super) fn new(line: Arc<Line>, (action, seq): (A, u64)) -> Self {
        Self {
            line,
            action,
            seq,
            begun: Instant::now(),
            open: true,
        }
    }

    /// What is permitted: do this and nothing else.
    #[must_use]
    pub fn action(&self) -> &A {
        &self.action
    }

    /// Puts the outcome on record, in a word of the host's own: `Ok("read")`, `Err("not-found")`.
    ///
    /// # Errors
    /// When it cannot be recorded: what the action gave should then not be used.
    pub fn ended(mut self, outcome: Result<&str, &str>) -> Result<(), Error> {
        self.record(outcome)
    }

    fn record(&mut self, outcome: Result<&str, &str>) -> Result<(), Error> {
        self.open = false;
        let took = self.begun.elapsed().as_millis();
        let word = outcome.unwrap_or_else(|word| word);
        let noted = self.line.point.note(EventKind::Outcome(Outcome {
            of: self.seq,
            ok: outcome.is_ok(),
            result: crate::clean::line(word, 100),
            details: json!({}),
            took_ms: u64::try_from(took).unwrap_or(u64::MAX),
        }));
        noted
            .map(drop)
            .map_err(|e| Error::caused(ErrorKind::Audit, e.to_string(), e))
    }
}

impl<A: Action> Drop for Effect<A> {
    fn drop(&mut self) {
        if self.open
            && let Err(error) = self.record(Err("broken-off"))
        {
            tracing::error!("{error}");
        }
    }
}
