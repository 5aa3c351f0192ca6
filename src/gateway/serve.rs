//! The gateway's conversation with its client.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::enforce::Line;
use crate::protocol::mcp::Listing;
use crate::protocol::names::NameMode;
use crate::protocol::rpc::{Id, Notification};
use crate::transport::{Cancel, Inbox, Incoming};

use super::asks::Desk;
use super::catalogue::Catalogue;
use super::client::Client;
use super::logs::Logs;
use super::member::Member;
use super::news::{News, tell};
use super::starting::Starting;
use super::status;
use super::subscribe::Subscriptions;

/// What of the configuration concerns the gateway.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) names: NameMode,
    pub(crate) start_timeout_ms: u64,
    /// Whether what people fill into forms goes on record.
    pub(crate) record_answers: bool,
}

/// What became of the policy files as they are now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PolicyFiles {
    /// They are in force.
    #[default]
    InForce,
    /// They are, but for the organisation's newest bundle.
    BundleKept,
    /// They cannot be used: the last good ones are in force.
    Refused,
}

/// How long a list waits for servers that are being started.
const START: Duration = Duration::from_secs(10);

/// Time for the last records when everything has ended.
const LAST_RECORDS: Duration = Duration::from_millis(500);

/// One MCP server in front of all configured servers.
#[derive(Debug)]
pub(crate) struct Gateway {
    me: Weak<Gateway>,
    line: Arc<Line>,
    client: Arc<Client>,
    settings: Settings,
    members: Vec<Arc<Member>>,
    problems: Vec<String>,
    catalogue: RwLock<Arc<Catalogue>>,
    desk: Desk,
    /// Calls at work, by the client's id, so that they can be cancelled.
    calls: Mutex<HashMap<Id, Cancel>>,
    tasks: Mutex<JoinSet<()>>,
    begun: AtomicBool,
    closing: AtomicBool,
    /// Lists that the client does not know as they are now.
    news: Arc<News>,
    /// Log messages that the client wants.
    logs: Logs,
    /// What the client subscribed to.
    subscriptions: Subscriptions,
    starting: Starting,
    /// Whether the policy files as they are now are in force.
    policy_files: RwLock<PolicyFiles>,
}

impl Gateway {
    /// A gateway in front of these servers. `problems` are configured servers that cannot be used.
    pub(crate) fn new(
        line: Arc<Line>,
        client: Arc<Client>,
        settings: Settings,
        members: Vec<Member>,
        problems: Vec<String>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            line,
            client,
            settings,
            members: members.into_iter().map(Arc::new).collect(),
            problems,
            catalogue: RwLock::default(),
            desk: Desk::default(),
            calls: Mutex::default(),
            tasks: Mutex::default(),
            begun: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            starting: Starting::default(),
            news: Arc::default(),
            logs: Logs::default(),
            subscriptions: Subscriptions::default(),
            policy_files: RwLock::default(),
        })
    }

    /// Serves until the client is gone, then ends all servers.
    pub(crate) async fn serve(self: Arc<Self>, mut inbox: Inbox) {
        while let Some(incoming) = inbox.next().await {
            match incoming {
                Incoming::Request(request) => self.request(request).await,
                Incoming::Notification(note) => self.notification(&note),
                Incoming::Misfit(misfit) => {
                    // A client that reads no more closes its output too: the loop ends then.
                    let _ = self.client.wire().refuse(&misfit).await;
                }
                Incoming::Mended(count) => {
                    tracing::warn!(count, "mended lone surrogates in a message of the client");
                }
            }
        }
        self.close().await;
    }

    /// Ends everything: calls are cancelled, servers are shut down side by side.
    pub(crate) async fn close(&self) {
        if self.closing.swap(true, Ordering::SeqCst) {
            return;
        }
        for cancel in self.lock_calls().values() {
            cancel.cancel("the client is gone");
        }
        self.client.rounds().close();
        self.news.wake();
        let mut ends = JoinSet::new();
        for server in self.members.iter().filter_map(|member| member.server()) {
            ends.spawn(async move { server.shutdown().await });
        }
        while ends.join_next().await.is_some() {}
        // Cancelled calls put their outcome on record; what still waits then waits for nobody.
        let mut tasks = std::mem::take(&mut *self.lock_tasks());
        let _ = tokio::time::timeout(LAST_RECORDS, async {
            while tasks.join_next().await.is_some() {}
        })
        .await;
        tasks.shutdown().await;
        self.client.wire().finish().await;
    }

    /// Keeps how a call is cancelled.
    pub(super) fn keep_call(&self, id: &Id, cancel: &Cancel) {
        self.lock_calls().insert(id.clone(), cancel.clone());
    }

    /// A call is answered.
    pub(super) fn forget_call(&self, id: &Id) {
        self.lock_calls().remove(id);
    }

    fn notification(&self, note: &Notification) {
        match note.method.as_str() {
            "notifications/initialized" if self.client.is_legacy() => self.begin(),
            "notifications/cancelled" => {
                let params = note.params.as_ref();
                let id = params
                    .and_then(|p| p.get("requestId"))
                    .and_then(Id::from_json);
                let cancel = id.and_then(|id| self.lock_calls().get(&id).cloned());
                if let Some(cancel) = cancel {
                    cancel.cancel("the client no longer wants it");
                }
            }
            _ => {}
        }
    }

    /// Starts all servers, in parallel, the first time it is called.
    pub(super) fn begin(&self) {
        if self.begun.swap(true, Ordering::SeqCst) {
            return;
        }
        self.spawn(tell(Weak::clone(&self.me), Arc::clone(&self.news)));
        let _begun = self.starting.one();
        for member in &self.members {
            let Some(gateway) = self.me.upgrade() else {
                return;
            };
            let member = Arc::clone(member);
            let begun = self.starting.one();
            self.spawn(async move {
                let start = gateway.bring_up(&member);
                tokio::pin!(start);
                tokio::select! {
                    () = &mut start => return,
                    // Nobody waits here for somebody who thinks.
                    () = member.waits() => drop(begun),
                }
                start.await;
            });
        }
    }

    /// Waits for the servers that are being started, for a while: a modern client that does not listen
    /// hears of no change, many ask once what there is, and some know it from before. Not for one that
    /// waits for a person.
    pub(super) async fn await_start(&self) {
        self.begin();
        let mut up = self.starting.up();
        // What is not up then is said by `creance_status`.
        let _ = timeout(START, up.wait_for(|up| *up)).await;
    }

    /// The tools may be others now: gathers them, and says so to the client.
    pub(super) fn tools_changed(&self) {
        {
            // Gathered under the lock: a slower gatherer must not put back older tools.
            let mut catalogue = self
                .catalogue
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            *catalogue = Arc::new(catalogue.gather(&self.members, self.settings.names));
        }
        self.news.add(Listing::Tools);
    }

    /// Another list than that of tools may be another now.
    pub(super) fn list_changed(&self, listing: Listing) {
        self.news.add(listing);
    }

    /// True once the servers are up that were begun with the conversation, or have failed.
    #[cfg(feature = "http")]
    pub(crate) fn up(&self) -> tokio::sync::watch::Receiver<bool> {
        self.starting.up()
    }

    /// The policy files changed. Where they are in force, servers that may not run any more are ended.
    pub(crate) fn policies_changed(&self, files: PolicyFiles) {
        *self
            .policy_files
            .write()
            .unwrap_or_else(PoisonError::into_inner) = files;
        if let (true, Some(gateway)) = (files != PolicyFiles::Refused, self.me.upgrade()) {
            self.spawn(async move { gateway.recall().await });
        }
    }

    /// Whether the policy files as they are now are in force.
    pub(super) fn policy_files(&self) -> PolicyFiles {
        let kept = self.policy_files.read();
        *kept.unwrap_or_else(PoisonError::into_inner)
    }

    /// A task that this gateway owns: it is aborted when the gateway closes.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut tasks = self.lock_tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task)
    }

    pub(super) fn handle(&self) -> Weak<Self> {
        Weak::clone(&self.me)
    }

    pub(super) fn line(&self) -> &Line {
        &self.line
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn desk(&self) -> &Desk {
        &self.desk
    }

    pub(super) fn settings(&self) -> Settings {
        self.settings
    }

    /// Whether a tool of this name would be taken for the gateway's own.
    pub(super) fn hides(&self, tool: &str) -> bool {
        self.settings.names == NameMode::Plain && tool == status::TOOL
    }

    pub(super) fn logs(&self) -> &Logs {
        &self.logs
    }

    pub(super) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    pub(super) fn members(&self) -> &[Arc<Member>] {
        &self.members
    }

    pub(super) fn problems(&self) -> &[String] {
        &self.problems
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    pub(super) fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(
            &self
                .catalogue
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    fn lock_calls(&self) -> std::sync::MutexGuard<'_, HashMap<Id, Cancel>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_tasks(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
