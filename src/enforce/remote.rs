//! Connects to a remote server: looked up, decided for each address that it leads to, then spoken to at
//! these and at no others.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::audit::{EventKind, Outcome};
use crate::clean;
use crate::config::{self, Remote, ServerDefinition};
use crate::decision::{Decision, Permit};
use crate::digest::{Digest, DigestBuilder};
use crate::grant::{Confinement, Grant, Guarantee, Level};
use crate::request::{
    Agent, AuthKind, ConnectServer, Pin, PinKind, PinRecord, Scheme, ServerFacts, Transport,
};
use crate::transport::{
    CallError, Holds, Known, ServerHello, ServerTools, Upstream, UpstreamEvents,
};

use super::asks::Newcomer;
use super::authorised;
use super::connected::{self, Authorised, Connected, Opened};
use super::launch::{self, Phase};
use super::line::Line;
use super::link;
use super::present::{self, RemoteView};
use super::server::Server;
use super::start_error::StartError;
use super::tools;

/// A connection, ready to be decided.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) action: ConnectServer,
    pub(crate) view: RemoteView,
    shown: String,
}

/// Where a remote server's name leads now, for those who do not wait in a runtime.
pub(crate) fn blocking_look_up(definition: &ServerDefinition) -> Result<Vec<IpAddr>, String> {
    match &definition.remote {
        Some(remote) => connected::blocking_look_up(definition.id.source, remote),
        None => Ok(Vec::new()),
    }
}

/// Compares a remote server with what was agreed to. `addresses` is where its name leads, if that is known.
pub(crate) fn prepare(
    line: &Line,
    (definition, remote): (&ServerDefinition, &Remote),
    addresses: Vec<IpAddr>,
) -> Result<Prepared, StartError> {
    let subject = line.ground.subject(&definition.id);
    let known = line.point.ledger().pin(PinKind::Definition, &subject)?;
    let digest = definition.digest();
    let shown = definition.shown();
    let pin = match &known {
        None => Pin::Unpinned,
        Some(known) if known.digest != digest => Pin::Changed,
        Some(known) if known.lasting => Pin::Matched,
        Some(_) => Pin::Unpinned,
    };
    let target = remote.address.target();
    let auth = if remote.carries_credentials() {
        AuthKind::Header
    } else if authorised::is_signed_in(line, (definition, remote), &subject) {
        AuthKind::Oauth
    } else {
        AuthKind::None
    };
    let action = ConnectServer {
        server: ServerFacts {
            id: definition.id.clone(),
            transport: Transport::Http,
            pin,
            tools_pin: Pin::Unpinned,
            sandboxed: false,
            itself: itself(&subject, digest),
            subject,
            tools: Digest::of(""),
        },
        host: target.host.clone(),
        scheme: match remote.address.is_https() {
            true => Scheme::Https,
            false => Scheme::Http,
        },
        port: target.port,
        addresses,
        auth,
        first_time: known.is_none(),
        definition: digest,
    };
    let difference = known.map_or_else(Vec::new, |known| config::difference(&known.shown, &shown));
    let view = RemoteView {
        origin: definition.origin.to_string(),
        url: remote.shown_url(),
        protocol: remote.protocol.word(),
        headers: remote.headers.keys().cloned().collect(),
        warnings: remote.warnings(definition.id.source),
        difference,
    };
    Ok(Prepared {
        action,
        view,
        shown,
    })
}

/// What an answer about this server's use holds for.
fn itself(subject: &str, definition: Digest) -> Digest {
    let mut digest = DigestBuilder::new("server/1");
    digest.field(subject).field("remote");
    digest.field(definition.to_string());
    digest.finish()
}

/// Connects to a remote server, from its definition to the list of its tools, none of which is in use yet.
pub(super) async fn open(
    line: &Line,
    agent: &Agent,
    (definition, remote): (&ServerDefinition, &Remote),
    limit: Duration,
    phase: &(impl Fn(Phase<'_>) + Send + Sync),
) -> Result<(Server, ServerTools, UpstreamEvents), StartError> {
    let first = once(line, agent, (definition, remote), limit, phase).await;
    let Err(StartError::SignIn { challenge, .. }) = &first else {
        return first;
    };
    if !authorised::can_sign_in(remote, challenge) {
        return first;
    }
    phase(Phase::Asking);
    authorised::sign_in((line, agent), (definition, remote), challenge).await?;
    phase(Phase::Starting);
    once(line, agent, (definition, remote), limit, phase).await
}

async fn once(
    line: &Line,
    agent: &Agent,
    (definition, remote): (&ServerDefinition, &Remote),
    limit: Duration,
    phase: &(impl Fn(Phase<'_>) + Send + Sync),
) -> Result<(Server, ServerTools, UpstreamEvents), StartError> {
    let addresses = connected::look_up(definition.id.source, remote).await;
    let addresses = addresses.map_err(|why| unreachable(remote, &why))?;
    let prepared = prepare(line, (definition, remote), addresses)?;
    let run = line.run();
    let (action, view) = (prepared.action.clone(), prepared.view.clone());
    let asked = action.clone();
    let decision = line
        .point
        .decide(line.asking(agent, &run), action, move |_| {
            phase(Phase::Asking);
            present::remote(&asked, &view)
        })
        .await?;
    let permit = match decision {
        Decision::Deny(denial) => return Err(StartError::Denied(denial)),
        Decision::Allow(permit) => permit,
    };
    phase(Phase::Starting);
    keep_pin(line, &prepared, &permit)?;
    connect((line, agent), permit, (definition, remote), (limit, phase)).await
}

fn keep_pin(
    line: &Line,
    prepared: &Prepared,
    permit: &Permit<ConnectServer>,
) -> Result<(), StartError> {
    let record = PinRecord {
        digest: prepared.action.definition,
        parts: Default::default(),
        shown: prepared.shown.clone(),
        at_ms: line.point.now_ms(),
        lasting: launch::lasts(permit.answer()),
    };
    let subject = &prepared.action.server.subject;
    launch::keep_pin(line, subject, (PinKind::Definition, record))?;
    Ok(())
}

/// The server as it is connected to: just agreed to.
fn as_connected(action: &ConnectServer) -> ServerFacts {
    ServerFacts {
        pin: Pin::Matched,
        ..action.server.clone()
    }
}

/// What became of a connection, for the record.
fn outcome(action: &ConnectServer, failed: Option<&str>) -> (&'static str, serde_json::Value) {
    let origin = action.origin();
    match failed {
        None => ("connected", json!({ "origin": origin })),
        Some(why) => {
            let why = clean::line(why, 500);
            let error = clean::mask(&why);
            ("not-connected", json!({ "origin": origin, "error": error }))
        }
    }
}

/// Spends the permit of a connection on one.
async fn connect(
    (line, agent): (&Line, &Agent),
    permit: Permit<ConnectServer>,
    (definition, remote): (&ServerDefinition, &Remote),
    (limit, phase): (Duration, &(impl Fn(Phase<'_>) + Sync)),
) -> Result<(Server, ServerTools, UpstreamEvents), StartError> {
    let (action, seq) = line.point.redeem(permit).map_err(StartError::Denied)?;
    let begun = Instant::now();
    let known = line.eras.of(&action.server);
    let authorised = authorised::of((line, agent), (definition, remote), &action.server);
    let holds = Holds::default();
    let facts = as_connected(&action);
    let ear = (&facts, &holds, phase);
    let shaken = match reach(&action, (definition, remote), authorised) {
        Ok(opened) => shake(definition, opened, (known, limit), ear).await,
        Err(error) => Err(error),
    };
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let failed = shaken.as_ref().err().map(ToString::to_string);
    let (result, details) = outcome(&action, failed.as_deref());
    line.point.note(EventKind::Outcome(Outcome {
        of: seq,
        ok: shaken.is_ok(),
        result: result.to_owned(),
        details,
        took_ms,
    }))?;
    let (upstream, hello, connected, events) = shaken?;
    line.eras.keep(&action.server, hello.era);
    let server = Server {
        definition: definition.clone(),
        confinement: elsewhere(),
        upstream,
        hello,
        shelf: Default::default(),
        facts,
        bases: vec![line.ground.base().to_path_buf()],
        tools: Default::default(),
        confined: Default::default(),
        accepted: Default::default(),
        calls: Default::default(),
        started: seq,
        outlet: None,
        holds,
        remote: Some((connected, action)),
        _private: None,
    };
    let left = limit.saturating_sub(begun.elapsed());
    match tools::list(&server, left).await {
        Ok(list) => Ok((server, list, events)),
        Err(error) => {
            let failed = server.remote.as_ref().map(|(connected, _)| connected);
            let error = failed.map_or_else(
                || StartError::Remote(error.to_string()),
                |connected| unusable(definition, connected, &error),
            );
            server.shutdown().await;
            Err(error)
        }
    }
}

/// Opens a connection, over which nothing is said yet.
fn reach(
    action: &ConnectServer,
    (definition, remote): (&ServerDefinition, &Remote),
    authorised: Authorised,
) -> Result<Opened, StartError> {
    let source = definition.id.source;
    let opened = connected::open((source, remote), action.addresses.clone(), authorised);
    opened.map_err(|why| unreachable(remote, &why))
}

/// Shakes hands, once somebody listens to what the server asks.
async fn shake(
    definition: &ServerDefinition,
    (upstream, events, connected): Opened,
    (known, limit): (Known, Duration),
    (facts, holds, phase): (&ServerFacts, &Holds, &(impl Fn(Phase<'_>) + Sync)),
) -> Result<(Upstream, ServerHello, Connected, UpstreamEvents), StartError> {
    let upstream = upstream.paused_by(holds.clone());
    phase(Phase::Connected(&Newcomer {
        upstream: &upstream,
        facts,
        holds,
        // It runs somewhere else: nothing of this machine is its own.
        grant: &Grant::default(),
    }));
    match upstream.greet(link::CREANCE, known, limit).await {
        Ok(hello) => Ok((upstream, hello, connected, events)),
        Err(error) => {
            let error = unusable(definition, &connected, &error);
            upstream.close_input();
            connected.ended().await;
            Err(error)
        }
    }
}

fn unreachable(remote: &Remote, why: &str) -> StartError {
    StartError::Remote(format!("{}: {why}", remote.address.origin()))
}

fn unusable(definition: &ServerDefinition, connected: &Connected, error: &CallError) -> StartError {
    if let Some(challenge) = connected.challenge() {
        return StartError::SignIn {
            server: definition.id.to_string(),
            origin: connected.origin().to_owned(),
            challenge,
        };
    }
    match error {
        CallError::Rpc(error) => StartError::Remote(clean::line(error.message(), 1_000)),
        other if other.is_timeout() => StartError::Handshake {
            error: other.clone(),
            stderr: String::new(),
            hint: None,
            unreached: String::new(),
        },
        other => StartError::Remote(clean::line(&other.to_string(), 1_000)),
    }
}

/// What the sandbox holds of a server that runs somewhere else: nothing.
fn elsewhere() -> Confinement {
    let absent = |guarantee| {
        let why = "it runs on another machine".to_owned();
        (guarantee, Level::Absent { why })
    };
    Confinement {
        backend: "remote".to_owned(),
        levels: Guarantee::ALL.into_iter().map(absent).collect(),
    }
}
