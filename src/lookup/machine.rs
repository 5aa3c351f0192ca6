//! The resolver of this machine, and its own addresses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use tokio::net::lookup_host;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::names;

/// Look-ups at one time: `getaddrinfo` blocks a thread and cannot be cancelled.
static LOOKUPS: Semaphore = Semaphore::const_new(16);

/// The addresses of a name in its canonical form. The final dot keeps the resolver from trying the
/// search domains, which would be another name than the one that was judged. It also keeps it from
/// the machine's list of hosts, which is therefore read before.
///
/// # Errors
/// What the resolver says.
pub(crate) async fn addresses(name: &str) -> io::Result<Vec<IpAddr>> {
    let _permit = LOOKUPS.acquire().await.map_err(io::Error::other)?;
    let named = name.to_owned();
    let at_hand = spawn_blocking(move || names::at_hand(&named));
    let found = at_hand.await.map_err(io::Error::other)??;
    if !found.is_empty() {
        return Ok(found);
    }
    let found = lookup_host((format!("{name}."), 0)).await?;
    Ok(found.map(|address| address.ip()).collect())
}

/// Whether an address is one of this machine's interfaces. Asks the routing table: the way to an own
/// address starts at that address. Sends nothing.
pub(crate) fn is_own(address: IpAddr) -> bool {
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
