//! From a permitted target to a connection: looked up once, every address judged, one of them
//! dialled, the other end compared.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::address::{AddressClass, Reach, Target, judge};

use super::limits::EgressLimits;
use super::outside::{Dialled, Outside};
use super::refusal::Refusal;

/// Addresses of one name that are tried.
const TRIED: usize = 8;
/// How long an address is waited for before the next one is tried beside it (RFC 8305, 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Connects to a target.
pub(super) async fn dial(
    outside: &Arc<dyn Outside>,
    target: &Target,
    reach: Reach,
    limits: &EgressLimits,
) -> Result<TcpStream, Refusal> {
    let addresses = addresses(outside.as_ref(), target, reach, limits).await?;
    let sockets = addresses
        .into_iter()
        .take(TRIED)
        .map(|address| SocketAddr::new(address, target.port))
        .collect();
    let within = Duration::from_millis(limits.connect_ms);
    match timeout(within, first(outside, sockets)).await {
        Ok(result) => result,
        Err(_) => Err(Refusal::Dial("nobody answered in time")),
    }
}

/// The addresses of a target, all of them judged. One that may not be reached refuses the whole
/// target: a name that leads to both is a name that means to deceive.
async fn addresses(
    outside: &dyn Outside,
    target: &Target,
    reach: Reach,
    limits: &EgressLimits,
) -> Result<Vec<IpAddr>, Refusal> {
    let host = &target.host;
    reach.name(host)?;
    let found = match host.address() {
        Some(address) => vec![address],
        None => {
            let within = Duration::from_millis(limits.resolve_ms);
            match timeout(within, outside.resolve(host.as_str())).await {
                Ok(Ok(found)) => found,
                Ok(Err(_)) => return Err(Refusal::Lookup("the name could not be looked up")),
                Err(_) => return Err(Refusal::Lookup("the look-up took too long")),
            }
        }
    };
    if found.is_empty() {
        return Err(Refusal::Lookup("the name has no address"));
    }
    let spelled = reach == Reach::Named && host.address().is_some();
    for address in &found {
        reach.address(host, *address)?;
        let loopback = judge(*address).class == AddressClass::Loopback;
        if !spelled && !loopback && outside.is_own(*address) {
            return Err(Refusal::OwnAddress);
        }
    }
    Ok(found)
}

/// The first connection that stands.
async fn first(outside: &Arc<dyn Outside>, to: Vec<SocketAddr>) -> Result<TcpStream, Refusal> {
    let mut tries = JoinSet::new();
    let mut waiting = to.into_iter();
    let mut last = Refusal::Dial("no address");
    loop {
        if let Some(to) = waiting.next() {
            let outside = Arc::clone(outside);
            tries.spawn(async move { (to, outside.dial(to).await) });
        } else if tries.is_empty() {
            return Err(last);
        }
        let more = waiting.len() > 0;
        tokio::select! {
            Some(done) = tries.join_next() => match done {
                Ok((to, Ok(dialled))) => return same(to, dialled),
                Ok((_, Err(error))) => last = Refusal::Dial(reason(&error)),
                Err(_) => last = Refusal::Dial("the attempt was broken off"),
            },
            () = sleep(HEAD_START), if more => {}
        }
    }
}

/// The other end is the address that was judged.
fn same(to: SocketAddr, dialled: Dialled) -> Result<TcpStream, Refusal> {
    if dialled.peer.ip().to_canonical() != to.ip() || dialled.peer.port() != to.port() {
        return Err(Refusal::Dial("another address answered than was judged"));
    }
    // Small answers are not held back; that it fails changes nothing but time.
    let _ = dialled.stream.set_nodelay(true);
    Ok(dialled.stream)
}

fn reason(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::NetworkUnreachable => "network unreachable",
        io::ErrorKind::HostUnreachable => "host unreachable",
        io::ErrorKind::TimedOut => "nobody answered in time",
        _ => "the connection failed",
    }
}
