//! Runs one command in the sandbox (`creance run`), under policy.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;

use crate::audit::{EventKind, Outcome};
use crate::clean;
use crate::config;
use crate::decision::{Decision, Permit};
use crate::digest::Digest;
use crate::disk;
use crate::disk::program::Artefact;
use crate::grant::{Launch, Limit, Network};
use crate::request::{Agent, Confinee, EnvFacts, HostRule, Pin, ProgramFacts, RunCommand};
use crate::sandbox::{self, Exit, Stdio};

use super::code;
use super::line::{Ground, Line};
use super::present;
use super::private::Private;
use super::reach::{Outlet, Tenant};
use super::signals::Signals;
use super::start_error::StartError;
use super::terms::{self, Wanted};

/// A command as its user asks for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Command {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    /// `None`: no Unix sockets; else those that it makes itself and these.
    pub(crate) sockets: Option<Vec<PathBuf>>,
    pub(crate) network: Network,
    /// Hosts that it asks for.
    pub(crate) hosts: Vec<HostRule>,
    /// Variables of the user's environment that it gets beside the short list.
    pub(crate) env: Vec<String>,
    pub(crate) limits: BTreeMap<Limit, u64>,
    pub(crate) terminal: bool,
}

/// A command, ready to be decided.
#[derive(Debug)]
pub(crate) struct PreparedCommand {
    pub(crate) action: RunCommand,
    pub(crate) warnings: Vec<String>,
    private: Private,
}

/// Finds and hashes the program and plans its terms.
pub(crate) fn prepare(line: &Line, command: &Command) -> Result<PreparedCommand, StartError> {
    let ground = &line.ground;
    let owner = owner(ground, command)?;
    let private = Private::plan(&ground.cache, &owner)
        .map_err(|error| StartError::Path(format!("private folders: {error}")))?;
    let caches = private.npm_caches(ground.home.as_deref());
    let words = (command.program.as_str(), command.args.as_slice());
    let artefact = code::find(ground, words, &ground.cwd, (&caches, command.network))
        .map_err(StartError::Program)?;
    let command = &resolved(line, command)?;
    let wanted = wanted(line, command, &artefact);
    let (grant, wishes) = terms::terms(ground, &wanted, &private);
    let launch = Launch {
        program: artefact.program.clone(),
        name: artefact.name.clone(),
        args: artefact.args.clone(),
        cwd: ground.cwd.clone(),
        stamps: artefact.stamps.clone(),
    };
    let plan = sandbox::plan(&line.machine, &launch, &grant).map_err(StartError::Plan)?;
    let confinement = plan.confinement().clone();
    let (risks, mut warnings) =
        config::command_warnings(&command.program, &command.args, &ground.places.home);
    warnings.extend(plan.notices().iter().cloned());
    warnings.extend(terms::not_yet_hidden(&grant, &wanted));
    let fingerprint = fingerprint(&launch, command, &artefact);
    let path = launch.program.to_string_lossy().into_owned();
    let action = RunCommand {
        program: ProgramFacts {
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            path,
            pin: Pin::Unpinned,
        },
        launch,
        grant,
        confinement,
        wishes,
        risks,
        fingerprint,
    };
    Ok(PreparedCommand {
        action,
        warnings,
        private,
    })
}

/// Whose private cache it is: the program's; of a package runner, the package's, so that no package
/// leaves something for another one.
fn owner(ground: &Ground, command: &Command) -> Result<String, StartError> {
    let program = code::locate(ground, &command.program).map_err(StartError::Program)?;
    let package = config::started(&command.program, &command.args).package;
    let package = package.map(|package| format!("/{}", package.name));
    let program = program.display();
    Ok(format!("run/{program}{}", package.unwrap_or_default()))
}

/// The command with every path as the file that it names: links are followed when it is judged, not
/// when it runs.
fn resolved(line: &Line, command: &Command) -> Result<Command, StartError> {
    let (base, home) = (line.ground.base(), line.ground.home.as_deref());
    let all = |paths: &[PathBuf]| {
        let texts = paths.iter().map(|path| disk::path_text(path));
        texts
            .map(|text| {
                let path = disk::resolve(&text, base, home);
                path.map_err(|error| StartError::Path(format!("`{text}`: {error}")))
            })
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(Command {
        read: all(&command.read)?,
        write: all(&command.write)?,
        sockets: command.sockets.as_deref().map(all).transpose()?,
        ..command.clone()
    })
}

fn wanted(line: &Line, command: &Command, artefact: &Artefact) -> Wanted {
    let ground = &line.ground;
    let mut read = command.read.clone();
    read.extend(code::folders(ground, artefact));
    let mut env = crate::grant::Environment::default();
    for name in &command.env {
        if let Some(value) = ground.environment.get(name) {
            env.0.insert(name.clone(), value.clone());
        }
    }
    Wanted {
        read,
        write: command.write.clone(),
        sockets: command.sockets.clone(),
        network: command.network,
        hosts: command.hosts.clone(),
        env_facts: command
            .env
            .iter()
            .map(|name| EnvFacts {
                name: name.clone(),
                looks_secret: config::looks_secret(name),
            })
            .collect(),
        env,
        limits: command.limits.clone(),
        terminal: command.terminal,
    }
}

/// What "the same command" means: program with its content, arguments, folder and grants.
fn fingerprint(launch: &Launch, command: &Command, artefact: &Artefact) -> Digest {
    let mut fields = vec![
        launch.program.to_string_lossy().into_owned(),
        artefact.digest.map(|d| d.to_string()).unwrap_or_default(),
        launch.cwd.to_string_lossy().into_owned(),
        format!("{:?} {:?}", command.network, command.hosts),
    ];
    let paths = |paths: &[PathBuf]| -> String { format!("{paths:?}") };
    fields.push(paths(&command.read));
    fields.push(paths(&command.write));
    if let Some(sockets) = &command.sockets {
        fields.push(format!("unix sockets {sockets:?}"));
    }
    fields.push(format!("{:?}", command.env));
    fields.push(format!("{:?}", launch.args));
    let limits = command.limits.iter();
    fields.extend(limits.map(|(limit, value)| format!("{}={value}", limit.key())));
    Digest::of_fields("exec.run/1", fields)
}

/// Runs a command and waits for its end.
pub(crate) async fn run(line: &Line, agent: &Agent, command: &Command) -> Result<Exit, StartError> {
    let prepared = prepare(line, command)?;
    let run = line.run();
    let (asked, warnings) = (prepared.action.clone(), prepared.warnings.clone());
    let decision = line
        .point
        .decide(line.asking(agent, &run), prepared.action, move |_| {
            present::run(&asked, &warnings)
        })
        .await?;
    match decision {
        Decision::Deny(denial) => Err(StartError::Denied(denial)),
        Decision::Allow(permit) => {
            let hosts = command.hosts.clone();
            spend(line, agent, permit, (&prepared.private, hosts)).await
        }
    }
}

async fn spend(
    line: &Line,
    agent: &Agent,
    permit: Permit<RunCommand>,
    (private, hosts): (&Private, Vec<HostRule>),
) -> Result<Exit, StartError> {
    let answer = permit.answer();
    let (action, seq) = line.point.redeem(permit).map_err(StartError::Denied)?;
    let begun = Instant::now();
    let tenant = Tenant {
        confinee: Confinee::Command {
            program: action.program.clone(),
            fingerprint: action.fingerprint,
        },
        name: action.launch.name.clone(),
        hosts,
        answer,
        is_trusted: true,
    };
    let ended = confined(line, (agent, &action), private, tenant).await;
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (result, details) = match &ended {
        Ok(exit) => (
            "done",
            json!({"exit": exit.to_string(), "confinement": action.confinement}),
        ),
        Err(error) => (
            "not-started",
            json!({"error": clean::mask(&clean::line(&error.to_string(), 500))}),
        ),
    };
    line.point.note(EventKind::Outcome(Outcome {
        of: seq,
        ok: ended.is_ok(),
        result: result.to_owned(),
        details,
        took_ms,
    }))?;
    ended
}

async fn confined(
    line: &Line,
    (agent, action): (&Agent, &RunCommand),
    private: &Private,
    tenant: Tenant,
) -> Result<Exit, StartError> {
    private
        .make()
        .map_err(|error| StartError::Path(format!("private folders: {error}")))?;
    let plan =
        sandbox::plan(&line.machine, &action.launch, &action.grant).map_err(StartError::Plan)?;
    if *plan.confinement() != action.confinement {
        return Err(StartError::Changed(
            "the sandbox would hold something else than what was judged".to_owned(),
        ));
    }
    let mut signals = Signals::take(&action.grant)
        .map_err(|error| StartError::Path(format!("signals: {error}")))?;
    let mut confined = sandbox::spawn(plan, Stdio::Inherit)
        .await
        .map_err(StartError::Spawn)?;
    let outlet = Outlet::open(line, agent, &mut confined, tenant).map_err(StartError::Proxy)?;
    let ended = tokio::select! {
        exit = confined.wait() => Some(exit),
        () = signals.ending() => None,
    };
    let exit = match ended {
        Some(exit) => exit,
        None => confined.terminate().await,
    };
    if let Some(outlet) = outlet {
        outlet.close().await;
    }
    Ok(exit)
}
