//! Calls that wait for their answers: ids, progress tokens, limits, cancelling. Used towards servers
//! and towards the client alike.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use crate::protocol::json::{Json, MESSAGE_MAX, Number, Object};
use crate::protocol::rpc::{Message, Notification, Request, Response};

use super::error::CallError;
use super::holds::Holds;
use super::outbox::Outbox;
use super::timer::{Cancel, expired};

/// How a call is made.
#[derive(Clone, Debug)]
pub(crate) struct CallOptions {
    /// The longest silence.
    pub(crate) timeout: Duration,
    /// The longest time in all, whatever progress is reported.
    pub(crate) hard_max: Duration,
    /// What happens with progress reports.
    pub(crate) progress: Progress,
    /// Ends the call when its result is wanted no more.
    pub(crate) cancel: Cancel,
    /// What a modern server may ask back in this call; `None` for all that is declared to it.
    pub(crate) offers: Option<Object>,
    /// What is asked is called so by who asks it: a modern client sees it where it can be used.
    pub(crate) key: Option<String>,
}

/// What happens with progress reports of a call.
#[derive(Clone, Debug)]
pub(crate) enum Progress {
    /// None are asked for.
    Ignore,
    /// They restart the limit.
    Restart,
    /// They restart the limit and go to the one who asked for them, under its own token.
    Report {
        /// The asker's token: any string or number, 0 and "" among them.
        token: Json,
        /// Who takes the parameters of the report. Runs between two messages: must not block.
        report: Report,
    },
}

impl Progress {
    /// Reports, in Creance's own words, to the one who asked for reports: a little further than what
    /// was reported last.
    pub(crate) fn say(&self, message: &str) {
        let Self::Report { token, report } = self else {
            return;
        };
        let Some(number) = report.step() else {
            return;
        };
        let params = Json::object([
            ("progressToken", token.clone()),
            ("progress", number.into()),
            ("message", message.into()),
        ]);
        if let Json::Object(params) = params {
            (report.take)(params);
        }
    }
}

/// Takes the parameters of a progress report.
#[derive(Clone)]
pub(crate) struct Report {
    take: Arc<dyn Fn(Object) + Send + Sync>,
    /// How far the last report was: each has to be more than the one before.
    last: Arc<Mutex<f64>>,
}

impl Report {
    /// A function that takes reports.
    pub(crate) fn new(report: impl Fn(Object) + Send + Sync + 'static) -> Self {
        Self {
            take: Arc::new(report),
            last: Arc::default(),
        }
    }

    /// Passes on what a server reports.
    fn pass(&self, params: Object) {
        let number = params.get("progress").and_then(Json::as_number);
        if let Some(progress) = number.and_then(|number| number.text().parse().ok()) {
            *self.last() = progress;
        }
        (self.take)(params);
    }

    /// The number of a report between two of the server's, which count in whole steps as a rule.
    fn step(&self) -> Option<Number> {
        let mut last = self.last();
        let next = *last + 0.001;
        let number = (next > *last).then(|| Number::parse(&format!("{next:.3}")))??;
        *last = next;
        Some(number)
    }

    fn last(&self) -> MutexGuard<'_, f64> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Report")
    }
}

impl CallOptions {
    /// A call that may take this long, with no progress asked for.
    pub(crate) fn within(timeout: Duration) -> Self {
        Self {
            timeout,
            hard_max: timeout,
            progress: Progress::Ignore,
            cancel: Cancel::default(),
            offers: None,
            key: None,
        }
    }
}

/// How long it may take until a peer that reads no more has ended, and why is known.
const END_TOLD: Duration = Duration::from_secs(1);

/// The calls that wait.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    outbox: Outbox,
    /// While one stands, no limit runs.
    pub(super) holds: Holds,
    table: Arc<Mutex<Table>>,
}

#[derive(Debug, Default)]
struct Table {
    last: u64,
    waiting: HashMap<u64, Waiting>,
    closed: Option<String>,
}

#[derive(Debug)]
struct Waiting {
    answer: oneshot::Sender<Result<Json, CallError>>,
    progress: Progress,
    alive: Arc<Notify>,
}

impl Calls {
    /// No calls yet.
    pub(super) fn new(outbox: Outbox) -> Self {
        Self {
            outbox,
            holds: Holds::default(),
            table: Arc::default(),
        }
    }

    /// Asks and waits. The id is ours; a progress token in the parameters is replaced by ours.
    ///
    /// # Errors
    /// Why there is no result.
    pub(super) async fn request(
        &self,
        method: &str,
        params: Option<Object>,
        options: CallOptions,
    ) -> Result<Json, CallError> {
        let alive = Arc::new(Notify::new());
        let (id, answer) = self.enter(options.progress.clone(), Arc::clone(&alive))?;
        let mut open = Open {
            calls: self,
            id,
            sent: false,
            quiet: method == "initialize" || method == "server/discover",
        };
        let params = with_token(params, &options.progress, id);
        let line = Message::from(Request::new(id.into(), method, params)).to_line();
        if line.len() > MESSAGE_MAX {
            return Err(CallError::TooLarge {
                bytes: line.len(),
                most: MESSAGE_MAX,
            });
        }
        let answered = async {
            // When the peer reads no more, its last answers and its end still come: `fail_all`.
            let sent = self.outbox.send(line).await;
            open.sent = true;
            if sent.is_err() {
                // As a rule it is ending, and how is known in a moment.
                let told = tokio::time::timeout(END_TOLD, answer).await;
                let deaf = || CallError::Closed("the other side reads no more".to_owned());
                return told
                    .ok()
                    .and_then(Result::ok)
                    .unwrap_or_else(|| Err(deaf()));
            }
            let gone = || CallError::Closed("the connection is closed".to_owned());
            answer.await.unwrap_or_else(|_| Err(gone()))
        };
        let CallOptions {
            timeout,
            hard_max,
            cancel,
            ..
        } = options;
        tokio::select! {
            biased;
            outcome = answered => outcome,
            why = cancel.cancelled() => Err(CallError::Cancelled(why)),
            error = expired(timeout, hard_max, (&alive, &self.holds)) => Err(error),
        }
    }

    /// Gives an answer to the call that waits for it; whether there was one.
    pub(super) fn answer(&self, response: Response) -> bool {
        let outcome = response.outcome.map_err(CallError::Rpc);
        let id = response.id.as_counter();
        id.is_some_and(|id| self.settle(id, outcome))
    }

    /// Ends one call; whether there was one.
    pub(super) fn settle(&self, id: u64, outcome: Result<Json, CallError>) -> bool {
        let waiting = self.lock().waiting.remove(&id);
        // The caller may have gone at this moment: then nobody wants the outcome.
        waiting.map(|w| w.answer.send(outcome)).is_some()
    }

    /// The call that an answer without an id must be for: the only one that waits.
    pub(super) fn only(&self) -> Option<u64> {
        let table = self.lock();
        let mut ids = table.waiting.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }

    /// Ends all calls.
    pub(super) fn fail_all(&self, error: &CallError) {
        let all = std::mem::take(&mut self.lock().waiting);
        for waiting in all.into_values() {
            // As in `settle`.
            let _ = waiting.answer.send(Err(error.clone()));
        }
    }

    /// Ends all calls, also all later ones, with the first reason given.
    pub(super) fn close(&self, why: &str) {
        self.outbox.close();
        self.hang_up(why);
    }

    /// Ends all calls, also all later ones, while answers and notes may still be sent.
    pub(super) fn hang_up(&self, why: &str) {
        let first = self
            .lock()
            .closed
            .get_or_insert_with(|| why.to_owned())
            .clone();
        self.fail_all(&CallError::Closed(first));
    }

    /// Why the connection is closed, if it is.
    pub(super) fn closed(&self) -> Option<String> {
        self.lock().closed.clone()
    }

    /// Hands a progress report to its call.
    pub(super) fn progress(&self, mut params: Object) {
        let token = params.get("progressToken").and_then(token_id);
        let found = token.and_then(|id| {
            let table = self.lock();
            let waiting = table.waiting.get(&id)?;
            Some((waiting.progress.clone(), Arc::clone(&waiting.alive)))
        });
        let Some((progress, alive)) = found else {
            return;
        };
        alive.notify_one();
        if let Progress::Report { token, report } = progress {
            params.insert("progressToken", token);
            report.pass(params);
        }
    }

    fn enter(
        &self,
        progress: Progress,
        alive: Arc<Notify>,
    ) -> Result<(u64, oneshot::Receiver<Result<Json, CallError>>), CallError> {
        let (answer, receiver) = oneshot::channel();
        let mut table = self.lock();
        if let Some(why) = &table.closed {
            return Err(CallError::Closed(why.clone()));
        }
        table.last += 1;
        let id = table.last;
        let waiting = Waiting {
            answer,
            progress,
            alive,
        };
        table.waiting.insert(id, waiting);
        Ok((id, receiver))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call under way. However it ends, also by dropping its future, its place is cleared, and the
/// peer is told when it still works on it.
struct Open<'a> {
    calls: &'a Calls,
    id: u64,
    sent: bool,
    // `initialize` must not be cancelled, and what comes before it need not.
    quiet: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let unanswered = self.calls.lock().waiting.remove(&self.id).is_some();
        if unanswered && self.sent && !self.quiet {
            let mut params = Object::default();
            params.insert("requestId", self.id.into());
            let note = Notification::new("notifications/cancelled", Some(params));
            self.calls.outbox.offer(Message::from(note).to_line());
        }
    }
}

/// Our token is the id of the request, so a report finds its call without another table.
fn with_token(params: Option<Object>, progress: &Progress, id: u64) -> Option<Object> {
    let wanted = !matches!(progress, Progress::Ignore);
    let mut params = match params {
        None if !wanted => return None,
        params => params.unwrap_or_default(),
    };
    let mut meta = match params.get("_meta") {
        Some(Json::Object(meta)) => meta.clone(),
        Some(_) => return Some(params),
        None if !wanted => return Some(params),
        None => Object::default(),
    };
    meta.remove("progressToken");
    if wanted {
        meta.insert("progressToken", id.into());
    }
    params.insert("_meta", meta.into());
    Some(params)
}

fn token_id(token: &Json) -> Option<u64> {
    crate::protocol::rpc::Id::from_json(token)?.as_counter()
}
