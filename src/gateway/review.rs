//! Reviews the tool lists of one server, one at a time: the first, and each that it announces.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use crate::clean;
use crate::digest::Digest;
use crate::enforce::{Server, tools};
use crate::transport::{CallError, ServerTools};

use super::member::{Member, State};
use super::serve::Gateway;

/// How long one listing may take.
const LIST_LIMIT: Duration = Duration::from_secs(30);

/// The rest after a review. It doubles each time that an announced change is none, so that a
/// server that announces one at every listing does not keep everybody busy.
const REST: Duration = Duration::from_millis(100);
const REST_MAX: Duration = Duration::from_secs(10);

/// Reviews the tool lists of one server.
pub(super) struct Reviewer {
    gateway: Weak<Gateway>,
    member: Arc<Member>,
    server: Arc<Server>,
    news: Arc<Notify>,
}

impl Reviewer {
    pub(super) fn new(gateway: Weak<Gateway>, member: Arc<Member>, server: Arc<Server>) -> Self {
        Self {
            gateway,
            member,
            server,
            news: Arc::default(),
        }
    }

    /// To be notified of a change; one during a review is not lost.
    pub(super) fn news(&self) -> Arc<Notify> {
        Arc::clone(&self.news)
    }

    /// Reviews the first list, says when its tools can be used or somebody is asked, then waits for
    /// news. Ends with the server.
    pub(super) async fn run(self, first: ServerTools, ready: watch::Sender<bool>) {
        let mut known = first.list.digest();
        if !self.take(first, Some(Arc::new(ready))).await {
            return;
        }
        let mut rest = REST;
        loop {
            self.news.notified().await;
            match tools::list(&self.server, LIST_LIMIT).await {
                Ok(list) => {
                    let digest = list.list.digest();
                    rest = next_rest(rest, digest == known);
                    let whole = list.fault.is_none();
                    if (digest != known || !whole) && !self.take(list, None).await {
                        return;
                    }
                    known = if whole { digest } else { Digest::of("") };
                }
                Err(error) if refuses(&error) => return self.refuse(&error).await,
                Err(error) => {
                    let error = clean::line(&clean::mask(&error.to_string()), 500);
                    tracing::warn!(server = %self.member.id(), "its tools could not be listed: {error}");
                }
            }
            sleep(rest).await;
        }
    }

    /// Takes a list into use; whether there is still a gateway.
    async fn take(&self, list: ServerTools, ready: Option<Arc<watch::Sender<bool>>>) -> bool {
        let Some(gateway) = self.gateway.upgrade() else {
            return false;
        };
        let agent = gateway.client().agent();
        let (asked, early) = (Weak::clone(&self.gateway), ready.clone());
        let asks = move || {
            if let Some(gateway) = asked.upgrade() {
                gateway.tools_changed();
            }
            early.inspect(|ready| drop(ready.send_replace(true)));
        };
        let taken = tools::take(gateway.line(), &agent, &self.server, list, asks).await;
        if let Err(error) = taken {
            let error = clean::line(&error.to_string(), 500);
            tracing::warn!(server = %self.member.id(), "{error}");
        }
        gateway.tools_changed();
        ready.inspect(|ready| drop(ready.send_replace(true)));
        true
    }

    /// Ends a server whose list breaks a bound.
    async fn refuse(&self, error: &CallError) {
        let Some(gateway) = self.gateway.upgrade() else {
            return;
        };
        let why = clean::mask(&error.to_string()).into_owned();
        tracing::warn!(server = %self.member.id(), "refused: {}", clean::line(&why, 500));
        gateway.note(
            "server-refused",
            json!({ "server": self.member.id().to_string(), "why": clean::line(&why, 500) }),
        );
        self.member.set(State::Failed(why));
        gateway.tools_changed();
        let server = Arc::clone(&self.server);
        // Its end ends this task, which must not end the shutdown.
        gateway.spawn(async move {
            server.shutdown().await;
        });
    }
}

/// Whether a list was read and is not acceptable, rather than not read.
fn refuses(error: &CallError) -> bool {
    matches!(error, CallError::Reply(_))
}

fn next_rest(rest: Duration, same: bool) -> Duration {
    if same { (rest * 2).min(REST_MAX) } else { REST }
}
