//! Connections that stand: bounded in number. Where there are too many, one goes that is not in use,
//! so that whoever only holds connections keeps nobody out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

/// All connections.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    last: u64,
    places: HashMap<u64, Arc<Place>>,
}

#[derive(Debug)]
struct Place {
    /// Requests and responses that are under way.
    busy: AtomicUsize,
    used: Mutex<Instant>,
    gone: Notify,
}

/// One connection's place, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    number: u64,
    place: Arc<Place>,
    all: Connections,
}

/// A request under way.
#[derive(Debug)]
pub(super) struct Busy(Arc<Place>);

impl Connections {
    /// A place for a new connection; `None` when all are in use.
    pub(super) fn seat(&self) -> Option<Seat> {
        let mut table = self.lock();
        if table.places.len() >= MOST {
            let idle = table
                .places
                .iter()
                .filter(|(_, place)| place.busy.load(Ordering::SeqCst) == 0)
                .min_by_key(|(_, place)| *place.used())
                .map(|(number, _)| *number)?;
            if let Some(place) = table.places.remove(&idle) {
                place.gone.notify_one();
            }
        }
        table.last += 1;
        let number = table.last;
        let place = Arc::new(Place {
            busy: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
            gone: Notify::new(),
        });
        table.places.insert(number, Arc::clone(&place));
        Some(Seat {
            number,
            place,
            all: self.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn used(&self) -> MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Notes a request, until the guard is dropped.
    pub(super) fn busy(&self) -> Busy {
        self.place.busy.fetch_add(1, Ordering::SeqCst);
        Busy(Arc::clone(&self.place))
    }

    /// Waits until the place is needed for somebody else.
    pub(super) async fn gone(&self) {
        self.place.gone.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.all.lock().places.remove(&self.number);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
        *self.0.used() = Instant::now();
    }
}

/// Open files are bounded too: 1,024 a process on many systems.
const MOST: usize = 256;
