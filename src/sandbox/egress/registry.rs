//! The connections that stand, so that they can be cut, and the bytes that each target got.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::address::Target;

use super::gate::{End, Traffic, Wanted};

/// Targets that are counted one by one; what comes after shares one count.
const TARGETS_MAX: usize = 1024;

/// The connections of one proxy.
#[derive(Debug, Default)]
pub(super) struct Registry {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Counts the cuts: a verdict of an older epoch no longer counts.
    epoch: u64,
    closed: bool,
    live: BTreeMap<u64, Entry>,
    totals: HashMap<Target, Arc<Count>>,
    others: Arc<Count>,
}

#[derive(Debug)]
struct Entry {
    wanted: Wanted,
    stop: oneshot::Sender<End>,
}

/// Bytes each way.
#[derive(Debug, Default)]
pub(super) struct Count {
    up: AtomicU64,
    down: AtomicU64,
}

impl Count {
    /// Adds bytes from the program; what it is now.
    pub(super) fn add_up(&self, bytes: u64) -> u64 {
        self.up.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    /// Adds bytes from the host; what it is now.
    pub(super) fn add_down(&self, bytes: u64) -> u64 {
        self.down.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    /// What was counted.
    pub(super) fn traffic(&self) -> Traffic {
        Traffic {
            up: self.up.load(Ordering::Relaxed),
            down: self.down.load(Ordering::Relaxed),
        }
    }
}

/// Why a connection does not come to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoEntry {
    /// The verdict was overtaken by a cut.
    Stale,
    /// The proxy closes.
    Closed,
}

/// A connection's place among those that stand; given back on drop.
#[derive(Debug)]
pub(super) struct Lease {
    id: u64,
    registry: Arc<Registry>,
    stopped: oneshot::Receiver<End>,
    /// The bytes of its target, over all connections.
    pub(super) total: Arc<Count>,
}

impl Lease {
    /// Waits until the connection has to end.
    pub(super) async fn stopped(&mut self) -> End {
        (&mut self.stopped).await.unwrap_or(End::Closed)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.registry.lock().live.remove(&self.id);
    }
}

impl Registry {
    /// The epoch in which a verdict that is asked for now counts.
    pub(super) fn epoch(&self) -> u64 {
        self.lock().epoch
    }

    /// Takes a connection in that was judged in an epoch.
    pub(super) fn enter(self: &Arc<Self>, wanted: &Wanted, epoch: u64) -> Result<Lease, NoEntry> {
        let mut inner = self.lock();
        if inner.closed {
            return Err(NoEntry::Closed);
        }
        if inner.epoch != epoch {
            return Err(NoEntry::Stale);
        }
        let (stop, stopped) = oneshot::channel();
        let entry = Entry {
            wanted: wanted.clone(),
            stop,
        };
        inner.live.insert(wanted.id, entry);
        Ok(Lease {
            id: wanted.id,
            registry: Arc::clone(self),
            stopped,
            total: inner.count(&wanted.target),
        })
    }

    /// Ends what is no longer allowed, and makes verdicts under way count for nothing.
    pub(super) fn cut(&self, allowed: impl Fn(&Wanted) -> bool) {
        let mut inner = self.lock();
        inner.epoch += 1;
        inner.end(End::Cut, |wanted| !allowed(wanted));
    }

    /// Ends everything; nothing comes in any more.
    pub(super) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.end(End::Closed, |_| true);
    }

    /// The connections that stand.
    #[cfg(test)]
    pub(super) fn live(&self) -> Vec<Wanted> {
        let inner = self.lock();
        inner
            .live
            .values()
            .map(|entry| entry.wanted.clone())
            .collect()
    }

    /// The bytes of each target, in the order of their names.
    #[cfg(test)]
    pub(super) fn totals(&self) -> Vec<(Target, Traffic)> {
        let inner = self.lock();
        let totals = inner.totals.iter();
        let mut totals: Vec<_> = totals
            .map(|(target, count)| (target.clone(), count.traffic()))
            .collect();
        totals.sort_by(|a, b| a.0.cmp(&b.0));
        totals
    }

    /// A thread that panicked while it held the lock left nothing half done: each change is one call.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn count(&mut self, target: &Target) -> Arc<Count> {
        if let Some(count) = self.totals.get(target) {
            return Arc::clone(count);
        }
        if self.totals.len() >= TARGETS_MAX {
            return Arc::clone(&self.others);
        }
        let count = Arc::new(Count::default());
        self.totals.insert(target.clone(), Arc::clone(&count));
        count
    }

    fn end(&mut self, end: End, which: impl Fn(&Wanted) -> bool) {
        let ended: Vec<u64> = self
            .live
            .values()
            .filter(|entry| which(&entry.wanted))
            .map(|entry| entry.wanted.id)
            .collect();
        for entry in ended.iter().filter_map(|id| self.live.remove(id)) {
            // A connection that just ended by itself hears nothing.
            let _ = entry.stop.send(end);
        }
    }
}
