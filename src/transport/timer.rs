//! How long a call may take: a limit that progress restarts, and a hard limit that nothing restarts;
//! and cancelling by the caller. A person is asked about a call before it begins, so no clock runs
//! then; while one is asked about a host that the server wants to reach, the clocks stand.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::error::CallError;
use super::holds::Holds;

/// Tells calls that their result is wanted no more.
#[derive(Clone, Debug)]
pub(crate) struct Cancel(Arc<watch::Sender<Option<String>>>);

impl Default for Cancel {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Cancel {
    /// Whether it was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Cancels; the first reason counts.
    pub(crate) fn cancel(&self, why: impl Into<String>) {
        self.0.send_if_modified(|reason| {
            let first = reason.is_none();
            if first {
                *reason = Some(why.into());
            }
            first
        });
    }

    /// Waits until it is cancelled, and says why.
    pub(crate) async fn cancelled(&self) -> String {
        let mut reason = self.0.subscribe();
        loop {
            let why = reason.borrow_and_update().clone();
            if let Some(why) = why {
                return why;
            }
            // The sender lives in `self`: waiting ends with a reason only.
            if reason.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Waits until a call has taken too long.
pub(super) async fn expired(
    limit: Duration,
    hard: Duration,
    (progress, holds): (&Notify, &Holds),
) -> CallError {
    let (mut left, mut hard_left) = (limit, hard);
    loop {
        holds.none().await;
        let clock = holds.clock();
        let restarted = tokio::select! {
            () = sleep(left.min(hard_left)) => false,
            () = progress.notified() => true,
            () = holds.some() => false,
        };
        let passed = clock.elapsed();
        hard_left = hard_left.saturating_sub(passed);
        left = if restarted {
            limit
        } else {
            left.saturating_sub(passed)
        };
        if left.is_zero() {
            return CallError::Timeout(limit);
        }
        if hard_left.is_zero() {
            return CallError::HardTimeout(hard);
        }
    }
}
