//! What a server says unasked. Kept in small counters and a bounded list, so that a talkative server
//! neither fills memory nor holds up the answers of others.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::protocol::mcp::Listing;
use crate::protocol::rpc::Notification;

/// What a server said unasked, or what happened to its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UpstreamEvent {
    /// `notifications/…/list_changed` of a list, once for any number of them.
    Changed(Listing),
    /// Another notification, as it came: log messages above all. Clean it before it is shown.
    Note(Notification),
    /// Notifications that were left out because nobody took them in time.
    NotesDropped(usize),
    /// Lines that are no messages were set aside.
    Stray {
        /// How many since the last time.
        count: usize,
        /// The first of them, cut to 512 bytes. Raw: clean it before it is shown.
        sample: String,
    },
    /// Messages with bytes that are not UTF-8, or with lone surrogates, were mended.
    Mended(usize),
    /// The server is gone; why. The last event.
    Closed(String),
}

/// The events of one server, for one reader.
#[derive(Debug)]
pub(crate) struct UpstreamEvents(Arc<Board>);

impl UpstreamEvents {
    /// The next event; `None` after `Closed`.
    pub(crate) async fn next(&mut self) -> Option<UpstreamEvent> {
        loop {
            if let Some(event) = self.0.take() {
                return event;
            }
            self.0.changed.notified().await;
        }
    }
}

impl UpstreamEvents {
    /// The next event that is already there.
    pub(crate) fn try_next(&mut self) -> Option<UpstreamEvent> {
        self.0.take().flatten()
    }
}

/// Where events are pinned up.
#[derive(Debug, Default)]
pub(super) struct Board {
    pinned: Mutex<Pinned>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Pinned {
    changed: Vec<Listing>,
    notes: VecDeque<Notification>,
    notes_dropped: usize,
    stray: usize,
    sample: String,
    mended: usize,
    closed: Option<String>,
    over: bool,
}

impl Board {
    /// A board and its one reader.
    pub(super) fn new() -> (Arc<Self>, UpstreamEvents) {
        let board = Arc::new(Self::default());
        (Arc::clone(&board), UpstreamEvents(board))
    }

    /// A notification of the server.
    pub(super) fn note(&self, note: Notification) {
        self.pin(|pinned| {
            if let Some(listing) = changed(&note.method) {
                pinned.changed.retain(|known| *known != listing);
                pinned.changed.push(listing);
            } else if pinned.notes.len() < NOTES_MAX {
                pinned.notes.push_back(note);
            } else {
                pinned.notes_dropped += 1;
            }
        });
    }

    /// A line that is no message.
    pub(super) fn stray(&self, line: &[u8]) {
        self.pin(|pinned| {
            pinned.stray += 1;
            if pinned.stray == 1 {
                let head = line.get(..SAMPLE_MAX).unwrap_or(line);
                pinned.sample = String::from_utf8_lossy(head).into_owned();
            }
        });
    }

    /// A message that had to be mended.
    pub(super) fn mended(&self) {
        self.pin(|pinned| pinned.mended += 1);
    }

    /// The end.
    pub(super) fn closed(&self, why: &str) {
        self.pin(|pinned| {
            pinned.closed.get_or_insert_with(|| why.to_owned());
        });
    }

    fn pin(&self, change: impl FnOnce(&mut Pinned)) {
        change(&mut self.lock());
        self.changed.notify_one();
    }

    /// What comes next; `Some(None)` after the end, `None` when there is nothing yet.
    fn take(&self) -> Option<Option<UpstreamEvent>> {
        let mut pinned = self.lock();
        if pinned.over {
            return Some(None);
        }
        Some(Some(pinned.next()?))
    }

    fn lock(&self) -> MutexGuard<'_, Pinned> {
        self.pinned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pinned {
    fn next(&mut self) -> Option<UpstreamEvent> {
        if self.stray > 0 {
            return Some(UpstreamEvent::Stray {
                count: std::mem::take(&mut self.stray),
                sample: std::mem::take(&mut self.sample),
            });
        }
        if self.mended > 0 {
            return Some(UpstreamEvent::Mended(std::mem::take(&mut self.mended)));
        }
        if let Some(listing) = self.changed.pop() {
            return Some(UpstreamEvent::Changed(listing));
        }
        if let Some(note) = self.notes.pop_front() {
            return Some(UpstreamEvent::Note(note));
        }
        if self.notes_dropped > 0 {
            let dropped = std::mem::take(&mut self.notes_dropped);
            return Some(UpstreamEvent::NotesDropped(dropped));
        }
        let why = self.closed.take()?;
        self.over = true;
        Some(UpstreamEvent::Closed(why))
    }
}

/// The list that a notification says has changed. Templates come with their resources.
fn changed(method: &str) -> Option<Listing> {
    match method {
        "notifications/tools/list_changed" => Some(Listing::Tools),
        "notifications/prompts/list_changed" => Some(Listing::Prompts),
        "notifications/resources/list_changed" => Some(Listing::Resources),
        _ => None,
    }
}

const NOTES_MAX: usize = 64;
const SAMPLE_MAX: usize = 512;
