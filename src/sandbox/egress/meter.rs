//! What passes through one connection, counted against its limits and its idle time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::gate::{End, Traffic};
use super::limits::EgressLimits;
use super::registry::Count;

/// Counts one connection.
#[derive(Debug)]
pub(super) struct Meter {
    own: Count,
    total: Arc<Count>,
    limits: EgressLimits,
    start: Instant,
    /// Milliseconds after the start at which something passed last.
    last_ms: AtomicU64,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the program to the host.
    Up,
    /// From the host to the program.
    Down,
}

impl Meter {
    pub(super) fn new(total: Arc<Count>, limits: EgressLimits) -> Self {
        Self {
            own: Count::default(),
            total,
            limits,
            start: Instant::now(),
            last_ms: AtomicU64::new(0),
        }
    }

    /// Bytes are about to pass.
    ///
    /// # Errors
    /// More than the target gets: they must not pass.
    pub(super) fn count(&self, direction: Direction, bytes: usize) -> Result<(), End> {
        self.touch();
        let bytes = bytes as u64;
        let (total, max) = match direction {
            Direction::Up => (self.total.add_up(bytes), self.limits.up_bytes),
            Direction::Down => (self.total.add_down(bytes), self.limits.down_bytes),
        };
        if max.is_some_and(|max| total > max) {
            return Err(End::Spent);
        }
        match direction {
            Direction::Up => self.own.add_up(bytes),
            Direction::Down => self.own.add_down(bytes),
        };
        Ok(())
    }

    /// Whether the target got all that it gets.
    pub(super) fn is_spent(&self) -> bool {
        let total = self.total.traffic();
        let over = |bytes, max: Option<u64>| max.is_some_and(|max| bytes >= max);
        over(total.up, self.limits.up_bytes) || over(total.down, self.limits.down_bytes)
    }

    /// Something passed.
    pub(super) fn touch(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(now, Ordering::Relaxed);
    }

    /// Waits until nothing has passed for too long.
    pub(super) async fn idle(&self) {
        loop {
            let last = self.last_ms.load(Ordering::Relaxed);
            let due = Duration::from_millis(last.saturating_add(self.limits.idle_ms));
            if self.start.elapsed() >= due {
                return;
            }
            sleep_until(self.start + due).await;
        }
    }

    /// What passed.
    pub(super) fn traffic(&self) -> Traffic {
        self.own.traffic()
    }
}
