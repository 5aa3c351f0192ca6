//! One stream of events to a client: what was said on it, kept so that a client which lost the
//! connection can take it up again (`Last-Event-ID`), and bounded.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// What is said on one stream; shared by those who speak and the one who reads.
#[derive(Debug)]
pub(super) struct Stream {
    /// Its number in the session.
    pub(super) number: u64,
    state: Mutex<State>,
    /// Something was said, or the reader is another now.
    news: Notify,
    /// A reader went away.
    left: Arc<Notify>,
    excess: Excess,
}

/// What happens when more waits for the reader than there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excess {
    /// The stream ends: what it is for cannot be had in parts.
    Ends,
    /// The oldest is let go.
    Forgets,
}

#[derive(Debug)]
struct State {
    /// The last events, oldest first: those that were read too, as long as there is room.
    events: VecDeque<Bytes>,
    /// The number of the oldest.
    first: u64,
    bytes: usize,
    /// What was read.
    read: u64,
    /// No more is said.
    ended: bool,
    /// Readers so far; only the last one reads.
    readers: u64,
    /// Since when nobody reads.
    left_at: Option<Instant>,
}

/// The one who reads.
#[derive(Debug)]
pub(super) struct Reader {
    stream: Arc<Stream>,
    own: u64,
    next: u64,
    /// What comes before everything else.
    greeting: Option<Bytes>,
}

/// What the first event of a stream turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum First {
    /// It is the only one.
    Whole(Bytes),
    /// There will be more, or it takes long.
    Streams,
}

impl Stream {
    /// Waits until it is known what the first event is.
    async fn first(&self) -> First {
        loop {
            let news = self.news.notified();
            if let Some(first) = self.lock().first_of_all() {
                return first;
            }
            news.await;
        }
    }

    /// A stream on which nothing was said, and that nobody reads.
    pub(super) fn new(number: u64, excess: Excess, left: Arc<Notify>) -> Arc<Self> {
        Arc::new(Self {
            number,
            excess,
            state: Mutex::new(State {
                events: VecDeque::new(),
                first: 0,
                bytes: 0,
                read: 0,
                ended: false,
                readers: 0,
                left_at: Some(Instant::now()),
            }),
            news: Notify::new(),
            left,
        })
    }

    /// Says one message.
    pub(super) fn say(&self, message: Bytes) {
        let mut state = self.lock();
        if state.ended {
            return;
        }
        state.bytes += message.len();
        state.events.push_back(message);
        state.make_room();
        match self.excess {
            Excess::Ends => state.ended = state.bytes > WAITING_MAX,
            Excess::Forgets => state.forget(),
        }
        drop(state);
        self.news.notify_waiters();
    }

    /// Says the last message.
    pub(super) fn conclude(&self, message: Bytes) {
        let mut state = self.lock();
        if !state.ended {
            state.bytes += message.len();
            state.events.push_back(message);
            state.ended = true;
        }
        drop(state);
        self.news.notify_waiters();
    }

    /// Says no more.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.news.notify_waiters();
    }

    /// For how long nobody has read.
    pub(super) fn unread_for(&self) -> Option<Duration> {
        self.lock().left_at.map(|since| since.elapsed())
    }

    /// Reads from the first event that nobody has read.
    pub(super) fn read(self: &Arc<Self>) -> Reader {
        let next = self.lock().read;
        self.read_from(next)
    }

    /// Reads on from an event; `None` when it is kept no more, or was never there.
    pub(super) fn resume(self: &Arc<Self>, next: u64) -> Option<Reader> {
        let state = self.lock();
        let kept = (state.first..=state.read).contains(&next);
        drop(state);
        kept.then(|| self.read_from(next))
    }

    fn read_from(self: &Arc<Self>, next: u64) -> Reader {
        let mut state = self.lock();
        state.readers += 1;
        state.left_at = None;
        let own = state.readers;
        drop(state);
        // The reader before, if there is one, ends.
        self.news.notify_waiters();
        Reader {
            stream: Arc::clone(self),
            own,
            next,
            greeting: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What the first event is, once that is known.
    fn first_of_all(&self) -> Option<First> {
        match (self.events.front(), self.ended) {
            (Some(event), true) if self.events.len() == 1 => Some(First::Whole(event.clone())),
            (None, false) => None,
            _ => Some(First::Streams),
        }
    }

    /// Lets go of the oldest events that were read.
    fn make_room(&mut self) {
        while self.bytes > KEPT_MAX && self.first < self.read {
            let gone = self.events.pop_front();
            self.bytes -= gone.map_or(0, |event| event.len());
            self.first += 1;
        }
    }

    /// Lets go of the oldest events, read or not.
    fn forget(&mut self) {
        while self.bytes > KEPT_MAX && self.events.len() > 1 {
            let gone = self.events.pop_front();
            self.bytes -= gone.map_or(0, |event| event.len());
            self.first += 1;
            self.read = self.read.max(self.first);
        }
    }

    fn get(&self, number: u64) -> Option<&Bytes> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.events.get(at)
    }
}

impl Reader {
    /// Begins with an event without a message: from its id on, a client that is cut off before it heard
    /// anything can take up the stream.
    pub(super) fn greet(&mut self) {
        let (number, next) = (self.stream.number, self.next);
        let event = format!("id: {number}-{next}s\nretry: {RETRY_MS}\ndata: \n\n");
        self.greeting = Some(event.into());
    }

    /// The first event when it is the whole of the stream and comes soon: such an answer needs no stream.
    pub(super) async fn first(&mut self, patience: Duration) -> First {
        let first = timeout(patience, self.stream.first()).await;
        first.unwrap_or(First::Streams)
    }

    /// Marks everything as read: it went out as one message.
    pub(super) fn took_all(&mut self) {
        let mut state = self.stream.lock();
        state.read = state.first + state.events.len() as u64;
    }

    /// The next event as it stands on the wire; `None` at the end. While nothing is said a comment goes
    /// out from time to time: connections that carry nothing are cut, and one that is cut is noticed.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        if let Some(greeting) = self.greeting.take() {
            return Some(greeting);
        }
        let begun = Instant::now();
        let stream = Arc::clone(&self.stream);
        loop {
            let news = stream.news.notified();
            if let Some(next) = self.at_once() {
                return next;
            }
            let left = SILENCE.saturating_sub(begun.elapsed());
            if timeout(left, news).await.is_err() {
                return Some(Bytes::from_static(b": still here\n\n"));
            }
        }
    }
}

impl Reader {
    /// The next event where it is there, or the end (`None` within); `None` while there is nothing new.
    fn at_once(&mut self) -> Option<Option<Bytes>> {
        let mut state = self.stream.lock();
        if state.readers != self.own {
            return Some(None);
        }
        // What was forgotten is passed over.
        self.next = self.next.max(state.first);
        if let Some(message) = state.get(self.next).cloned() {
            let event = event(&self.stream, self.next, &message);
            self.next += 1;
            state.read = state.read.max(self.next);
            return Some(Some(event));
        }
        state.ended.then_some(None)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.stream.lock();
        if state.readers == self.own {
            state.left_at = Some(Instant::now());
            drop(state);
            self.stream.left.notify_one();
        }
    }
}

/// The stream and the number of the next event, by the id of the last one.
pub(super) fn place(last: &str) -> Option<(u64, u64)> {
    let (stream, number) = last.split_once('-')?;
    let next = match number.strip_suffix('s') {
        Some(next) => next.parse().ok()?,
        None => number.parse::<u64>().ok()?.checked_add(1)?,
    };
    Some((stream.parse().ok()?, next))
}

/// A message as an event. Lines of messages hold no line feed but the last one.
fn event(stream: &Stream, number: u64, message: &Bytes) -> Bytes {
    let head = format!("id: {}-{number}\nevent: message\ndata: ", stream.number);
    let message = message.trim_ascii_end();
    let mut event = Vec::with_capacity(head.len() + message.len() + 2);
    event.extend_from_slice(head.as_bytes());
    event.extend_from_slice(message);
    event.extend_from_slice(b"\n\n");
    event.into()
}

/// Events kept for a client that comes back.
const KEPT_MAX: usize = 1024 * 1024;
/// Events that wait for a slow reader: two messages of the largest size and a little.
const WAITING_MAX: usize = 36 * 1024 * 1024;
/// How soon a client that was cut off comes back.
const RETRY_MS: u64 = 1_000;
const SILENCE: Duration = Duration::from_secs(15);
