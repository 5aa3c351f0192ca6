//! The way out of one sandbox: its proxy, and the doorman that decides for it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::address::Target;
use crate::request::{Agent, Answer, Confinee, HostRule};
use crate::sandbox::Confined;
use crate::sandbox::egress::{EgressLimits, Proxy};
use crate::transport::Holds;

use super::super::line::Line;
use super::doorman::Doorman;
use super::refused::RefusedHost;

/// Who lives in the sandbox, and what was agreed to about its hosts.
#[derive(Clone, Debug)]
pub(crate) struct Tenant {
    /// What is decided about.
    pub(crate) confinee: Confinee,
    /// Its name for people, `user/files` or a program.
    pub(crate) name: String,
    /// The hosts that were asked for at the start.
    pub(crate) hosts: Vec<HostRule>,
    /// The answer that the start was given.
    pub(crate) answer: Answer,
    /// Whether the hosts were named by the user or the organisation, and not by a repository.
    pub(crate) is_trusted: bool,
}

impl Tenant {
    /// How a person can allow a host.
    pub(super) fn way_out(&self, target: &Target) -> String {
        let host = target.host.as_str();
        let wanted = match target.port {
            443 if target.host.address().is_none() => host.to_owned(),
            _ => target.to_string(),
        };
        let entry = match &self.confinee {
            Confinee::Server(_) => format!("name `{wanted}` under `network` in its entry"),
            Confinee::Command { .. } => format!("run it with `--host {wanted}`"),
        };
        format!("{entry}, or write a policy that permits `sandbox.network` on Host::\"{host}\"")
    }
}

/// The way out of one sandbox.
#[derive(Debug)]
pub(crate) struct Outlet {
    doorman: Arc<Doorman>,
    proxy: Mutex<Option<Proxy>>,
}

impl Outlet {
    /// Opens the way out of a sandbox whose hosts are decided one by one; `None` for any other. The
    /// program runs already and may wait at the door.
    pub(crate) fn open(
        line: &Line,
        agent: &Agent,
        confined: &mut Confined,
        tenant: Tenant,
    ) -> io::Result<Option<Arc<Self>>> {
        let Some(listener) = confined.listener.take() else {
            return Ok(None);
        };
        let point = Arc::clone(&line.point);
        let doorman = Arc::new(Doorman::new(point, (agent.clone(), line.run()), tenant));
        let gate: Arc<Doorman> = Arc::clone(&doorman);
        let proxy = Proxy::start(listener, gate, EgressLimits::default())?;
        let outlet = Arc::new(Self {
            doorman,
            proxy: Mutex::new(Some(proxy)),
        });
        line.outlets.add(&outlet);
        Ok(Some(outlet))
    }

    /// What stands while a person is asked about a host.
    pub(crate) fn holds(&self) -> Holds {
        self.doorman.holds()
    }

    /// How many connections were refused so far.
    pub(crate) fn mark(&self) -> u64 {
        self.doorman.mark()
    }

    /// The hosts that were refused after a mark.
    pub(crate) fn refused_since(&self, mark: u64) -> Vec<RefusedHost> {
        self.doorman.refused_since(mark)
    }

    /// Ends the connections that the policies in force do not allow any more.
    pub(super) fn cut(&self) {
        let proxy = self.proxy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(proxy) = proxy.as_ref() {
            proxy.cut(|wanted| self.doorman.still_allows(wanted));
        }
    }

    /// Ends all connections, and puts on record what passed.
    pub(crate) async fn close(&self) {
        let proxy = self
            .proxy
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(proxy) = proxy {
            proxy.close().await;
        }
    }
}
