//! Starts a server: definition and program are read and hashed, the terms are planned, the start is
//! decided, the process is confined, its tools are reviewed.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::Mutex;

use crate::audit::{AuditError, EventKind, Outcome};
use crate::clean;
use crate::config::{self, ServerDefinition};
use crate::decision::{Decision, DecisionError, Denial, Permit};
use crate::disk;
use crate::disk::program::{Artefact, ProgramError};
use crate::grant::{Grant, Launch};
use crate::request::{
    Agent, LedgerError, Pin, PinKind, PinRecord, ProgramFacts, ServerFacts, StartServer, Transport,
};
use crate::sandbox::{self, Confined, PlanError, SpawnError, Stdio};
use crate::transport::{
    CallError as UpstreamError, ClientInfo, CloseHook, ServerTools, Upstream, UpstreamEvents,
};

use super::code;
use super::line::Line;
use super::present::{self, StartView};
use super::private::Private;
use super::server::Server;
use super::terms::{self, Wanted};
use super::tools;

/// Why a server did not start.
#[derive(Debug)]
pub(crate) enum StartError {
    /// Policy or a person said no.
    Denied(Denial),
    /// The decision could not be taken.
    Decision(DecisionError),
    /// The program was not found or cannot be read.
    Program(ProgramError),
    /// A path of the definition cannot be resolved.
    Path(String),
    /// The sandbox cannot be planned for these terms.
    Plan(PlanError),
    /// The sandbox could not be set up, or the program not be executed.
    Spawn(SpawnError),
    /// What was judged and what would be done differ.
    Changed(String),
    /// It runs, but does not answer as an MCP server.
    Handshake {
        /// What went wrong.
        error: UpstreamError,
        /// The last lines of its standard error.
        stderr: String,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denial) => denial.fmt(f),
            Self::Decision(error) => error.fmt(f),
            Self::Program(error) => error.fmt(f),
            Self::Path(text) | Self::Changed(text) => f.write_str(text),
            Self::Plan(error) => error.fmt(f),
            Self::Spawn(error) => error.fmt(f),
            Self::Handshake { error, stderr } if stderr.is_empty() => error.fmt(f),
            Self::Handshake { error, stderr } => write!(f, "{error}; its last words:\n{stderr}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<DecisionError> for StartError {
    fn from(error: DecisionError) -> Self {
        Self::Decision(error)
    }
}

impl From<tools::ReviewError> for StartError {
    fn from(error: tools::ReviewError) -> Self {
        match error {
            tools::ReviewError::Decision(error) => Self::Decision(error),
            tools::ReviewError::Upstream(error) => Self::Handshake {
                error,
                stderr: String::new(),
            },
        }
    }
}

impl From<LedgerError> for StartError {
    fn from(error: LedgerError) -> Self {
        Self::Decision(error.into())
    }
}

impl From<AuditError> for StartError {
    fn from(error: AuditError) -> Self {
        Self::Decision(error.into())
    }
}

/// A start, ready to be decided.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) action: StartServer,
    pub(crate) view: StartView,
    private: Private,
    artefact: Artefact,
    shown: String,
}

/// Reads and hashes what would be started, and plans its terms. No effect, so dry runs use it too.
pub(crate) fn prepare(line: &Line, definition: &ServerDefinition) -> Result<Prepared, StartError> {
    let ground = &line.ground;
    let cwd = working_folder(line, definition)?;
    let artefact = code::find(ground, (definition.command(), &definition.args()), &cwd)
        .map_err(StartError::Program)?;
    let private = Private::plan(&ground.cache, &definition.id.to_string())
        .map_err(|error| StartError::Path(format!("private folders: {error}")))?;
    let wanted = wanted(line, definition, &artefact)?;
    let (grant, wishes) = terms::terms(ground, &wanted, &private);
    let launch = Launch {
        program: artefact.program.clone(),
        name: definition.command().to_owned(),
        args: definition.args(),
        cwd,
        stamps: artefact.stamps.clone(),
    };
    let confinement = sandbox::plan(&line.machine, &launch, &grant)
        .map_err(StartError::Plan)?
        .confinement()
        .clone();
    let subject = definition.id.to_string();
    let ledger = line.point.ledger();
    let known = ledger.pin(PinKind::Definition, &subject)?;
    let known_artefact = ledger.pin(PinKind::Artefact, &subject)?;
    let program_pin = pin(known_artefact.as_ref(), &artefact);
    let config_changed = known
        .as_ref()
        .is_some_and(|pin| pin.digest != definition.digest());
    let shown = definition.shown();
    let (risks, warnings) = config::warnings(
        definition,
        &ground.places,
        &disk::path_text(&launch.cwd),
        &confinement,
    );
    let started = config::started(definition.command(), &definition.args());
    let warnings = warnings
        .into_iter()
        .chain(artefact.warnings.clone())
        .collect();
    let view = StartView {
        origin: definition.origin.to_string(),
        env_names: definition.env.keys().cloned().collect(),
        unpinned: artefact.unpinned.clone(),
        warnings,
        difference: difference(known.as_ref(), &shown, known_artefact.as_ref(), &artefact),
    };
    let server = ServerFacts {
        id: definition.id.clone(),
        transport: Transport::Stdio,
        pin: match (known.is_some(), config_changed, program_pin) {
            (true, true, _) | (true, _, Pin::Changed) => Pin::Changed,
            (true, false, Pin::Matched) => Pin::Matched,
            _ => Pin::Unpinned,
        },
        tools_pin: Pin::Unpinned,
        sandboxed: confinement.holds(),
    };
    let action = StartServer {
        server,
        program: ProgramFacts {
            name: file_name(&launch.program),
            path: launch.program.to_string_lossy().into_owned(),
            pin: program_pin,
        },
        runner: started.runner,
        package: started
            .package
            .map(|p| (p.name, p.version))
            .unwrap_or_default(),
        launch,
        grant,
        confinement,
        wishes,
        secret_names: definition.secret_names(),
        first_time: known.is_none(),
        config_changed,
        risks,
        definition: definition.digest(),
        artefact: artefact.digest,
    };
    Ok(Prepared {
        action,
        view,
        private,
        artefact,
        shown,
    })
}

/// A program that cannot be pinned whole still has a digest of what can be read: a change of that is
/// a change, and no change of it is no match.
fn pin(known: Option<&PinRecord>, artefact: &Artefact) -> Pin {
    match (known, artefact.digest) {
        (None, _) => Pin::Unpinned,
        (Some(known), Some(now)) if known.digest == now => agreed(artefact),
        (Some(_), _) => Pin::Changed,
    }
}

fn file_name(path: &std::path::Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// What is different from what was agreed to, in lines.
fn difference(
    known: Option<&PinRecord>,
    shown: &str,
    known_artefact: Option<&PinRecord>,
    artefact: &Artefact,
) -> Vec<String> {
    let mut lines = known.map_or_else(Vec::new, |pin| config::difference(&pin.shown, shown));
    if let Some(known) = known_artefact {
        let changed = artefact
            .parts
            .iter()
            .filter(|(name, digest)| known.parts.get(*name) != Some(digest));
        lines.extend(changed.map(|(name, _)| format!("changed on disk: {name}")));
        let gone = known
            .parts
            .keys()
            .filter(|name| !artefact.parts.contains_key(*name));
        lines.extend(gone.map(|name| format!("no longer part of it: {name}")));
    }
    lines
}

fn working_folder(line: &Line, definition: &ServerDefinition) -> Result<PathBuf, StartError> {
    match &definition.cwd {
        Some(cwd) => resolved(line, &cwd.value, "cwd"),
        None => Ok(line.ground.base().to_path_buf()),
    }
}

fn resolved(line: &Line, text: &str, field: &str) -> Result<PathBuf, StartError> {
    crate::disk::resolve(text, line.ground.base(), line.ground.home.as_deref())
        .map_err(|error| StartError::Path(format!("`{field}`: {error}")))
}

fn wanted(
    line: &Line,
    definition: &ServerDefinition,
    artefact: &Artefact,
) -> Result<Wanted, StartError> {
    let all = |texts: &[config::Text], field: &str| {
        texts
            .iter()
            .map(|text| resolved(line, &text.value, field))
            .collect::<Result<Vec<_>, _>>()
    };
    let mut read = all(&definition.read_paths, "readPaths")?;
    read.extend(code::folders(&line.ground, artefact));
    Ok(Wanted {
        read,
        write: all(&definition.write_paths, "writePaths")?,
        network: definition.network,
        env: definition.environment(),
        env_facts: definition.env_facts(),
        terminal: false,
    })
}

/// What a start waits for, as it is told to whoever watches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A person is asked.
    Asking,
    /// It may start, and does.
    Starting,
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
    phase: impl Fn(Phase) + Send + Sync,
) -> Result<(Server, ServerTools, UpstreamEvents), StartError> {
    let prepared = prepare(line, definition)?;
    let run = line.run();
    let (action, view) = (prepared.action.clone(), prepared.view.clone());
    let asked = action.clone();
    let asks = &phase;
    let decision = line
        .point
        .decide(line.asking(agent, &run), action, move || {
            asks(Phase::Asking);
            present::start(&asked, &view)
        })
        .await?;
    let permit = match decision {
        Decision::Deny(denial) => return Err(StartError::Denied(denial)),
        Decision::Allow(permit) => permit,
    };
    phase(Phase::Starting);
    keep_pins(line, &prepared)?;
    let (confined, seq) = launch(line, permit, &prepared.private).await?;
    let begun = Instant::now();
    let (server, events) = connect(line, definition, prepared, (confined, seq), limit).await?;
    match tools::list(&server, limit.saturating_sub(begun.elapsed())).await {
        Ok(list) => Ok((server, list, events)),
        Err(error) => {
            let stderr = server.upstream.stderr_tail();
            let exit = server.shutdown().await.map(|exit| exit.to_string());
            failed(line, definition, exit)?;
            Err(StartError::Handshake { error, stderr })
        }
    }
}

/// Puts on record that a started server was of no use.
fn failed(line: &Line, definition: &ServerDefinition, exit: Option<String>) -> Result<(), AuditError> {
    let note = EventKind::Note {
        name: "server-failed".to_owned(),
        details: json!({"server": definition.id.to_string(), "exit": exit}),
    };
    line.point.note(note).map(drop)
}

/// Spends the permit of a start on one confined process.
async fn launch(
    line: &Line,
    permit: Permit<StartServer>,
    private: &Private,
) -> Result<(Confined, u64), StartError> {
    let (action, seq) = line.point.redeem(permit).map_err(StartError::Denied)?;
    let begun = Instant::now();
    let outcome = spawn(line, (&action.launch, &action.grant), &action, private).await;
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (result, details) = match &outcome {
        Ok(confined) => (
            "started",
            json!({"pid": confined.pid(), "confinement": action.confinement}),
        ),
        Err(error) => (
            "not-started",
            json!({"error": clean::mask(&clean::line(&error.to_string(), 500))}),
        ),
    };
    line.point.note(EventKind::Outcome(Outcome {
        of: seq,
        ok: outcome.is_ok(),
        result: result.to_owned(),
        details,
        took_ms,
    }))?;
    Ok((outcome?, seq))
}

async fn spawn(
    line: &Line,
    (launch, grant): (&Launch, &Grant),
    action: &StartServer,
    private: &Private,
) -> Result<Confined, StartError> {
    private
        .make()
        .map_err(|error| StartError::Path(format!("private folders: {error}")))?;
    let plan = sandbox::plan(&line.machine, launch, grant).map_err(StartError::Plan)?;
    if *plan.confinement() != action.confinement {
        return Err(StartError::Changed(
            "the sandbox would hold something else than what was judged".to_owned(),
        ));
    }
    sandbox::spawn(plan, Stdio::Piped)
        .await
        .map_err(StartError::Spawn)
}

async fn connect(
    line: &Line,
    definition: &ServerDefinition,
    prepared: Prepared,
    (mut confined, seq): (Confined, u64),
    limit: Duration,
) -> Result<(Server, UpstreamEvents), StartError> {
    let (Some(stdin), Some(stdout), Some(stderr)) = (
        confined.stdin.take(),
        confined.stdout.take(),
        confined.stderr.take(),
    ) else {
        return Err(StartError::Changed("the process has no pipes".to_owned()));
    };
    let confined = Arc::new(Mutex::new(Some(confined)));
    let ends = Arc::clone(&confined);
    let story = async move {
        match ends.lock().await.as_mut() {
            Some(confined) => confined.wait().await.to_string(),
            None => String::new(),
        }
    };
    let (upstream, events) = Upstream::connect(stdin, stdout, stderr, CloseHook::new(story));
    let hello = match upstream.initialize(CREANCE, limit).await {
        Ok(hello) => hello,
        Err(error) => {
            let stderr = upstream.stderr_tail();
            let exit = end(&confined).await;
            failed(line, definition, exit)?;
            return Err(StartError::Handshake { error, stderr });
        }
    };
    let server = Server {
        definition: definition.clone(),
        confinement: prepared.action.confinement,
        upstream,
        hello,
        facts: ServerFacts {
            pin: agreed(&prepared.artefact),
            ..prepared.action.server
        },
        cwd: prepared.action.launch.cwd,
        tools: Default::default(),
        confined,
        calls: Default::default(),
        started: seq,
        _private: prepared.private,
    };
    Ok((server, events))
}

/// How Creance names itself to servers.
const CREANCE: ClientInfo = ClientInfo {
    name: "creance",
    version: env!("CARGO_PKG_VERSION"),
};

async fn end(confined: &Mutex<Option<Confined>>) -> Option<String> {
    let mut confined = confined.lock().await.take()?;
    Some(confined.shutdown().await.to_string())
}

/// The pin of a server that was just agreed to.
fn agreed(artefact: &Artefact) -> Pin {
    if artefact.digest.is_some() && artefact.unpinned.is_none() {
        Pin::Matched
    } else {
        Pin::Unpinned
    }
}

/// What was agreed to is what the next start is compared with.
fn keep_pins(line: &Line, prepared: &Prepared) -> Result<(), LedgerError> {
    let ledger = line.point.ledger();
    let subject = prepared.action.server.id.to_string();
    let at_ms = line.point.now_ms();
    let keep = |kind, record: PinRecord| {
        let same = ledger
            .pin(kind, &subject)?
            .is_some_and(|known| known.digest == record.digest && known.parts == record.parts);
        if same {
            return Ok(());
        }
        ledger.set_pin(kind, &subject, record)
    };
    keep(
        PinKind::Definition,
        PinRecord {
            digest: prepared.action.definition,
            parts: Default::default(),
            shown: prepared.shown.clone(),
            at_ms,
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
            },
        )?;
    }
    Ok(())
}
