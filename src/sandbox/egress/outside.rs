//! The network outside the sandbox: look-ups, connections, the machine's own addresses. Behind a
//! trait, so that tests say what a name resolves to.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::Pin;

use tokio::net::{TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::names;

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

/// Look-ups at one time: `getaddrinfo` blocks a thread and cannot be cancelled.
static LOOKUPS: Semaphore = Semaphore::const_new(16);

impl Outside for ThisMachine {
    /// The final dot keeps the resolver from trying the search domains, which would be another name
    /// than the one that was judged. It also keeps it from the machine's list of hosts, which is
    /// therefore read before.
    fn resolve<'a>(&'a self, name: &'a str) -> Later<'a, Vec<IpAddr>> {
        Box::pin(async move {
            let _permit = LOOKUPS.acquire().await.map_err(io::Error::other)?;
            let named = name.to_owned();
            let at_hand = spawn_blocking(move || names::at_hand(&named));
            let found = at_hand.await.map_err(io::Error::other)??;
            if !found.is_empty() {
                return Ok(found);
            }
            let found = lookup_host((format!("{name}."), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }

    fn dial(&self, to: SocketAddr) -> Later<'_, Dialled> {
        Box::pin(async move {
            let stream = TcpStream::connect(to).await?;
            let peer = stream.peer_addr()?;
            Ok(Dialled { stream, peer })
        })
    }

    /// Asks the routing table: the way to an own address starts at that address. Sends nothing.
    fn is_own(&self, address: IpAddr) -> bool {
        let any: IpAddr = match address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let source = || {
            let socket = UdpSocket::bind((any, 0))?;
            socket.connect((address, 9))?;
            socket.local_addr()
        };
        source().is_ok_and(|source| source.ip() == address)
    }
}
