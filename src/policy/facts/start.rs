//! What brings code to life: the context of `server.start` and `exec.run`.

use crate::grant::Place;
use crate::grant::{Confinement, Grant, Guarantee, Launch, Network};
use crate::policy::vocabulary::TYPES;
use crate::request::{NetworkWish, PathFacts, Risk, RunCommand, StartServer, Wish};

use super::build::{Entities, Value, literal, member, record, reference, text, texts};
use super::who;

type Fields = Vec<(&'static str, Value)>;

/// The context of `server.start`, without run and flags.
pub(super) fn server(entities: &mut Entities<'_>, start: &StartServer) -> Fields {
    let program = who::add_program(entities, &start.program);
    let (package, version) = &start.package;
    let mut fields = shared(&start.launch, &start.grant, &start.wishes);
    fields.extend([
        ("program", reference(program)),
        ("artefact_pinned", literal(start.artefact.is_some())),
        ("runner", member(&TYPES.runner, start.runner.name())),
        ("package", text(package.as_str())),
        ("package_version", text(version.as_str())),
        (
            "secret_names",
            texts(start.secret_names.iter().map(String::as_str)),
        ),
        ("first_time", literal(start.first_time)),
        ("config_changed", literal(start.config_changed)),
        ("risk", risks(&start.risks)),
        ("confinement", confinement(&start.confinement)),
    ]);
    fields
}

/// The context of `exec.run`, without run and flags.
pub(super) fn command(command: &RunCommand) -> Fields {
    let mut fields = shared(&command.launch, &command.grant, &command.wishes);
    fields.extend([
        ("risk", risks(&command.risks)),
        ("confinement", confinement(&command.confinement)),
    ]);
    fields
}

fn shared(launch: &Launch, grant: &Grant, wishes: &[Wish]) -> Fields {
    let line = std::iter::once(launch.name.as_str()).chain(launch.args.iter().map(String::as_str));
    let line: Vec<&str> = line.collect();
    let reads = |wish: &Wish| matches!(wish, Wish::Read(path) if leaves_project(path));
    let writes = |wish: &Wish| matches!(wish, Wish::Write(path) if leaves_project(path));
    let sockets = |wish: &Wish| matches!(wish, Wish::Socket(_));
    vec![
        ("command_line", text(line.join(" "))),
        ("args", texts(launch.args.iter().map(String::as_str))),
        ("cwd", text(launch.cwd.to_string_lossy())),
        ("env_names", texts(grant.env.0.keys().map(String::as_str))),
        ("network", member(&TYPES.network, network(grant, wishes))),
        ("reads_outside_project", literal(wishes.iter().any(reads))),
        ("writes_outside_project", literal(wishes.iter().any(writes))),
        (
            "wants_sockets",
            literal(!grant.sockets.is_empty() || wishes.iter().any(sockets)),
        ),
    ]
}

/// Scratch places are nobody's outside.
fn leaves_project(path: &PathFacts) -> bool {
    path.in_project.is_none() && !matches!(path.place, Place::Temp | Place::Cache)
}

fn network(grant: &Grant, wishes: &[Wish]) -> &'static str {
    let whole = |wish: &Wish| matches!(wish, Wish::Network(NetworkWish::Whole));
    let any = |wish: &Wish| matches!(wish, Wish::Network(_));
    match grant.network {
        Network::Whole => "whole",
        _ if wishes.iter().any(whole) => "whole",
        Network::Hosts => "hosts",
        Network::None if wishes.iter().any(any) => "hosts",
        Network::None => "none",
    }
}

fn risks(risks: &[Risk]) -> Value {
    let names = risks.iter().map(|risk| member(&TYPES.risk, risk.name()));
    Value::set(names, None)
}

fn confinement(confinement: &Confinement) -> Value {
    let level = |guarantee| member(&TYPES.level, confinement.level(guarantee));
    record([
        ("backend", text(confinement.backend.as_str())),
        ("writes", level(Guarantee::Writes)),
        ("protected_paths", level(Guarantee::ProtectedPaths)),
        ("secrets", level(Guarantee::Secrets)),
        ("network", level(Guarantee::Network)),
        ("network_per_host", level(Guarantee::NetworkPerHost)),
        ("unix_sockets", level(Guarantee::UnixSockets)),
        ("processes", level(Guarantee::Processes)),
        ("tree_kill", level(Guarantee::TreeKill)),
        ("limits", level(Guarantee::Limits)),
        ("terminal", level(Guarantee::Terminal)),
        ("environment", level(Guarantee::Environment)),
    ])
}
