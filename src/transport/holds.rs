//! Time that does not count: while a person is asked on a server's behalf, the limits of its calls
//! stand still, since they are about the server and not about people.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The holds of one server; clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Holds(Arc<watch::Sender<Held>>);

#[derive(Clone, Copy, Debug)]
struct Held {
    /// Holds that stand now.
    open: usize,
    /// When the first of these began.
    since: Instant,
    /// What the holds before them took.
    before: Duration,
}

/// A hold, until it is dropped.
#[derive(Debug)]
pub(crate) struct Hold(Holds);

/// Time since a moment, less what was held.
#[derive(Debug)]
pub(crate) struct Clock {
    begun: Instant,
    held: Duration,
    holds: Holds,
}

impl Default for Holds {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Held {
            open: 0,
            since: Instant::now(),
            before: Duration::ZERO,
        })))
    }
}

impl Holds {
    /// Begins a hold.
    pub(crate) fn begin(&self) -> Hold {
        self.0.send_modify(|held| {
            if held.open == 0 {
                held.since = Instant::now();
            }
            held.open += 1;
        });
        Hold(self.clone())
    }

    /// Whether there is one now.
    pub(crate) fn is_open(&self) -> bool {
        self.0.borrow().open > 0
    }

    /// A clock that starts now.
    pub(crate) fn clock(&self) -> Clock {
        Clock {
            begun: Instant::now(),
            held: self.total(),
            holds: self.clone(),
        }
    }

    /// Waits until there is one.
    pub(super) async fn some(&self) {
        self.until(|held| held.open > 0).await;
    }

    /// Waits until there is none.
    pub(super) async fn none(&self) {
        self.until(|held| held.open == 0).await;
    }

    async fn until(&self, is: impl Fn(&Held) -> bool) {
        let mut held = self.0.subscribe();
        // The sender lives in `self`, so this waits and does not fail.
        let _ = held.wait_for(|held| is(held)).await;
    }

    fn total(&self) -> Duration {
        let held = *self.0.borrow();
        let now = if held.open > 0 {
            held.since.elapsed()
        } else {
            Duration::ZERO
        };
        held.before + now
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.0.send_modify(|held| {
            held.open -= 1;
            if held.open == 0 {
                held.before += held.since.elapsed();
            }
        });
    }
}

impl Clock {
    /// What passed, less what was held.
    pub(crate) fn elapsed(&self) -> Duration {
        let held = self.holds.total().saturating_sub(self.held);
        self.begun.elapsed().saturating_sub(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds that overlap count once, and a clock counts those only that began with it or later.
    #[tokio::test(start_paused = true)]
    async fn a_clock_stands_while_there_is_a_hold() {
        let second = Duration::from_secs(1);
        let holds = Holds::default();
        drop(holds.begin());
        let early = holds.begin();
        tokio::time::advance(second).await;
        let clock = holds.clock();
        let late = holds.begin();
        tokio::time::advance(second).await;
        drop(early);
        assert!(holds.is_open());
        assert_eq!(clock.elapsed(), Duration::ZERO);
        tokio::time::advance(second).await;
        drop(late);
        assert!(!holds.is_open());
        tokio::time::advance(second).await;
        assert_eq!(clock.elapsed(), second);
    }
}
