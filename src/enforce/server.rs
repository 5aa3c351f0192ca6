//! A running, confined server: its connection, what its sandbox holds, and the tools in use.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Mutex;

use crate::config::ServerDefinition;
use crate::digest::Digest;
use crate::grant::Confinement;
use crate::request::{Agent, ConnectServer, Pin, PinRecord, ServerFacts, ServerId, ToolFacts};
use crate::sandbox::{Confined, Exit};
use crate::transport::{Holds, ServerHello, Upstream};

use super::connected::Connected;
use super::line::Line;
use super::private::Private;
use super::reach::{Outlet, RefusedHost};
use super::shelf::Shelf;
use super::tool::Tool;

/// The tools of a server, as reviewed.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolBook {
    /// In use.
    pub(crate) offered: Vec<Arc<Tool>>,
    /// Held back until a person agrees, or set aside, with the reason.
    pub(crate) left_out: Vec<(String, String)>,
    /// The whole list against what was agreed to.
    pub(crate) pin: Option<Pin>,
    /// The digest of the agreed list that the tools in use are of.
    pub(crate) digest: Option<Digest>,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) definition: ServerDefinition,
    pub(crate) confinement: Confinement,
    pub(crate) upstream: Upstream,
    /// How it speaks, and what it says that it can do.
    pub(crate) hello: ServerHello,
    /// What it lists beside tools.
    pub(super) shelf: Shelf,
    pub(super) facts: ServerFacts,
    pub(super) tools: RwLock<ToolBook>,
    /// The list that was agreed to for as long as this process of the server runs.
    pub(super) accepted: RwLock<Option<PinRecord>>,
    pub(super) confined: Arc<Mutex<Option<Confined>>>,
    pub(super) calls: RwLock<BTreeMap<String, Arc<AtomicU64>>>,
    pub(super) started: u64,
    /// The way out of its sandbox, where hosts are decided one by one.
    pub(crate) outlet: Option<Arc<Outlet>>,
    /// What stands while a person is asked for it.
    pub(super) holds: Holds,
    pub(super) bases: Vec<PathBuf>,
    /// The connection to a server that runs elsewhere, and what was judged about it.
    pub(super) remote: Option<(Connected, ConnectServer)>,
    /// Held so that the temporary folder goes with the server.
    pub(super) _private: Option<Private>,
}

impl Server {
    /// Its identity.
    pub(crate) fn id(&self) -> &ServerId {
        &self.definition.id
    }

    /// The tools as reviewed last.
    pub(crate) fn tools(&self) -> ToolBook {
        self.tools
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn set_tools(&self, book: ToolBook) {
        *self.tools.write().unwrap_or_else(PoisonError::into_inner) = book;
    }

    /// The list that was agreed to since it started.
    pub(super) fn accepted(&self) -> Option<PinRecord> {
        self.accepted
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn accept(&self, list: PinRecord) {
        *self
            .accepted
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(list);
    }

    /// Under what its pins and answers are kept.
    pub(super) fn subject(&self) -> &str {
        &self.facts.subject
    }

    /// The facts policy sees, with the tool list as it is now.
    pub(crate) fn facts(&self) -> ServerFacts {
        let book = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        ServerFacts {
            tools_pin: book.pin.unwrap_or(Pin::Unpinned),
            tools: book.digest.unwrap_or(self.facts.tools),
            ..self.facts.clone()
        }
    }

    /// The facts of one of its tools.
    pub(crate) fn tool_facts(&self, tool: &Tool) -> ToolFacts {
        ToolFacts {
            server: self.facts(),
            name: tool.offered.name.clone(),
            digest: tool.offered.digest,
            claims: tool.offered.claims,
        }
    }

    /// Counts a call of a tool; returns how many came before it.
    pub(super) fn count_call(&self, tool: &str) -> u64 {
        let known = self
            .calls
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(tool)
            .cloned();
        let counter = known.unwrap_or_else(|| {
            let mut calls = self.calls.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(calls.entry(tool.to_owned()).or_default())
        });
        counter.fetch_add(1, Ordering::Relaxed)
    }

    /// Ends the server: closes its input, waits, then kills the whole tree.
    pub(crate) async fn shutdown(&self) -> Option<Exit> {
        self.upstream.close_input();
        self.end().await
    }

    /// Waits for the end of a server whose output has closed.
    pub(crate) async fn ended(&self) -> Option<Exit> {
        self.end().await
    }

    /// Ends the process, then its connections, so that their last bytes are on record.
    async fn end(&self) -> Option<Exit> {
        if let Some((connected, _)) = &self.remote {
            connected.ended().await;
        }
        let mut confined = self.confined.lock().await.take()?;
        let exit = confined.shutdown().await;
        if let Some(outlet) = &self.outlet {
            outlet.close().await;
        }
        Some(exit)
    }

    /// The origin of a server that runs elsewhere.
    pub(crate) fn elsewhere(&self) -> Option<&str> {
        let (connected, _) = self.remote.as_ref()?;
        Some(connected.origin())
    }

    /// Why its connection would be denied now, whatever anybody answers.
    pub(super) fn connection_denied(&self, line: &Line, agent: &Agent) -> Option<String> {
        let (_, action) = self.remote.as_ref()?;
        let run = line.run();
        line.point.denied(line.asking(agent, &run), action)
    }

    /// What stands while a person is asked about a host that it wants to reach, or for its sake.
    pub(super) fn holds(&self) -> Holds {
        self.holds.clone()
    }

    /// How many connections were refused to it so far.
    pub(super) fn refusals(&self) -> u64 {
        self.outlet.as_ref().map_or(0, |outlet| outlet.mark())
    }

    /// The hosts that were refused to it after a mark.
    pub(crate) fn refused_since(&self, mark: u64) -> Vec<RefusedHost> {
        let outlet = self.outlet.as_ref();
        outlet.map_or_else(Vec::new, |outlet| outlet.refused_since(mark))
    }

    /// The folders against which it may mean a relative path.
    pub(crate) fn bases(&self) -> &[PathBuf] {
        &self.bases
    }

    /// The sequence number of the record that permitted its start.
    pub(crate) fn started_by(&self) -> u64 {
        self.started
    }
}
