//! What a server lists beside its tools: prompts, resources, templates. Read when somebody asks, kept
//! until the server says that it changed.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use crate::clean;
use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::{Listing, LogLevel};
use crate::protocol::rpc::METHOD_NOT_FOUND;
use crate::transport::{CallError as UpstreamError, CallOptions};

use super::server::Server;

/// How long reading one list may take: a client waits for it.
const LIMIT: Duration = Duration::from_secs(10);

/// The most items of one list of one server that clients are given.
pub(crate) const LISTED_MAX: usize = 1_000;

/// Lists as they were read last.
#[derive(Debug, Default)]
pub(super) struct Shelf(RwLock<HashMap<Listing, Slot>>);

#[derive(Debug, Default)]
struct Slot {
    items: Option<Arc<Vec<Json>>>,
    /// What keeps the list from being whole.
    fault: Option<String>,
    /// Grows with each change: a list that was read before one is not kept after it.
    generation: u64,
}

impl Shelf {
    fn read(&self) -> RwLockReadGuard<'_, HashMap<Listing, Slot>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Listing, Slot>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Whether it says that it has such a list.
    pub(crate) fn lists(&self, listing: Listing) -> bool {
        self.hello.offers(listing.capability())
    }

    /// One of its lists, with raw items. A server that cannot list has nothing, which is said.
    ///
    /// # Errors
    /// The list breaks a bound, or is none: the server is to be refused.
    pub(crate) async fn listed(&self, listing: Listing) -> Result<Arc<Vec<Json>>, UpstreamError> {
        if !self.lists(listing) {
            return Ok(Arc::default());
        }
        let generation = {
            let shelf = self.shelf.read();
            let slot = shelf.get(&listing);
            if let Some(items) = slot.and_then(|slot| slot.items.clone()) {
                return Ok(items);
            }
            slot.map_or(0, |slot| slot.generation)
        };
        let (mut items, mut fault) = match self.upstream.list(listing, LIMIT).await {
            Ok(items) => (items, None),
            Err(error @ UpstreamError::Reply(_)) => return Err(error),
            // Many servers have resources and no templates.
            Err(UpstreamError::Rpc(error)) if error.code() == METHOD_NOT_FOUND => {
                (Vec::new(), None)
            }
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        if items.len() > LISTED_MAX {
            fault = Some(format!(
                "{} of {} are left out: at most {LISTED_MAX} are listed",
                items.len() - LISTED_MAX,
                items.len()
            ));
            items.truncate(LISTED_MAX);
        }
        let items = Arc::new(items);
        let mut shelf = self.shelf.write();
        let slot = shelf.entry(listing).or_default();
        if slot.generation == generation {
            slot.items = Some(Arc::clone(&items));
            slot.fault = fault;
        }
        Ok(items)
    }

    /// What was listed last, where it still holds.
    pub(crate) fn on_shelf(&self, listing: Listing) -> Arc<Vec<Json>> {
        let shelf = self.shelf.read();
        let items = shelf.get(&listing).and_then(|slot| slot.items.clone());
        items.unwrap_or_default()
    }

    /// One of its lists changed.
    pub(crate) fn restock(&self, listing: Listing) {
        let mut shelf = self.shelf.write();
        let changed = match listing {
            Listing::Resources => vec![Listing::Resources, Listing::Templates],
            other => vec![other],
        };
        for listing in changed {
            let slot = shelf.entry(listing).or_default();
            slot.items = None;
            slot.fault = None;
            slot.generation += 1;
        }
    }

    /// Tells it which log messages are wanted. One that cannot be told says what it likes.
    pub(crate) async fn want_logs(&self, level: LogLevel) {
        if !self.hello.offers("logging") {
            return;
        }
        if self.upstream.is_modern() {
            self.upstream.want_logs(level);
            return;
        }
        let mut params = Object::default();
        params.insert("level", level.name().into());
        let options = CallOptions::within(LIMIT);
        let told = (self.upstream).request("logging/setLevel", Some(params), options);
        if let Err(error) = told.await {
            let error = clean::line(&clean::mask(&error.to_string()), 300);
            tracing::info!(server = %self.id(), "its log level could not be set: {error}");
        }
    }

    /// What keeps lists from being whole, for people and models.
    pub(crate) fn shelf_faults(&self) -> Vec<String> {
        let shelf = self.shelf.read();
        let faults = shelf.iter().filter_map(|(listing, slot)| {
            let fault = clean::line(&clean::mask(slot.fault.as_ref()?), 300);
            Some(format!("its {} are not whole: {fault}", listing.words()))
        });
        let mut faults: Vec<String> = faults.collect();
        faults.sort_unstable();
        faults
    }
}
