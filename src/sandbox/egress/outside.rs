//! The network outside the sandbox: look-ups, connections, the machine's own addresses. Behind a
//! trait, so that tests say what a name resolves to.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use tokio::net::TcpStream;

use crate::lookup;

/// The network outside.
pub(crate) trait Outside: Send + Sync + fmt::Debug + 'static {
    /// The addresses of a name. Called once for a connection.
    fn resolve<'a>(&'a self, name: &'a str) -> Later<'a, Vec<IpAddr>>;

    /// Connects to one address and to no other.
    fn dial(&self, to: SocketAddr) -> Later<'_, Dialled>;

    /// Whether an address is one of this machine's interfaces: what listens on all of them is not
    /// meant for a sandbox.
    fn is_own(&self, address: IpAddr) -> bool;
}

/// A result to come.
pub(crate) type Later<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// A connection, and who is at its other end.
#[derive(Debug)]
pub(crate) struct Dialled {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
}

/// The network of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThisMachine;

impl Outside for ThisMachine {
    fn resolve<'a>(&'a self, name: &'a str) -> Later<'a, Vec<IpAddr>> {
        Box::pin(lookup::addresses(name))
    }

    fn dial(&self, to: SocketAddr) -> Later<'_, Dialled> {
        Box::pin(async move {
            let stream = TcpStream::connect(to).await?;
            let peer = stream.peer_addr()?;
            Ok(Dialled { stream, peer })
        })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        lookup::is_own(address)
    }
}
