//! The proxy of one sandbox: accepts, bounds, cuts, closes.

use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::answer::{self, Speech};
use super::connection::{Shared, serve};
use super::gate::{EgressEvent, Gate, Wanted};
use super::limits::EgressLimits;
use super::outside::{Outside, ThisMachine};
use super::refusal::Refusal;
use super::registry::Registry;

/// How long connections get to end when the proxy closes.
const CLOSING: Duration = Duration::from_secs(2);
/// How long to wait after an `accept` that failed (no descriptor left).
const BREATH: Duration = Duration::from_millis(50);

/// A running proxy. Dropping it breaks everything off; [`Proxy::close`] ends it with reports.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(super) registry: Arc<Registry>,
    closing: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy on a listener that was made inside a sandbox.
    ///
    /// # Errors
    /// The listener cannot be used.
    pub(crate) fn start(
        listener: StdListener,
        gate: Arc<dyn Gate>,
        limits: EgressLimits,
    ) -> io::Result<Self> {
        Self::start_with(listener, gate, limits, Arc::new(ThisMachine))
    }

    /// The same in another network than this machine's.
    ///
    /// # Errors
    /// As above.
    pub(super) fn start_with(
        listener: StdListener,
        gate: Arc<dyn Gate>,
        limits: EgressLimits,
        outside: Arc<dyn Outside>,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let registry = Arc::new(Registry::default());
        let (closing, heard) = watch::channel(false);
        let shared = Shared {
            gate,
            outside,
            limits,
            registry: Arc::clone(&registry),
            closing: heard,
        };
        let accepting = tokio::spawn(accept(listener, Arc::new(shared)));
        Ok(Self {
            registry,
            closing,
            accepting,
        })
    }

    /// Ends the connections that are no longer allowed. A verdict that is still under way is asked
    /// for again.
    pub(crate) fn cut(&self, allowed: impl Fn(&Wanted) -> bool) {
        self.registry.cut(allowed);
    }

    /// What a fault of ours would do.
    #[cfg(test)]
    pub(super) fn kill(&self) {
        self.accepting.abort();
    }

    /// Ends all connections, each with its report.
    pub(crate) async fn close(mut self) {
        self.closing.send_replace(true);
        self.registry.close();
        // What does not end in time ends with the drop.
        let _ = timeout(CLOSING, &mut self.accepting).await;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.closing.send_replace(true);
        self.accepting.abort();
    }
}

/// Says so when accepting ends though nobody closed the proxy, whatever ended it. The listener goes
/// with it, so whatever is left inside the sandbox finds no network.
struct Watchman(Arc<Shared>);

impl Drop for Watchman {
    fn drop(&mut self) {
        if !*self.0.closing.borrow() {
            self.0.gate.report(EgressEvent::Lost);
        }
    }
}

/// Accepts until the proxy closes; owns the task of each connection.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let _watchman = Watchman(Arc::clone(&shared));
    let mut tasks = JoinSet::new();
    let mut closing = shared.closing.clone();
    let mut busy = Busy::default();
    let mut id = 0;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = closing.wait_for(|closing| *closing) => break,
            Some(_) = tasks.join_next() => continue,
        };
        let Ok((stream, _)) = accepted else {
            sleep(BREATH).await;
            continue;
        };
        while tasks.try_join_next().is_some() {}
        if tasks.len() >= shared.limits.connections {
            busy.refuse(&stream, &shared);
            continue;
        }
        busy = Busy::default();
        id += 1;
        let shared = Arc::clone(&shared);
        tasks.spawn(async move { serve(&shared, stream, id).await });
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

/// Refusals for want of room; told once, until there is room again.
#[derive(Default)]
struct Busy {
    told: bool,
}

impl Busy {
    fn refuse(&mut self, stream: &TcpStream, shared: &Shared) {
        let words = answer::refused(Speech::Http, None, &Refusal::Busy);
        // A fresh connection has room for a few bytes; if not, it just ends.
        let _ = stream.try_write(&words);
        if !self.told {
            self.told = true;
            shared.gate.report(EgressEvent::Refused {
                wanted: None,
                refusal: Refusal::Busy,
            });
        }
    }
}
