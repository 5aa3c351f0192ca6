//! Tells the client that lists may be others, once for all changes since it was said last: a legacy
//! client always, a modern one on the subscriptions that it opened.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;

use crate::protocol::mcp::Listing;

use super::serve::Gateway;

/// Lists that the client does not know as they are now.
#[derive(Debug, Default)]
pub(super) struct News {
    changed: Mutex<Vec<Listing>>,
    waiting: Notify,
}

impl News {
    /// A list changed.
    pub(super) fn add(&self, listing: Listing) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        if !changed.contains(&listing) {
            changed.push(listing);
        }
        drop(changed);
        self.waiting.notify_one();
    }

    /// Wakes whoever waits, without news.
    pub(super) fn wake(&self) {
        self.waiting.notify_one();
    }

    fn take(&self) -> Vec<Listing> {
        std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Says it. It waits where the client is slow to read: a change that is never said would leave it
/// with old lists.
pub(super) async fn tell(gateway: Weak<Gateway>, news: Arc<News>) {
    loop {
        news.waiting.notified().await;
        for listing in news.take() {
            match gateway.upgrade() {
                Some(gateway) if !gateway.is_closing() => gateway.tell_changed(listing).await,
                _ => return,
            }
        }
        if gateway.upgrade().is_none_or(|gateway| gateway.is_closing()) {
            return;
        }
    }
}
