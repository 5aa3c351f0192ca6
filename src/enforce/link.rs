//! From a confined process to a server that answered, in whichever era it speaks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::config::ServerDefinition;
use crate::sandbox::Confined;
use crate::transport::{
    ClientInfo, CloseHook, Holds, Known, ServerHello, Upstream, UpstreamEvents,
};

use super::arguments;
use super::asks::Newcomer;
use super::launch::{Launched, Phase, as_started, failed, unusable};
use super::line::Line;
use super::prepare::Prepared;
use super::reach::Outlet;
use super::server::Server;
use super::start_error::StartError;

/// A server that answered.
pub(super) struct Link {
    upstream: Upstream,
    events: UpstreamEvents,
    pub(super) hello: ServerHello,
    confined: Arc<Mutex<Option<Confined>>>,
    outlet: Option<Arc<Outlet>>,
    holds: Holds,
}

impl Link {
    /// The server, once its answers are read.
    pub(super) fn into_server(
        self,
        definition: &ServerDefinition,
        prepared: Prepared,
        started: u64,
    ) -> (Server, UpstreamEvents) {
        let facts = as_started(&prepared);
        let server = Server {
            definition: definition.clone(),
            bases: arguments::bases(&prepared.action.launch),
            confinement: prepared.action.confinement,
            upstream: self.upstream,
            hello: self.hello,
            shelf: Default::default(),
            facts,
            tools: Default::default(),
            confined: self.confined,
            accepted: Default::default(),
            calls: Default::default(),
            started,
            outlet: self.outlet,
            holds: self.holds,
            remote: None,
            _private: Some(prepared.private),
        };
        (server, self.events)
    }
}

/// Speaks to a process that runs.
pub(super) async fn connect(
    line: &Line,
    (definition, prepared): (&ServerDefinition, &Prepared),
    launched: Launched,
    (known, limit): (Known, Duration),
    phase: &(impl Fn(Phase<'_>) + Sync),
) -> Result<Link, StartError> {
    let Launched {
        mut confined,
        outlet,
        holds,
    } = launched;
    let (Some(stdin), Some(stdout), Some(stderr)) = (
        confined.stdin.take(),
        confined.stdout.take(),
        confined.stderr.take(),
    ) else {
        return Err(StartError::Changed("the process has no pipes".to_owned()));
    };
    let confined = Arc::new(Mutex::new(Some(confined)));
    let ends = Arc::clone(&confined);
    let story = async move {
        match ends.lock().await.as_mut() {
            Some(confined) => confined.wait().await.to_string(),
            None => String::new(),
        }
    };
    let (upstream, events) = Upstream::connect(stdin, stdout, stderr, CloseHook::new(story));
    let upstream = upstream.paused_by(holds.clone());
    let facts = as_started(prepared);
    phase(Phase::Connected(&Newcomer {
        upstream: &upstream,
        facts: &facts,
        holds: &holds,
        grant: &prepared.action.grant,
    }));
    match upstream.greet(CREANCE, known, limit).await {
        Ok(hello) => Ok(Link {
            upstream,
            events,
            hello,
            confined,
            outlet,
            holds,
        }),
        Err(error) => {
            let stderr = upstream.stderr_tail();
            let exit = end(&confined).await;
            failed(line, definition, exit)?;
            let mut refused = Vec::new();
            if let Some(outlet) = outlet {
                outlet.close().await;
                refused = outlet.refused_since(0);
            }
            Err(unusable(line, definition, (error, stderr), &refused))
        }
    }
}

/// How Creance names itself to servers.
pub(super) const CREANCE: ClientInfo = ClientInfo {
    name: "creance",
    version: env!("CARGO_PKG_VERSION"),
};

async fn end(confined: &Mutex<Option<Confined>>) -> Option<String> {
    let mut confined = confined.lock().await.take()?;
    Some(confined.shutdown().await.to_string())
}
