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
        let mut seen = Seen::of(&first);
        let mut rest = REST;
        let mut goes_on = self.take(first, Some(Arc::new(ready))).await;
        while goes_on {
            self.news.notified().await;
            goes_on = match tools::list(&self.server, LIST_LIMIT).await {
                Ok(list) => {
                    let now = Seen::of(&list);
                    let same = now == seen && now.whole;
                    rest = next_rest(rest, &now, &seen);
                    seen = now;
                    same || self.take(list, None).await
                }
                Err(error) => self.fault(&error).await,
            };
            sleep(rest).await;
        }
    }

    /// A list that did not come, or that is not acceptable; whether reviewing goes on.
    async fn fault(&self, error: &CallError) -> bool {
        if let CallError::Reply(_) = error {
            if let Some(gateway) = self.gateway.upgrade() {
                gateway.refuse(&self.member, &self.server, &error.to_string());
            }
            return false;
        }
        let error = clean::line(&clean::mask(&error.to_string()), 500);
        tracing::warn!(server = %self.member.id(), "its tools could not be listed: {error}");
        true
    }

    /// Takes a list into use; whether there is still a gateway.
    async fn take(&self, list: ServerTools, ready: Option<Arc<watch::Sender<bool>>>) -> bool {
        let Some(gateway) = self.gateway.upgrade() else {
            return false;
        };
        let agent = gateway.client().agent();
        let usable = |gateway: Option<Arc<Gateway>>, ready: &Option<Arc<watch::Sender<bool>>>| {
            if let Some(gateway) = gateway {
                gateway.tools_changed();
            }
            if let Some(ready) = ready {
                ready.send_replace(true);
            }
        };
        let (asked, early) = (Weak::clone(&self.gateway), ready.clone());
        let asks = move || usable(asked.upgrade(), &early);
        let taken = tools::take(gateway.line(), &agent, &self.server, list, asks).await;
        if let Err(error) = taken {
            let error = clean::line(&error.to_string(), 500);
            tracing::warn!(server = %self.member.id(), "{error}");
        }
        usable(Some(gateway), &ready);
        true
    }
}

impl Gateway {
    /// Ends a server whose list breaks a bound.
    pub(super) fn refuse(&self, member: &Arc<Member>, server: &Arc<Server>, why: &str) {
        let current = member.server().is_some_and(|now| Arc::ptr_eq(&now, server));
        if !current {
            return;
        }
        let why = clean::mask(why).into_owned();
        tracing::warn!(server = %member.id(), "refused: {}", clean::line(&why, 500));
        self.note(
            "server-refused",
            json!({ "server": member.id().to_string(), "why": clean::line(&why, 500) }),
        );
        member.set(State::Failed(why));
        self.tools_changed();
        let server = Arc::clone(server);
        // Its end ends the tasks that watch it, which must not end the shutdown.
        self.spawn(async move {
            server.shutdown().await;
        });
    }
}

fn next_rest(rest: Duration, now: &Seen, before: &Seen) -> Duration {
    if now == before {
        return (rest * 2).min(REST_MAX);
    }
    REST
}

/// A list as it was seen last.
#[derive(PartialEq, Eq)]
struct Seen {
    digest: Digest,
    /// Whether all pages came: what is missing may come the next time.
    whole: bool,
}

impl Seen {
    fn of(list: &ServerTools) -> Self {
        Self {
            digest: list.list.digest(),
            whole: list.fault.is_none(),
        }
    }
}
