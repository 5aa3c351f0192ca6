//! The gateway's conversation with its client.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};

use crate::enforce::Line;
use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::{ClientHello, Revision};
use crate::protocol::names::NameMode;
use crate::protocol::rpc::{
    INVALID_REQUEST, Id, METHOD_NOT_FOUND, Notification, Request, RpcError,
};
use crate::transport::{Cancel, Inbox, Incoming};

use super::catalogue::Catalogue;
use super::client::Client;
use super::member::Member;
use super::starting::Starting;
use super::{pipeline, status};

/// What of the configuration concerns the gateway.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) names: NameMode,
    pub(crate) start_timeout_ms: u64,
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
    /// Calls at work, by the client's id, so that they can be cancelled.
    calls: Mutex<HashMap<Id, Cancel>>,
    tasks: Mutex<JoinSet<()>>,
    begun: AtomicBool,
    closing: AtomicBool,
    starting: Starting,
    /// The client does not know the newest catalogue.
    news: Arc<Notify>,
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
            calls: Mutex::default(),
            tasks: Mutex::default(),
            begun: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            starting: Starting::default(),
            news: Arc::default(),
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
        self.news.notify_one();
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

    async fn request(&self, request: Request) {
        let Request { id, method, params } = request;
        let greeted = self.client.hello().is_some();
        let answer = match method.as_str() {
            "initialize" => self.initialize(params.as_ref()),
            "ping" => Ok(Json::Object(Object::default())),
            "tools/list" | "tools/call" if !greeted => Err(RpcError::new(
                INVALID_REQUEST,
                "the first request must be `initialize`",
            )),
            "tools/list" => Ok(self.list()),
            "tools/call" => return self.call(id, params),
            _ => Err(RpcError::new(
                METHOD_NOT_FOUND,
                format!("no method `{}`", crate::clean::line(&method, 100)),
            )),
        };
        self.answer(id, answer).await;
    }

    async fn answer(&self, id: Id, outcome: Result<Json, RpcError>) {
        // A client that reads no more closes its output too: the loop ends then.
        let _ = self.client.wire().answer(id, outcome).await;
    }

    fn initialize(&self, params: Option<&Object>) -> Result<Json, RpcError> {
        let said = ClientHello::from_params(params)?;
        let revision = Revision::answer_to(&said.asked).name();
        self.client.greet(&said);
        let text = |text: &str| Json::String(text.to_owned());
        let tools = Json::object([("listChanged", Json::Bool(true))]);
        Ok(Json::object([
            ("protocolVersion", text(revision)),
            ("capabilities", Json::object([("tools", tools)])),
            (
                "serverInfo",
                Json::object([
                    ("name", text("creance")),
                    ("title", text("Creance")),
                    ("version", text(env!("CARGO_PKG_VERSION"))),
                ]),
            ),
            (
                "instructions",
                Json::String(status::instructions(self.members.len())),
            ),
        ]))
    }

    fn list(&self) -> Json {
        self.begin();
        let mut items = self.catalogue().list(&self.line, &self.client.agent());
        items.push(status::item());
        Json::object([("tools", Json::Array(items))])
    }

    fn call(&self, id: Id, params: Option<Object>) {
        let Some(gateway) = self.me.upgrade() else {
            return;
        };
        let cancel = Cancel::default();
        self.lock_calls().insert(id.clone(), cancel.clone());
        self.spawn(async move {
            let answer = pipeline::call(&gateway, params, cancel.clone()).await;
            gateway.lock_calls().remove(&id);
            // A cancelled request gets no response (MCP, Cancellation).
            if !cancel.is_cancelled() {
                gateway.answer(id, answer).await;
            }
        });
    }

    fn notification(&self, note: &Notification) {
        match note.method.as_str() {
            "notifications/initialized" if self.client.hello().is_some() => self.begin(),
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
    fn begin(&self) {
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
                gateway.bring_up(&member).await;
                drop(begun);
            });
        }
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
        self.news.notify_one();
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

    pub(super) fn settings(&self) -> Settings {
        self.settings
    }

    /// Whether a tool of this name would be taken for the gateway's own.
    pub(super) fn hides(&self, tool: &str) -> bool {
        self.settings.names == NameMode::Plain && tool == status::TOOL
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

/// Says that the tools may be others, once for all changes since it was said last. It waits where the
/// client is slow to read: a change that is never said would leave it with old tools.
async fn tell(gateway: Weak<Gateway>, news: Arc<Notify>) {
    loop {
        news.notified().await;
        let wire = match gateway.upgrade() {
            Some(gateway) if !gateway.is_closing() => gateway.client.wire().clone(),
            _ => return,
        };
        // A client that reads no more closes its output too: the loop ends then.
        let _ = wire.notify("notifications/tools/list_changed", None).await;
    }
}
