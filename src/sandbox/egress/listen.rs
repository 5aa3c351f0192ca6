//! What a program says first, to the proxy and inside a tunnel.

use std::time::Duration;

use tokio::time::timeout;

use crate::address::Target;

use super::answer::Speech;
use super::client::Client;
use super::gate::Way;
use super::head::{self, RequestHead};
use super::hello;
use super::limits::EgressLimits;
use super::refusal::Refusal;
use super::request::{Asked, Forward, in_tunnel, to_proxy};
use super::socks;

/// SOCKS5 words are never longer.
const SOCKS_MAX: usize = 2 + 255 + 4 + 256 + 2;

/// What a program asks for, and how.
pub(super) struct Heard {
    pub(super) asked: Asked,
    pub(super) way: Way,
}

/// Hears a program out. The protocol is told by its first byte.
pub(super) async fn listen(
    client: &mut Client,
    limits: &EgressLimits,
    speech: &mut Speech,
) -> Result<Heard, Refusal> {
    let within = Duration::from_millis(limits.head_ms);
    let hearing = async {
        let first = client.until(1, |held| Ok(held.first().copied())).await?;
        match first {
            socks::VERSION => hear_socks(client, speech).await,
            b'A'..=b'Z' => hear_http(client, limits).await,
            _ => Err(Refusal::Misfit("this is neither HTTP nor SOCKS5")),
        }
    };
    match timeout(within, hearing).await {
        Ok(heard) => heard,
        Err(_) => Err(Refusal::Late("the request")),
    }
}

async fn hear_http(client: &mut Client, limits: &EgressLimits) -> Result<Heard, Refusal> {
    let head = read_head(client, limits).await?;
    let asked = to_proxy(&head)?;
    let way = match &asked {
        Asked::Tunnel(_) => Way::Connect,
        Asked::Forward(_, forward) => {
            alone(client, forward)?;
            Way::Http
        }
    };
    Ok(Heard { asked, way })
}

/// Reads a request's head; what follows it is held.
async fn read_head(client: &mut Client, limits: &EgressLimits) -> Result<RequestHead, Refusal> {
    let mut seen = 0;
    let found = client.until(limits.head_bytes, |held| {
        let end = head::end(held, seen).map_err(Refusal::Misfit)?;
        seen = held.len();
        let Some(end) = end else { return Ok(None) };
        let head = held.get(..end).unwrap_or_default();
        let head = RequestHead::read(head).map_err(Refusal::Misfit)?;
        Ok(Some((head, end)))
    });
    let (head, end) = found.await?;
    client.used(end);
    Ok(head)
}

/// No second request follows: it would be one that nobody judged.
fn alone(client: &Client, forward: &Forward) -> Result<(), Refusal> {
    let held = client.held();
    let own = forward.body.clone().take(held).map_err(Refusal::Misfit)?;
    if own < held.len() {
        return Err(Refusal::Misfit(
            "a second request follows: each needs a connection of its own",
        ));
    }
    Ok(())
}

async fn hear_socks(client: &mut Client, speech: &mut Speech) -> Result<Heard, Refusal> {
    *speech = Speech::Socks;
    let found = client.until(SOCKS_MAX, |held| Ok(socks::greeting(held)));
    let (welcome, used) = found.await?;
    client.used(used);
    if !welcome {
        client.send(socks::NO_METHOD).await?;
        // That was the last word.
        *speech = Speech::Tunnel;
        return Err(Refusal::Misfit("SOCKS5 is served without a sign-in"));
    }
    client.send(socks::WELCOME).await?;
    let found = client.until(SOCKS_MAX, socks::request);
    let (target, used) = found.await?;
    client.used(used);
    Ok(Heard {
        asked: Asked::Tunnel(target),
        way: Way::Socks,
    })
}

/// What a tunnel carries.
pub(super) enum Inside {
    /// TLS to the host that was judged.
    Tls,
    /// A request of plain HTTP to it.
    Http(Forward),
}

/// Looks at the first bytes in a tunnel, before any of them is passed on.
pub(super) async fn inside(
    client: &mut Client,
    target: &Target,
    limits: &EgressLimits,
    speech: &mut Speech,
) -> Result<Inside, Refusal> {
    let first = client.until(1, |held| Ok(held.first().copied())).await?;
    if first.is_ascii_uppercase() {
        // Some programs take a tunnel for plain HTTP too: the same rules hold inside.
        *speech = Speech::Http;
        let head = read_head(client, limits).await?;
        let forward = in_tunnel(&head, target)?;
        alone(client, &forward)?;
        return Ok(Inside::Http(forward));
    }
    let read = |held: &[u8]| hello::read(held).map_err(Refusal::Hello);
    let name = client.until(limits.hello_bytes, read).await?;
    hello::agrees(&name, &target.host).map_err(Refusal::Hello)?;
    Ok(Inside::Tls)
}
