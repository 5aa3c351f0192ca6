//! Whether the servers that were begun are up: those who cannot be told later wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;

/// Starts under way.
#[derive(Clone, Debug)]
pub(super) struct Starting {
    count: Arc<AtomicUsize>,
    up: Arc<watch::Sender<bool>>,
}

/// One start, until it is dropped: the server's tools can be used, or it failed, or a person is asked.
#[derive(Debug)]
pub(super) struct Begun(Starting);

impl Default for Starting {
    fn default() -> Self {
        Self {
            count: Arc::default(),
            up: Arc::new(watch::Sender::new(false)),
        }
    }
}

impl Starting {
    /// Notes a start.
    pub(super) fn one(&self) -> Begun {
        self.count.fetch_add(1, Ordering::SeqCst);
        Begun(self.clone())
    }

    /// True once all that was begun first is up, or waits for a person.
    pub(super) fn up(&self) -> watch::Receiver<bool> {
        self.up.subscribe()
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.up.send_replace(true);
        }
    }
}
