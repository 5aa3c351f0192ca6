//! The client that started us, seen through our standard input and output.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::protocol::json::{Json, MESSAGE_MAX, Object};
use crate::protocol::rpc::{Fault, Id, Message, Misfit, Notification, Request, Response, RpcError};

use super::calls::{CallOptions, Calls};
use super::error::CallError;
use super::lines::{Line, Lines};
use super::outbox::Outbox;
use super::tasks::Tasks;

/// A handle on the client; clones share it, and its tasks end with the last of them.
#[derive(Clone, Debug)]
pub(crate) struct Downstream {
    calls: Calls,
    outbox: Outbox,
    finished: Arc<Finished>,
    // Stops the tasks when the last handle goes.
    _tasks: Arc<Tasks>,
}

type Finished = tokio::sync::Mutex<Option<tokio::task::JoinHandle<()>>>;

/// What the client sends, in order, for one reader. Holds up the client when nobody takes it.
#[derive(Debug)]
pub(crate) struct Inbox(mpsc::Receiver<Incoming>);

/// One thing that the client sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// A request, to be answered once.
    Request(Request),
    /// A notification.
    Notification(Notification),
    /// A line that is no message; give it to [`Downstream::refuse`].
    Misfit(Misfit),
    /// A message with this many lone surrogates mended comes next.
    Mended(usize),
}

impl Inbox {
    /// The next thing; `None` when the client closed our input: the orderly end.
    pub(crate) async fn next(&mut self) -> Option<Incoming> {
        self.0.recv().await
    }
}

impl Downstream {
    /// Speaks to the client. Must be called inside the runtime.
    pub(crate) fn connect(
        stdin: impl AsyncRead + Send + Unpin + 'static,
        stdout: impl AsyncWrite + Send + Unpin + 'static,
    ) -> (Self, Inbox) {
        let (outbox, write) = Outbox::new(stdout);
        let calls = Calls::new(outbox.clone());
        let (sender, inbox) = mpsc::channel(WAITING_MAX);
        let mut tasks = Tasks::default();
        let writer = tokio::spawn(write);
        tasks.adopt(writer.abort_handle());
        let on_calls = calls.clone();
        tasks.spawn(async move {
            receive(stdin, &on_calls, &sender).await;
            // Answers may still go out; only what waits for the client will never come.
            on_calls.hang_up("the client closed its output");
        });
        let downstream = Self {
            calls,
            outbox,
            finished: Arc::new(Finished::new(Some(writer))),
            _tasks: Arc::new(tasks),
        };
        (downstream, Inbox(inbox))
    }

    /// Answers a request.
    ///
    /// # Errors
    /// The client reads no more.
    pub(crate) async fn answer(
        &self,
        id: Id,
        outcome: Result<Json, RpcError>,
    ) -> Result<(), CallError> {
        self.send(Message::from(Response { id, outcome }).to_line())
            .await
    }

    /// Answers a line that is no message, where an answer is due.
    ///
    /// # Errors
    /// The client reads no more.
    pub(crate) async fn refuse(&self, misfit: &Misfit) -> Result<(), CallError> {
        match misfit.reply() {
            Some(line) => self.send(line).await,
            None => Ok(()),
        }
    }

    /// Tells the client something.
    ///
    /// # Errors
    /// The client reads no more.
    pub(crate) async fn notify(
        &self,
        method: &str,
        params: Option<Object>,
    ) -> Result<(), CallError> {
        self.send(Message::from(Notification::new(method, params)).to_line())
            .await
    }

    /// Tells the client something if there is room at once, else drops it: for progress.
    pub(crate) fn offer(&self, method: &str, params: Option<Object>) {
        let note = Notification::new(method, params);
        self.outbox.offer(Message::from(note).to_line());
    }

    /// Asks the client (`elicitation/create`) and waits for its result.
    ///
    /// # Errors
    /// Why there is no result.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Option<Object>,
        options: CallOptions,
    ) -> Result<Json, CallError> {
        self.calls.request(method, params, options).await
    }

    /// Sends what is queued, closes the stream and waits until that is done; two seconds at most, as
    /// a client that is going may read no more.
    pub(crate) async fn finish(&self) {
        self.calls.close("the gateway is closing");
        if let Some(writer) = self.finished.lock().await.take() {
            // An aborted or failed writer has nothing left to send either.
            let _ = timeout(LAST_WORDS, writer).await;
        }
    }

    async fn send(&self, line: String) -> Result<(), CallError> {
        let shut = |_| CallError::Closed("the client reads no more".to_owned());
        self.outbox.send(line).await.map_err(shut)
    }
}

/// Takes messages until the client closes or nobody takes them from us.
async fn receive(stream: impl AsyncRead + Unpin, calls: &Calls, inbox: &mpsc::Sender<Incoming>) {
    let mut lines = Lines::new(stream);
    while let Ok(Some(line)) = lines.next().await {
        for incoming in incoming(line, calls).into_iter().flatten() {
            if inbox.send(incoming).await.is_err() {
                return;
            }
        }
    }
}

/// What a line is, after what must be said about it; answers go to their calls.
fn incoming(line: Line<'_>, calls: &Calls) -> [Option<Incoming>; 2] {
    let read = match line {
        Line::Whole(line) if line.trim_ascii().is_empty() => return [None, None],
        Line::Whole(line) => Message::read(line),
        Line::TooLong(head) => Err(Misfit::of_bytes(Fault::TooLong(MESSAGE_MAX), head)),
    };
    match read {
        Ok((message, mended)) => {
            let note = (mended > 0).then_some(Incoming::Mended(mended));
            match message {
                Message::Request(request) => [note, Some(Incoming::Request(request))],
                Message::Notification(it) => [note, Some(Incoming::Notification(it))],
                Message::Response(response) => {
                    // A late answer is nobody's.
                    calls.answer(response);
                    [note, None]
                }
            }
        }
        Err(misfit) => {
            let counter = misfit.id.as_ref().and_then(Id::as_counter);
            if let Some(id) = counter.filter(|_| misfit.answers) {
                calls.settle(id, Err(CallError::Reply(misfit.to_string())));
            }
            [None, Some(Incoming::Misfit(misfit))]
        }
    }
}

const WAITING_MAX: usize = 64;
const LAST_WORDS: Duration = Duration::from_secs(2);
