//! One connection from its first byte to its last: listen, admit, open, carry.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::answer::{self, Speech};
use super::client::Client;
use super::dial::dial;
use super::exchange::exchange;
use super::gate::{Carries, EgressEvent, Gate, Terms, Verdict, Wanted};
use super::limits::EgressLimits;
use super::listen::{Heard, Inside, inside, listen};
use super::meter::Meter;
use super::outside::Outside;
use super::refusal::Refusal;
use super::registry::{Lease, NoEntry, Registry};
use super::relay::relay;
use super::request::{Asked, Forward};
use super::socks::Code;

/// How often a verdict is asked for that a cut overtook.
const JUDGED_MAX: usize = 8;

/// What the connections of one proxy share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) gate: Arc<dyn Gate>,
    pub(super) outside: Arc<dyn Outside>,
    pub(super) limits: EgressLimits,
    pub(super) registry: Arc<Registry>,
    /// Becomes true when the proxy closes.
    pub(super) closing: watch::Receiver<bool>,
}

/// Why a connection ends before it stands.
enum Stop {
    /// The proxy refuses.
    Refused(Refusal),
    /// The gate denies.
    Denied(String),
}

impl<T: Into<Refusal>> From<T> for Stop {
    fn from(refusal: T) -> Self {
        Self::Refused(refusal.into())
    }
}

/// How far a connection came.
struct Course {
    speech: Speech,
    wanted: Option<Wanted>,
}

/// Serves one connection.
pub(super) async fn serve(shared: &Shared, stream: TcpStream, id: u64) {
    let mut client = Client::new(stream);
    let mut course = Course {
        speech: Speech::Http,
        wanted: None,
    };
    let Err(stop) = talk(shared, &mut client, id, &mut course).await else {
        return;
    };
    let Course { speech, wanted } = course;
    let words = match (stop, wanted) {
        (Stop::Denied(reason), Some(wanted)) => answer::denied(speech, &wanted, &reason),
        (Stop::Denied(_), None) => Vec::new(),
        (Stop::Refused(refusal), wanted) => {
            let words = answer::refused(speech, wanted.as_ref(), &refusal);
            shared.gate.report(EgressEvent::Refused { wanted, refusal });
            words
        }
    };
    client.farewell(&words).await;
}

async fn talk(
    shared: &Shared,
    client: &mut Client,
    id: u64,
    course: &mut Course,
) -> Result<(), Stop> {
    let mut closing = shared.closing.clone();
    let Heard { asked, way } = tokio::select! {
        heard = listen(client, &shared.limits, &mut course.speech) => heard?,
        _ = closing.wait_for(|closing| *closing) => return Err(Refusal::Closed.into()),
    };
    let (target, forward) = match asked {
        Asked::Tunnel(target) => (target, None),
        Asked::Forward(target, forward) => (target, Some(forward)),
    };
    let wanted = course.wanted.insert(Wanted { id, target, way }).clone();
    let (terms, mut lease) = tokio::select! {
        admitted = admit(shared, client, &wanted) => admitted?,
        _ = closing.wait_for(|closing| *closing) => return Err(Refusal::Closed.into()),
    };
    let meter = Meter::new(Arc::clone(&lease.total), shared.limits);
    if meter.is_spent() {
        return Err(Refusal::Spent.into());
    }
    let opened = tokio::select! {
        opened = open(shared, client, (&wanted, terms, forward), &mut course.speech) => opened?,
        _ = lease.stopped() => return Err(Refusal::Cut.into()),
    };
    carry(shared, client, (wanted, opened), (&meter, &mut lease)).await;
    Ok(())
}

/// Asks the gate, while the program waits.
async fn admit(
    shared: &Shared,
    client: &mut Client,
    wanted: &Wanted,
) -> Result<(Terms, Lease), Stop> {
    for _ in 0..JUDGED_MAX {
        let epoch = shared.registry.epoch();
        let verdict = tokio::select! {
            verdict = shared.gate.judge(wanted) => verdict,
            () = client.left() => return Err(Refusal::Left.into()),
        };
        let terms = match verdict {
            Verdict::Allow(terms) => terms,
            Verdict::Deny { reason } => return Err(Stop::Denied(reason)),
        };
        match shared.registry.enter(wanted, epoch) {
            Ok(lease) => return Ok((terms, lease)),
            Err(NoEntry::Stale) => {}
            Err(NoEntry::Closed) => return Err(Refusal::Closed.into()),
        }
    }
    Err(Refusal::Unsettled.into())
}

/// A connection that stands.
struct Opened {
    host: TcpStream,
    forward: Option<Forward>,
}

/// Connects, tells the program so, and looks at what it sends first.
async fn open(
    shared: &Shared,
    client: &mut Client,
    (wanted, terms, forward): (&Wanted, Terms, Option<Forward>),
    speech: &mut Speech,
) -> Result<Opened, Refusal> {
    let plain = "plain HTTP is not allowed to this host, TLS is";
    if forward.is_some() && terms.carries == Carries::Tls {
        return Err(Refusal::Hello(plain));
    }
    let host = dial(&shared.outside, &wanted.target, terms.reach, &shared.limits).await?;
    if forward.is_some() {
        return Ok(Opened { host, forward });
    }
    match speech {
        Speech::Socks => client.send(&Code::Granted.message()).await?,
        _ => {
            client
                .send(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .await?
        }
    }
    *speech = Speech::Tunnel;
    if terms.carries == Carries::Anything {
        return Ok(Opened { host, forward });
    }
    let within = Duration::from_millis(shared.limits.hello_ms);
    let looked = inside(client, &wanted.target, &shared.limits, speech);
    match timeout(within, looked).await {
        Ok(Ok(Inside::Tls)) => Ok(Opened { host, forward }),
        Ok(Ok(Inside::Http(_))) if terms.carries == Carries::Tls => Err(Refusal::Hello(plain)),
        Ok(Ok(Inside::Http(forward))) => Ok(Opened {
            host,
            forward: Some(forward),
        }),
        Ok(Err(refusal)) => Err(refusal),
        Err(_) => Err(Refusal::Late("the first bytes in the tunnel")),
    }
}

/// Carries bytes until one side is done, a limit is reached, or the connection is cut.
async fn carry(
    shared: &Shared,
    client: &mut Client,
    (wanted, opened): (Wanted, Opened),
    (meter, lease): (&Meter, &mut Lease),
) {
    let event = EgressEvent::Opened {
        wanted: wanted.clone(),
    };
    shared.gate.report(event);
    let Opened { host, forward } = opened;
    let head_max = shared.limits.head_bytes;
    let carried = async {
        match forward {
            Some(forward) => exchange(client, host, forward, (meter, head_max)).await,
            None => relay(client, host, meter).await,
        }
    };
    let end = tokio::select! {
        end = carried => end,
        end = lease.stopped() => end,
    };
    let traffic = meter.traffic();
    shared.gate.report(EgressEvent::Closed {
        wanted,
        end,
        traffic,
    });
}
