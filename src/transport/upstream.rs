//! A server, seen through its pipes.

use std::collections::HashSet;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::era::{self, Outcome};
use crate::protocol::mcp::{Listing, LogLevel, Page, Pages};
use crate::protocol::rpc::{Message, Notification, RpcError};
use crate::protocol::tools::{ListBounds, ListError, ToolList};

use super::asks::Asks;
use super::calls::{CallOptions, Calls};
use super::error::CallError;
use super::events::{Board, UpstreamEvents};
use super::holds::Holds;
use super::outbox::Outbox;
use super::receive::receive;
use super::tail::Tail;
use super::tasks::Tasks;
use super::timer::Cancel;

/// A handle on a server; clones share it, and its tasks end with the last of them.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    calls: Calls,
    /// What the server asks of its client.
    pub(crate) asks: Asks,
    outbox: Outbox,
    stderr: Tail,
    /// What each request to a modern server carries.
    modern: Arc<OnceLock<Object>>,
    /// The log messages that are wanted of a modern server.
    level: Arc<Mutex<Option<LogLevel>>>,
    // Ends with the last handle.
    _life: Arc<Life>,
}

/// The tasks of a connection; when they stop, whoever waits for events is told.
#[derive(Debug)]
struct Life {
    asks: Asks,
    board: Arc<Board>,
    _tasks: Tasks,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.asks.close();
        self.board.closed("the connection was let go");
    }
}

/// A server's tools, and what kept the list from being whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerTools {
    /// The tools of all pages that came.
    pub(crate) list: ToolList,
    /// Why later pages are missing.
    pub(crate) fault: Option<String>,
}

/// Asked once, when a server's output ends: what is known about its end, for example its exit code.
/// It may wait for the process, but is given half a second at most.
pub(crate) struct CloseHook(Pin<Box<dyn Future<Output = String> + Send>>);

impl CloseHook {
    /// A hook.
    pub(crate) fn new(story: impl Future<Output = String> + Send + 'static) -> Self {
        Self(Box::pin(story))
    }
}

impl fmt::Debug for CloseHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CloseHook")
    }
}

impl Upstream {
    /// Speaks to a server over its pipes. Must be called inside the runtime.
    pub(crate) fn connect(
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        stderr: impl AsyncRead + Send + Unpin + 'static,
        hook: CloseHook,
    ) -> (Self, UpstreamEvents) {
        let (outbox, write) = Outbox::new(stdin);
        let calls = Calls::new(outbox.clone());
        let asks = Asks::new(outbox.clone());
        let (board, events) = Board::new();
        let tail = Tail::default();
        let mut tasks = Tasks::default();
        tasks.spawn(write);
        let drained = tokio::spawn(tail.clone().drain(stderr));
        tasks.adopt(drained.abort_handle());
        let (on_calls, on_outbox, on_board) = (calls.clone(), outbox.clone(), Arc::clone(&board));
        let on_asks = asks.clone();
        tasks.spawn(async move {
            receive(stdout, &on_calls, &on_outbox, (&on_board, &on_asks)).await;
            on_asks.close();
            // The last words on stderr may still be on their way.
            let _ = timeout(LAST_WORDS, drained).await;
            let story = timeout(STORY, hook.0).await.unwrap_or_default();
            let why = match story.as_str() {
                "" => "the server stopped: it closed its output".to_owned(),
                story => format!("the server stopped: {story}"),
            };
            on_calls.close(&why);
            on_board.closed(&on_calls.closed().unwrap_or(why));
        });
        let life = Life {
            asks: asks.clone(),
            board,
            _tasks: tasks,
        };
        let upstream = Self {
            calls,
            asks,
            outbox,
            stderr: tail,
            modern: Arc::default(),
            level: Arc::default(),
            _life: Arc::new(life),
        };
        (upstream, events)
    }

    /// The same, with limits that stand still while there is a hold.
    pub(crate) fn paused_by(mut self, holds: Holds) -> Self {
        self.calls.holds = holds;
        self
    }

    /// From now on each request carries this in its `_meta`, and results are read as modern ones.
    pub(super) fn speak_modern(&self, envelope: Object) {
        // Said once: a server that answered is not asked again.
        let _ = self.modern.set(envelope);
    }

    /// From now on requests to a modern server want log messages of this level and above.
    pub(crate) fn want_logs(&self, level: LogLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// Whether the server is a modern one.
    pub(crate) fn is_modern(&self) -> bool {
        self.modern.get().is_some()
    }

    /// Reads all pages of the tool list. A later page that fails is told in `fault`.
    ///
    /// # Errors
    /// The first page fails, or the list breaks a hard bound.
    pub(crate) async fn list_tools(&self, limit: Duration) -> Result<ServerTools, CallError> {
        let clock = self.calls.holds.clock();
        let mut list = ToolList::new(ListBounds::default());
        let mut seen = HashSet::new();
        let mut cursor = None;
        loop {
            let left = limit.saturating_sub(clock.elapsed());
            let page = match self.tools_page(cursor.take(), left).await {
                Ok(page) => page,
                Err(error) if seen.is_empty() => return Err(error),
                Err(error) => {
                    let page = seen.len() + 1;
                    let fault = Some(format!("page {page} of the tool list failed: {error}"));
                    return Ok(ServerTools { list, fault });
                }
            };
            let refuse = |error: ListError| CallError::Reply(error.to_string());
            list.add_page(page.items).map_err(refuse)?;
            let Some(next) = page.next else {
                return Ok(ServerTools { list, fault: None });
            };
            if !seen.insert(next.clone()) {
                return Err(refuse(ListError::Circle));
            }
            cursor = Some(next);
        }
    }

    async fn tools_page(&self, cursor: Option<String>, limit: Duration) -> Result<Page, CallError> {
        self.page(Listing::Tools, cursor, limit).await
    }

    async fn page(
        &self,
        listing: Listing,
        cursor: Option<String>,
        limit: Duration,
    ) -> Result<Page, CallError> {
        let params = cursor.map(|cursor| {
            let mut params = Object::default();
            params.insert("cursor", cursor.into());
            params
        });
        let options = CallOptions::within(limit);
        let result = self.request(listing.method(), params, options).await?;
        Page::from_result(listing, result).map_err(|error| CallError::Reply(error.to_string()))
    }

    /// Reads all pages of another list than that of tools.
    ///
    /// # Errors
    /// A page fails, or the list breaks a hard bound ([`CallError::Reply`]).
    pub(crate) async fn list(
        &self,
        listing: Listing,
        limit: Duration,
    ) -> Result<Vec<Json>, CallError> {
        let clock = self.calls.holds.clock();
        let mut pages = Pages::new(listing);
        let mut cursor = None;
        loop {
            let left = limit.saturating_sub(clock.elapsed());
            let page = self.page(listing, cursor.take(), left).await?;
            match pages.add(page).map_err(CallError::Reply)? {
                Some(next) => cursor = Some(next),
                None => return Ok(pages.into_items()),
            }
        }
    }

    /// Asks the server and waits for its result. A modern server that wants to be told something first
    /// is told what it may ask, as often as calls are repeated at all.
    ///
    /// # Errors
    /// Why there is no result.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Option<Object>,
        options: CallOptions,
    ) -> Result<Json, CallError> {
        let _working = self.asks.begin(method, &options.cancel);
        let Some(envelope) = self.modern.get() else {
            return self.ask(method, params, options).await;
        };
        let level = *self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let params = with_envelope(params, envelope, (level, options.offers.as_ref()));
        let mut round = params.clone();
        for _ in 0..ROUNDS_MAX {
            let result = self.ask(method, Some(round), options.clone()).await?;
            let wanted = match era::take_off(result).map_err(CallError::Reply)? {
                Outcome::Complete(result) => return Ok(result),
                Outcome::Input(wanted) if era::MAY_ASK.contains(&method) => wanted,
                Outcome::Input(_) => {
                    let why = format!("it asks for input before it answers `{method}`");
                    return Err(CallError::Reply(why));
                }
            };
            round = params.clone();
            if let Some(told) = self.told(wanted.requests, &options.cancel).await? {
                round.insert("inputResponses", told.into());
            }
            if let Some(state) = wanted.state {
                round.insert("requestState", state.into());
            }
        }
        Err(CallError::Reply(format!(
            "it asked for input {ROUNDS_MAX} times and gave no result"
        )))
    }

    /// Asks once, and gives the result as it came.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: Option<Object>,
        options: CallOptions,
    ) -> Result<Json, CallError> {
        self.calls.request(method, params, options).await
    }

    /// The answers to what a modern server asks for a call, all of it at once; nothing where it asks
    /// nothing.
    async fn told(
        &self,
        requests: Vec<(String, String, Option<Object>)>,
        call: &Cancel,
    ) -> Result<Option<Object>, CallError> {
        // Where one is refused, the others are withdrawn.
        let open = Open::default();
        let mut wanted = Vec::new();
        for (key, method, params) in requests {
            let shown = crate::clean::line(&method, 80);
            let asked = (key.as_str(), method, params.unwrap_or_default());
            let want = self.asks.want(asked, (call, &open.0));
            wanted.push((want.map_err(|error| refused(&shown, &error))?, key, shown));
        }
        let mut told = Object::default();
        for (want, key, shown) in wanted {
            let answer = tokio::select! {
                answer = want.answer() => answer,
                why = call.cancelled() => return Err(CallError::Cancelled(why)),
            };
            told.insert(key, answer.map_err(|error| refused(&shown, &error))?);
        }
        Ok((!told.is_empty()).then_some(told))
    }

    /// Tells the server something. Waits while it is slow to read.
    ///
    /// # Errors
    /// It reads no more.
    pub(crate) async fn notify(
        &self,
        method: &str,
        params: Option<Object>,
    ) -> Result<(), CallError> {
        let line = Message::from(Notification::new(method, params)).to_line();
        let closed = || "the server reads no more".to_owned();
        self.outbox
            .send(line)
            .await
            .map_err(|_| CallError::Closed(self.calls.closed().unwrap_or_else(closed)))
    }

    /// The last lines of its standard error. Raw: clean them first.
    pub(crate) fn stderr_tail(&self) -> String {
        self.stderr.text()
    }

    /// Whether it is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.calls.closed().is_some()
    }

    /// Ends its input, which asks it to stop; what was sent before still arrives.
    pub(crate) fn close_input(&self) {
        self.outbox.close();
    }
}

/// Questions that are open for a call, as long as it waits for them.
#[derive(Default)]
struct Open(Cancel);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.cancel("the call that it was for goes on without it");
    }
}

fn refused(method: &str, error: &RpcError) -> CallError {
    let why = error.message();
    CallError::Reply(format!("it asks for `{method}` before it answers: {why}"))
}

/// What is said with a request to a modern server, beside what stands in its `_meta` already.
fn with_envelope(
    params: Option<Object>,
    envelope: &Object,
    (level, offers): (Option<LogLevel>, Option<&Object>),
) -> Object {
    let mut params = params.unwrap_or_default();
    let mut meta = match params.remove("_meta") {
        Some(Json::Object(meta)) => meta,
        _ => Object::default(),
    };
    for (key, value) in envelope.iter() {
        meta.insert(key, value.clone());
    }
    if let Some(offers) = offers {
        meta.insert(era::META_CAPABILITIES, offers.clone().into());
    }
    if let Some(level) = level {
        meta.insert(era::META_LOG_LEVEL, level.name().into());
    }
    params.insert("_meta", meta.into());
    params
}

/// How often one call is repeated with what its server asked for.
const ROUNDS_MAX: usize = 16;

const LAST_WORDS: Duration = Duration::from_millis(100);
const STORY: Duration = Duration::from_millis(500);
