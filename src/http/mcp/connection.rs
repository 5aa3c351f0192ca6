//! One connection to a remote server: takes lines, posts each, and ends what it opened.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::timeout;

use crate::address::WebUrl;
use crate::http::{Authorise, Challenge, Client};
use crate::protocol::json::read;
use crate::protocol::rpc::{Id, Message, Notification};

use super::exchange;
use super::fields::Headed;
use super::shared::Shared;
use super::streams;

/// Bytes between the transport and those who speak through it.
const PIPE: usize = 256 * 1024;
/// Lines that wait for their reader.
const LINES: usize = 8;
/// A note is taken within this time, or counts as lost.
const NOTE: Duration = Duration::from_secs(10);
/// How long requests wait for the stream of the server's own messages: some servers answer it with the
/// first message only.
const OPENS: Duration = Duration::from_millis(500);
/// The end of a session is told within this time.
const FAREWELL: Duration = Duration::from_secs(3);

/// Which transport is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Streamable HTTP.
    Streamable,
    /// HTTP+SSE of 2024-11-05.
    Events,
    /// The first, and where the server does not know it the second.
    Either,
}

/// The other end.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) url: WebUrl,
    pub(crate) kind: Kind,
    pub(crate) client: Client,
    pub(crate) authorise: Arc<dyn Authorise>,
}

/// An open connection, as two streams of lines.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) to_server: DuplexStream,
    pub(crate) from_server: DuplexStream,
    pub(crate) connection: Connection,
}

/// A connection; it ends when its input does, and with its last owner.
#[derive(Debug)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Connection {
    /// What the server wants of a sign-in.
    pub(crate) fn signs(&self) -> Signs {
        Signs(Arc::clone(&self.shared))
    }

    /// Tells why the connection is over, as far as the server's side of it is the reason.
    pub(crate) fn story(&self) -> impl Future<Output = String> + Send + 'static {
        let shared = Arc::clone(&self.shared);
        async move { shared.why().unwrap_or_default() }
    }

    /// Waits for its end, once its input is closed.
    pub(crate) async fn ended(&mut self) {
        // It fails when it was broken off, and is over then.
        if timeout(2 * FAREWELL, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

/// What a server wants of a sign-in, also after its connection ended.
#[derive(Clone, Debug)]
pub(crate) struct Signs(Arc<Shared>);

impl Signs {
    /// The last answer that wanted a sign-in.
    pub(crate) fn challenge(&self) -> Option<Challenge> {
        self.0.challenge()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.abort_all();
        self.task.abort();
    }
}

/// Opens a connection. Nothing is sent before the first line. Must be called inside the runtime.
pub(crate) fn open(endpoint: Endpoint) -> Open {
    let (to_server, input) = duplex(PIPE);
    let (output, from_server) = duplex(PIPE);
    let (lines, waiting) = mpsc::channel(LINES);
    let shared = Shared::new(endpoint, lines);
    let drive = Drive {
        shared: Arc::clone(&shared),
        open: HashMap::new(),
    };
    let task = tokio::spawn(drive.run(input, (output, waiting)));
    Open {
        to_server,
        from_server,
        connection: Connection { shared, task },
    }
}

struct Drive {
    shared: Arc<Shared>,
    /// Requests under way, and whether each tells its own revision.
    open: HashMap<String, (AbortHandle, bool)>,
}

/// Writes lines while somebody reads them.
async fn write(output: &mut DuplexStream, waiting: &mut mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = waiting.recv().await {
        if output.write_all(&line).await.is_err() {
            return;
        }
    }
}

impl Drive {
    async fn run(
        mut self,
        input: DuplexStream,
        (mut output, mut waiting): (DuplexStream, mpsc::Receiver<Vec<u8>>),
    ) {
        if self.shared.endpoint.kind == Kind::Events && self.shared.claim_events() {
            let events = tokio::spawn(streams::events(Arc::clone(&self.shared)));
            self.shared.adopt(events.abort_handle());
        }
        let shared = Arc::clone(&self.shared);
        let reading = self.read(input);
        let writing = write(&mut output, &mut waiting);
        tokio::select! {
            () = reading => {}
            () = writing => {}
            _ = shared.over() => {}
        }
        shared.abort_all();
        // What was said before the end still arrives.
        waiting.close();
        while let Some(line) = waiting.recv().await {
            if output.write_all(&line).await.is_err() {
                break;
            }
        }
        // Gone already: then there is nobody to tell.
        let _ = output.shutdown().await;
        exchange::farewell(&shared, Instant::now() + FAREWELL).await;
    }

    async fn read(&mut self, input: DuplexStream) {
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        while let Ok(1..) = input.read_until(b'\n', &mut line).await {
            self.line(std::mem::take(&mut line)).await;
        }
    }

    async fn line(&mut self, line: Vec<u8>) {
        let message = read(&line)
            .ok()
            .map(|parsed| Message::from_json(parsed.json));
        // What Creance writes are messages.
        let (Some(Ok(message)), Ok(body)) = (message, String::from_utf8(line)) else {
            return;
        };
        let headed = self.shared.headed(&message);
        let body = body.trim_end().to_owned();
        self.open.retain(|_, (task, _)| !task.is_finished());
        match message {
            Message::Request(request) => {
                let modern = headed.modern.is_some();
                let (shared, id) = (Arc::clone(&self.shared), request.id);
                let key = id.to_string();
                let task = tokio::spawn(exchange::request(shared, (id, headed), body));
                self.shared.adopt(task.abort_handle());
                self.open.insert(key, (task.abort_handle(), modern));
            }
            Message::Notification(note) => self.note((&note, headed), body).await,
            Message::Response(_) => {
                let until = Instant::now() + NOTE;
                let task = exchange::note(Arc::clone(&self.shared), headed, (body, until));
                self.shared.adopt(tokio::spawn(task).abort_handle());
            }
        }
    }

    /// Notes keep their order among each other and towards later requests.
    async fn note(&mut self, (note, headed): (&Notification, Headed), body: String) {
        let mut ended = false;
        if note.method == "notifications/cancelled" {
            let id = note
                .params
                .as_ref()
                .and_then(|params| params.get("requestId"));
            let id = id.and_then(Id::from_json).map(|id| id.to_string());
            let task = id.and_then(|id| self.open.remove(&id));
            if let Some((task, modern)) = task {
                task.abort();
                ended = modern;
            }
        }
        // Since 2026-07-28 the end of the stream says it.
        if ended {
            return;
        }
        let greeted = note.method == "notifications/initialized";
        let until = Instant::now() + NOTE;
        exchange::note(Arc::clone(&self.shared), headed, (body, until)).await;
        if greeted && self.shared.claim_stream() {
            let (tell, opened) = oneshot::channel();
            let stream = tokio::spawn(streams::own(Arc::clone(&self.shared), tell));
            self.shared.adopt(stream.abort_handle());
            // What a server asks before this stream stands, many servers lose.
            let _ = timeout(OPENS, opened).await;
        }
    }
}
