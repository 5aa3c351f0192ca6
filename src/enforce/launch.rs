//! Starts a server: the prepared start is decided, the process confined, its hands are shaken, its
//! tools are reviewed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::audit::{AuditError, EventKind, Outcome};
use crate::clean;
use crate::config::ServerDefinition;
use crate::decision::{Decision, Permit};
use crate::grant::{Grant, Launch};
use crate::request::{
    Agent, Answer, Confinee, LedgerError, PinKind, PinRecord, ServerFacts, Source, StartServer,
};
use crate::sandbox::{self, Confined, Stdio};
use crate::transport::{CallError as UpstreamError, Holds, Known, ServerTools, UpstreamEvents};

use super::asks::Newcomer;
use super::hints;
use super::line::Line;
use super::link::{Link, connect};
use super::prepare::{Prepared, agreed, prepare};
use super::present;
use super::private::Private;
use super::reach::{self, Outlet, RefusedHost, Tenant};
use super::remote;
use super::server::Server;
use super::start_error::StartError;
use super::tools;

/// What a start waits for, as it is told to whoever watches it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase<'a> {
    /// A person is asked.
    Asking,
    /// It may start, and does.
    Starting,
    /// It runs, and its hands are about to be shaken: time to say what it may ask back.
    Connected(&'a Newcomer<'a>),
}

/// Starts a server, from its definition to its reviewed tools.
pub(crate) async fn start(
    line: &Line,
    agent: &Agent,
    definition: &ServerDefinition,
    limit: Duration,
) -> Result<(Server, UpstreamEvents), StartError> {
    let (server, list, events) = open(line, agent, definition, limit, |_| ()).await?;
    tools::take(line, agent, &server, list, || ()).await?;
    Ok((server, events))
}

/// Starts a server, from its definition to the list of its tools, none of which is in use yet:
/// [`tools::take`] reviews them. Handshake and list together have the limit.
pub(crate) async fn open(
    line: &Line,
    agent: &Agent,
    definition: &ServerDefinition,
    limit: Duration,
    phase: impl Fn(Phase<'_>) + Send + Sync,
) -> Result<(Server, ServerTools, UpstreamEvents), StartError> {
    if let Some(remote) = &definition.remote {
        return remote::open(line, agent, (definition, remote), limit, &phase).await;
    }
    let prepared = prepare(line, definition)?;
    let run = line.run();
    let (action, view) = (prepared.action.clone(), prepared.view.clone());
    let asked = action.clone();
    let asks = &phase;
    let decision = line
        .point
        .decide(line.asking(agent, &run), action, move |_| {
            asks(Phase::Asking);
            present::start(&asked, &view)
        })
        .await?;
    let permit = match decision {
        Decision::Deny(denial) => return Err(StartError::Denied(denial)),
        Decision::Allow(permit) => permit,
    };
    phase(Phase::Starting);
    keep_pins(line, &prepared, permit.answer())?;
    let start = Start::spend(line, permit)?;
    let launched = launch(line, agent, (&start, Turn::First), (definition, &prepared)).await?;
    let clock = launched.holds.clock();
    let known = line.eras.of(&prepared.action.server);
    let of = (definition, &prepared);
    let connected = connect(line, of, launched, (known, limit), &phase).await;
    let link = match connected {
        Err(StartError::Handshake {
            error: UpstreamError::Closed(_),
            ..
        }) if known == Known::Nothing => {
            let left = limit.saturating_sub(clock.elapsed());
            again(line, agent, &start, (definition, &prepared), (left, &phase)).await?
        }
        link => link?,
    };
    line.eras.keep(&prepared.action.server, link.hello.era);
    let (server, events) = link.into_server(definition, prepared, start.seq);
    match tools::list(&server, limit.saturating_sub(clock.elapsed())).await {
        Ok(list) => Ok((server, list, events)),
        Err(error) => Err(unlisted(line, definition, &server, error).await),
    }
}

/// Ends a server whose tools cannot be listed; why it cannot be used.
async fn unlisted(
    line: &Line,
    definition: &ServerDefinition,
    server: &Server,
    error: UpstreamError,
) -> StartError {
    let stderr = server.upstream.stderr_tail();
    let exit = server.shutdown().await.map(|exit| exit.to_string());
    if let Err(error) = failed(line, definition, exit) {
        return error.into();
    }
    let refused = server.refused_since(0);
    unusable(line, definition, (error, stderr), &refused)
}

/// Why the start of a server would be denied now, whatever anybody answers. `None` where it would be
/// allowed or asked about, or cannot be judged: its program may have been moved since it started.
pub(crate) fn denied_now(line: &Line, agent: &Agent, server: &Server) -> Option<String> {
    if server.definition.remote.is_some() {
        return server.connection_denied(line, agent);
    }
    let prepared = prepare(line, &server.definition).ok()?;
    let run = line.run();
    line.point
        .denied(line.asking(agent, &run), &prepared.action)
}

pub(super) fn unusable(
    line: &Line,
    definition: &ServerDefinition,
    (error, stderr): (UpstreamError, String),
    refused: &[RefusedHost],
) -> StartError {
    let words = format!("{stderr}\n{error}");
    StartError::Handshake {
        hint: hints::hint(definition, line.ground.home.as_deref(), &words),
        error,
        unreached: reach::told(refused),
        stderr,
    }
}

/// Puts on record that a started server was of no use.
pub(super) fn failed(
    line: &Line,
    definition: &ServerDefinition,
    exit: Option<String>,
) -> Result<(), AuditError> {
    let note = EventKind::Note {
        name: "server-failed".to_owned(),
        details: json!({"server": definition.id.to_string(), "exit": exit}),
    };
    line.point.note(note).map(drop)
}

/// A process that runs, confined.
pub(super) struct Launched {
    pub(super) confined: Confined,
    /// The way out of its sandbox, where hosts are decided one by one.
    pub(super) outlet: Option<Arc<Outlet>>,
    /// What stands while a person is asked for it.
    pub(super) holds: Holds,
}

/// A permit that was spent: what may be started, and the record that says so.
struct Start {
    action: StartServer,
    seq: u64,
    answer: Answer,
}

impl Start {
    fn spend(line: &Line, permit: Permit<StartServer>) -> Result<Self, StartError> {
        let answer = permit.answer();
        let (action, seq) = line.point.redeem(permit).map_err(StartError::Denied)?;
        Ok(Self {
            action,
            seq,
            answer,
        })
    }
}

/// Starts a server once more that ended when it was asked for its era: the same program on the same
/// terms, and on record. What it is not asked now it cannot end at.
async fn again(
    line: &Line,
    agent: &Agent,
    start: &Start,
    (definition, prepared): (&ServerDefinition, &Prepared),
    (limit, phase): (Duration, &(impl Fn(Phase<'_>) + Sync)),
) -> Result<Link, StartError> {
    let launched = launch(line, agent, (start, Turn::Again), (definition, prepared)).await?;
    connect(
        line,
        (definition, prepared),
        launched,
        (Known::Legacy, limit),
        phase,
    )
    .await
}

/// Which process of one start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    First,
    Again,
}

impl Turn {
    /// What became of it, as it stands in the log: a permit has one outcome, so what was done once more
    /// because of it is a note.
    fn event(self, definition: &ServerDefinition, became: Outcome) -> EventKind {
        match self {
            Self::First => EventKind::Outcome(became),
            Self::Again => EventKind::Note {
                name: "server-started-again".to_owned(),
                details: json!({
                    "server": definition.id.to_string(),
                    "started_by": became.of,
                    "why": "it ended when it was asked for its era",
                    "result": became.result,
                    "details": became.details,
                }),
            },
        }
    }
}

/// Starts one confined process.
async fn launch(
    line: &Line,
    agent: &Agent,
    (start, turn): (&Start, Turn),
    (definition, prepared): (&ServerDefinition, &Prepared),
) -> Result<Launched, StartError> {
    let Start {
        action,
        seq,
        answer,
    } = start;
    let begun = Instant::now();
    let spawned = spawn(
        line,
        (&action.launch, &action.grant),
        action,
        &prepared.private,
    )
    .await;
    let outcome = spawned.and_then(|(mut confined, notices)| {
        let tenant = tenant(definition, prepared, *answer);
        let outlet = Outlet::open(line, agent, &mut confined, tenant);
        Ok((confined, notices, outlet.map_err(StartError::Proxy)?))
    });
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (result, details) = match &outcome {
        Ok((confined, notices, _)) => ("started", started(confined.pid(), action, notices)),
        Err(error) => (
            "not-started",
            json!({"error": clean::mask(&clean::line(&error.to_string(), 500))}),
        ),
    };
    let became = Outcome {
        of: *seq,
        ok: outcome.is_ok(),
        result: result.to_owned(),
        details,
        took_ms,
    };
    line.point.note(turn.event(definition, became))?;
    let (confined, _, outlet) = outcome?;
    let holds = outlet.as_ref().map(|outlet| outlet.holds());
    Ok(Launched {
        confined,
        outlet,
        holds: holds.unwrap_or_default(),
    })
}

/// Who will live in the sandbox of a server.
fn tenant(definition: &ServerDefinition, prepared: &Prepared, answer: Answer) -> Tenant {
    Tenant {
        confinee: Confinee::Server(Box::new(as_started(prepared))),
        name: definition.id.to_string(),
        hosts: definition.hosts.clone(),
        answer,
        is_trusted: definition.id.source != Source::Project,
    }
}

/// What is kept of a start that succeeded.
fn started(pid: u32, action: &StartServer, notices: &[String]) -> Value {
    let notices: Vec<_> = notices
        .iter()
        .map(|notice| clean::mask(&clean::line(notice, 500)).into_owned())
        .collect();
    let mut details = json!({"pid": pid, "confinement": action.confinement});
    if let (false, Some(fields)) = (notices.is_empty(), details.as_object_mut()) {
        fields.insert("notices".to_owned(), json!(notices));
    }
    details
}

async fn spawn(
    line: &Line,
    (launch, grant): (&Launch, &Grant),
    action: &StartServer,
    private: &Private,
) -> Result<(Confined, Vec<String>), StartError> {
    private
        .make()
        .map_err(|error| StartError::Path(format!("private folders: {error}")))?;
    let plan = sandbox::plan(&line.machine, launch, grant).map_err(StartError::Plan)?;
    if *plan.confinement() != action.confinement {
        return Err(StartError::Changed(
            "the sandbox would hold something else than what was judged".to_owned(),
        ));
    }
    let notices = plan.notices().to_vec();
    let confined = sandbox::spawn(plan, Stdio::Piped)
        .await
        .map_err(StartError::Spawn)?;
    Ok((confined, notices))
}

/// The server as it starts: what it is agreed to be, no tool in use yet.
pub(super) fn as_started(prepared: &Prepared) -> ServerFacts {
    ServerFacts {
        pin: agreed(&prepared.artefact),
        ..prepared.action.server.clone()
    }
}

/// Whether what an answer agreed to holds for good: it was "always", or policy needs none.
pub(super) fn lasts(answer: Answer) -> bool {
    matches!(answer, Answer::None | Answer::Remembered)
}

/// Keeps one pin, unless what is there lasts longer.
pub(super) fn keep_pin(
    line: &Line,
    subject: &str,
    (kind, record): (PinKind, PinRecord),
) -> Result<(), LedgerError> {
    let ledger = line.point.ledger();
    let stays = ledger.pin(kind, subject)?.is_some_and(|known| {
        let same = known.digest == record.digest && known.parts == record.parts;
        (known.lasting && !record.lasting) || (same && known.lasting == record.lasting)
    });
    if stays {
        return Ok(());
    }
    ledger.set_pin(kind, subject, record)
}

/// What was agreed to is what the next start is compared with. An answer for this time or session
/// does not take the place of what was agreed to for good.
fn keep_pins(line: &Line, prepared: &Prepared, answer: Answer) -> Result<(), LedgerError> {
    let subject = prepared.action.server.subject.clone();
    let at_ms = line.point.now_ms();
    let lasting = lasts(answer);
    let keep = |kind, record: PinRecord| keep_pin(line, &subject, (kind, record));
    keep(
        PinKind::Definition,
        PinRecord {
            digest: prepared.action.definition,
            parts: Default::default(),
            shown: prepared.shown.clone(),
            at_ms,
            lasting,
        },
    )?;
    if let Some(digest) = prepared.artefact.digest {
        keep(
            PinKind::Artefact,
            PinRecord {
                digest,
                parts: prepared.artefact.parts.clone(),
                shown: String::new(),
                at_ms,
                lasting,
            },
        )?;
    }
    Ok(())
}
