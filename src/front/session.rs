//! One client's conversation with a gateway of its own: requests go in under numbers of the front,
//! and what comes back goes to the stream of the request that it belongs to.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use crate::protocol::json::{Json, Object};
use crate::protocol::rpc::{Id, Message, Notification, Request};

use super::pipe;
use super::route::{self, Line, SUBSCRIPTION, own_token};
use super::sessions::Opened;
use super::stream::{Excess, Reader, Stream};
use super::tokens::Principal;

/// How the other side counts as having given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manners {
    /// It may come back to a stream, so its requests go on for a while.
    Legacy,
    /// A request ends with its stream.
    Modern,
}

/// A client's conversation.
#[derive(Debug)]
pub(super) struct Session {
    /// Whose it is: nobody else may use it.
    pub(super) principal: Principal,
    pub(super) manners: Manners,
    to_gateway: mpsc::Sender<String>,
    up: watch::Receiver<bool>,
    state: Mutex<State>,
    left: Arc<Notify>,
    tasks: Mutex<Vec<AbortHandle>>,
}

#[derive(Debug)]
struct State {
    last: u64,
    /// Requests without an answer, by the front's number.
    open: BTreeMap<u64, Open>,
    /// Streams of requests that are not done, by their number.
    streams: HashMap<u64, Arc<Stream>>,
    /// What belongs to no request.
    standing: Arc<Stream>,
    revision: Option<String>,
    used: Instant,
    ended: bool,
}

/// A request without an answer.
#[derive(Debug)]
struct Open {
    id: Id,
    token: Option<Json>,
    stream: Arc<Stream>,
    /// Whether questions of its servers may go to its stream.
    works: bool,
}

/// The gateway of a session is gone.
#[derive(Debug)]
pub(super) struct Gone;

impl Session {
    /// Begins a conversation over a pipe to a gateway. Must be called inside the runtime.
    pub(super) fn begin(
        principal: Principal,
        manners: Manners,
        gateway: Opened,
        left: Arc<Notify>,
    ) -> Arc<Self> {
        let (from, into) = tokio::io::split(gateway.pipe);
        let (to_gateway, lines) = mpsc::channel(LINES_MAX);
        let session = Arc::new(Self {
            principal,
            manners,
            to_gateway,
            up: gateway.up,
            state: Mutex::new(State {
                last: 0,
                open: BTreeMap::new(),
                streams: HashMap::new(),
                standing: Stream::new(0, Excess::Forgets, Arc::clone(&left)),
                revision: None,
                used: Instant::now(),
                ended: false,
            }),
            left,
            tasks: Mutex::default(),
        });
        let reader = tokio::spawn(pipe::listen(Arc::downgrade(&session), from)).abort_handle();
        let writer = tokio::spawn(pipe::speak(lines, into)).abort_handle();
        *session.lock_tasks() = vec![reader, writer];
        session
    }

    /// Sends requests to the gateway. Their answers, and what belongs to them, come on one stream.
    ///
    /// # Errors
    /// The gateway is gone.
    pub(super) async fn ask(&self, requests: Vec<Request>) -> Result<Reader, Gone> {
        if requests
            .iter()
            .any(|request| !EARLY.contains(&request.method.as_str()))
        {
            self.up().await;
        }
        let (reader, lines) = self.open(requests)?;
        for line in lines {
            self.send(line).await?;
        }
        Ok(reader)
    }

    /// Waits until the servers are up, for a while: many legacy clients ask once which tools there are,
    /// and have no stream on which they would hear of others. For modern ones the gateway waits.
    async fn up(&self) {
        if self.manners == Manners::Modern {
            return;
        }
        let mut up = self.up.clone();
        // What is still not up then is said in the answer. It fails when the gateway is gone.
        let _ = timeout(START, up.wait_for(|up| *up)).await;
    }

    /// Sends what wants no answer.
    ///
    /// # Errors
    /// The gateway is gone.
    pub(super) async fn tell(&self, message: Message) -> Result<(), Gone> {
        let line = match message {
            Message::Notification(note) => Message::from(self.renamed(note)).to_line(),
            other => other.to_line(),
        };
        self.lock().used = Instant::now();
        self.send(line).await
    }

    /// The stream of what belongs to no request.
    pub(super) fn standing(&self) -> Arc<Stream> {
        let mut state = self.lock();
        state.used = Instant::now();
        Arc::clone(&state.standing)
    }

    /// A stream by its number.
    pub(super) fn stream(&self, number: u64) -> Option<Arc<Stream>> {
        let state = self.lock();
        let found = state.streams.get(&number);
        found.or((number == 0).then_some(&state.standing)).cloned()
    }

    /// The revision that was agreed in `initialize`, once it was.
    pub(super) fn revision(&self) -> Option<String> {
        self.lock().revision.clone()
    }

    /// Notes the revision that was agreed.
    pub(super) fn agree(&self, revision: &str) {
        self.lock().revision = Some(revision.to_owned());
    }

    /// For how long it has not been used: nothing is open and nobody listens.
    pub(super) fn idle_for(&self) -> Option<Duration> {
        let state = self.lock();
        let quiet = state.open.is_empty() && state.standing.unread_for().is_some();
        quiet.then(|| state.used.elapsed())
    }

    /// Whether its gateway is gone.
    pub(super) fn is_over(&self) -> bool {
        self.lock().ended
    }

    /// Cancels requests whose streams nobody reads any more, and forgets streams that are done.
    pub(super) fn tend(&self) {
        let patience = match self.manners {
            Manners::Legacy => PATIENCE,
            Manners::Modern => Duration::ZERO,
        };
        let cancelled = self.lock().let_go(patience);
        for number in cancelled {
            let mut params = Object::default();
            params.insert("requestId", number.into());
            params.insert("reason", Json::String("the client is gone".to_owned()));
            let note = Notification::new("notifications/cancelled", Some(params));
            // A queue that is full belongs to a gateway that is not reading: it cannot cancel either.
            let _ = self.to_gateway.try_send(Message::from(note).to_line());
        }
    }

    /// Ends the conversation: the gateway reads the end of its input and leaves in order.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        for stream in state.streams.values() {
            stream.end();
        }
        state.standing.end();
        state.open.clear();
        drop(state);
        for task in self.lock_tasks().iter() {
            task.abort();
        }
    }

    /// Notes requests as open; their lines under the front's numbers.
    fn open(&self, requests: Vec<Request>) -> Result<(Reader, Vec<String>), Gone> {
        let mut state = self.lock();
        if state.ended {
            return Err(Gone);
        }
        state.used = Instant::now();
        state.last += 1;
        let stream = Stream::new(state.last, Excess::Ends, Arc::clone(&self.left));
        state.streams.insert(stream.number, Arc::clone(&stream));
        // Read from the start: a stream that nobody reads is one that was left.
        let reader = stream.read();
        let mut lines = Vec::new();
        for request in requests {
            state.last += 1;
            let number = state.last;
            let Request {
                id,
                method,
                mut params,
            } = request;
            let open = Open {
                id,
                token: own_token(params.as_mut(), number),
                stream: Arc::clone(&stream),
                works: WORKS.contains(&method.as_str()),
            };
            state.open.insert(number, open);
            lines.push(Message::from(Request::new(number.into(), method, params)).to_line());
        }
        Ok((reader, lines))
    }

    async fn send(&self, line: String) -> Result<(), Gone> {
        self.to_gateway.send(line).await.map_err(|_| Gone)
    }

    /// A client cancels by its own id, the gateway knows the front's.
    fn renamed(&self, mut note: Notification) -> Notification {
        if note.method == "notifications/cancelled"
            && let Some(params) = &mut note.params
            && let Some(id) = params.get("requestId").and_then(Id::from_json)
        {
            let mut state = self.lock();
            let number = state.open.iter().rev().find(|(_, open)| open.id == id);
            if let Some(number) = number.map(|(number, _)| *number) {
                params.insert("requestId", number.into());
                // A cancelled request gets no answer: its stream ends with what was said.
                let open = state.open.remove(&number);
                let open = open.filter(|open| !waits(&state, &open.stream));
                open.into_iter().for_each(|open| open.stream.end());
            }
        }
        note
    }

    /// Hands a line of the gateway to the stream that it belongs to.
    pub(super) fn route(&self, line: Vec<u8>) {
        let Some(kind) = Line::of(&line) else {
            return;
        };
        let mut state = self.lock();
        match kind {
            Line::Answer(number) => {
                let Some(open) = state.open.remove(&number) else {
                    return;
                };
                let answer = route::under(&line, number, &open.id.to_json());
                let others = waits(&state, &open.stream);
                match answer {
                    Some(answer) if others => open.stream.say(answer.into()),
                    Some(answer) => open.stream.conclude(answer.into()),
                    None => open.stream.end(),
                }
            }
            Line::Progress(number) => {
                let open = state.open.get(&number);
                let own = open.and_then(|open| open.token.as_ref());
                let named = own.and_then(|own| route::named(&line, ("progressToken", own)));
                if let (Some(open), Some(line)) = (open, named) {
                    open.stream.say(line.into());
                }
            }
            Line::Subscribed(number) => {
                let Some(open) = state.open.get(&number) else {
                    return;
                };
                if let Some(line) = route::named(&line, (SUBSCRIPTION, &open.id.to_json())) {
                    open.stream.say(line.into());
                }
            }
            Line::Request | Line::Log => {
                let newest = state.open.values().rev().find(|open| open.works);
                let stream = newest.map_or(&state.standing, |open| &open.stream);
                stream.say(line.into());
            }
            Line::Note if self.manners == Manners::Legacy => {
                state.standing.say(line.into());
            }
            // There is no stream for it.
            Line::Note => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_tasks(&self) -> MutexGuard<'_, Vec<AbortHandle>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether a request of this stream has no answer.
fn waits(state: &State, stream: &Stream) -> bool {
    let mut open = state.open.values();
    open.any(|open| open.stream.number == stream.number)
}

impl State {
    /// Forgets streams that nobody has read for so long; their requests.
    fn let_go(&mut self, patience: Duration) -> Vec<u64> {
        let Self { streams, open, .. } = self;
        let mut cancelled = Vec::new();
        streams.retain(|number, stream| {
            let lost = stream.unread_for().is_some_and(|unread| unread >= patience);
            if lost {
                cancelled.extend(lost_of(open, *number));
            }
            !lost
        });
        cancelled
    }
}

/// Takes the requests of a stream that nobody reads.
fn lost_of(open: &mut BTreeMap<u64, Open>, stream: u64) -> Vec<u64> {
    let of = |(_, request): &(&u64, &Open)| request.stream.number == stream;
    let lost: Vec<u64> = open.iter().filter(of).map(|(number, _)| *number).collect();
    open.retain(|number, _| !lost.contains(number));
    lost
}

/// Requests during which servers work and may have questions.
const WORKS: [&str; 4] = [
    "tools/call",
    "prompts/get",
    "resources/read",
    "completion/complete",
];
/// Requests that need no server.
const EARLY: [&str; 4] = ["initialize", "ping", "server/discover", "logging/setLevel"];
/// How long requests wait for servers that are starting.
const START: Duration = Duration::from_secs(10);
const LINES_MAX: usize = 64;
/// How long a request goes on when its stream is cut: a client may come back to it.
const PATIENCE: Duration = Duration::from_secs(10);
