//! Agents, servers, programs and the circumstances of a run.

use std::collections::HashSet;
use std::sync::LazyLock;

use cedar_policy_core::ast::{EntityUID, RestrictedExpr};
use cedar_policy_core::evaluator::RestrictedEvaluator;
use cedar_policy_core::extensions::Extensions;

use crate::policy::vocabulary::{TYPES, uid};
use crate::request::{Agent, Pin, ProgramFacts, Run, ServerFacts, ServerId, Transport, Trigger};

use super::build::{
    Entities, FactError, Value, literal, member, number, record, reference, text, unfit,
};
use super::path;

/// Users and groups have no attributes: being in them is all there is to know, and that stands in
/// the agent's own list.
pub(super) fn add_agent(entities: &mut Entities<'_>, agent: &Agent) -> EntityUID {
    entities.add_steady(
        |steady| &steady.agents,
        agent,
        || {
            let attributes = [
                ("name", text(agent.name.as_str())),
                ("client", text(agent.client.as_str())),
                ("client_verified", literal(agent.client_verified)),
                ("depth", number(u64::from(agent.depth))),
            ];
            let groups = agent.groups.iter().map(|group| uid(&TYPES.group, group));
            let above = groups.chain([uid(&TYPES.user, &agent.user)]).collect();
            (uid(&TYPES.agent, &agent.name), attributes, above)
        },
    )
}

pub(super) fn add_server(entities: &mut Entities<'_>, server: &ServerFacts) -> EntityUID {
    entities.add_steady(
        |steady| &steady.servers,
        server,
        || {
            let source = source_of(server);
            let attributes = [
                ("name", text(server.id.name.as_str())),
                ("source", reference(source.clone())),
                (
                    "transport",
                    member(&TYPES.transport, transport(server.transport)),
                ),
                ("pin", pin(server.pin)),
                ("tools_pin", pin(server.tools_pin)),
                ("sandboxed", literal(server.sandboxed)),
            ];
            let name = uid(&TYPES.server, &server_name(&server.id));
            (name, attributes, HashSet::from([source]))
        },
    )
}

/// A server's name in policies, `user/files`. A slash inside the name is written `%2F`: the tool `b/c`
/// of the server `a` is not the tool `c` of the server `a/b`.
pub(super) fn server_name(id: &ServerId) -> String {
    id.to_string()
}

/// The source of a server as an entity.
pub(super) fn source_of(server: &ServerFacts) -> EntityUID {
    uid(&TYPES.source, server.id.source.name())
}

pub(super) fn add_program(entities: &mut Entities<'_>, program: &ProgramFacts) -> EntityUID {
    let name = uid(&TYPES.program, &program.path);
    let folders = path::folders(&program.path)
        .chain([program.path.as_str()])
        .filter(|folder| entities.counts(folder))
        .map(|folder| uid(&TYPES.path, folder));
    let folders = folders.collect();
    let attributes = [
        ("name", text(program.name.as_str())),
        ("path", text(program.path.as_str())),
        ("pin", pin(program.pin)),
    ];
    entities.add(&name, attributes, folders);
    name
}

pub(super) fn run(entities: &mut Entities<'_>, run: &Run) -> Result<Value, FactError> {
    let project = entities.add_steady(
        |steady| &steady.projects,
        &run.project,
        || {
            let name = uid(&TYPES.project, &run.project.id);
            let attributes = [("trusted", literal(run.project.trusted))];
            (name, attributes, HashSet::new())
        },
    );
    // Reading a time costs Cedar more than all else here, and few policies look at it.
    let now = match entities.reads("now") {
        true => time(run.now_ms)?,
        false => SOME_TIME
            .clone()
            .ok_or_else(|| FactError::of("circumstances"))?,
    };
    Ok(record([
        ("now", now),
        ("project", reference(project)),
        ("trigger", member(&TYPES.trigger, trigger(run.trigger))),
        ("attended", literal(run.attended)),
        ("dry_run", literal(run.dry_run)),
    ]))
}

/// Stands for the time where no policy looks at it.
static SOME_TIME: LazyLock<Option<Value>> = LazyLock::new(|| time(0).ok());

fn time(ms: i64) -> Result<Value, FactError> {
    let extensions = Extensions::all_available();
    let function = "datetime".parse().map_err(unfit("circumstances"))?;
    let written = RestrictedExpr::val(timestamp(ms));
    let call = RestrictedExpr::call_extension_fn(function, [written]);
    let evaluator = RestrictedEvaluator::new(extensions);
    evaluator
        .interpret(call.as_borrowed())
        .map_err(unfit("circumstances"))
}

/// A time in Cedar's form; one outside the years 1970 to 9999 becomes the nearest inside.
fn timestamp(ms: i64) -> String {
    const LAST: u64 = 253_402_300_799_999;
    let ms = u64::try_from(ms).unwrap_or(0).min(LAST);
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(ms);
    humantime::format_rfc3339_millis(time).to_string()
}

fn pin(pin: Pin) -> Value {
    let name = match pin {
        Pin::Matched => "matched",
        Pin::Unpinned => "unpinned",
        Pin::Changed => "changed",
    };
    member(&TYPES.pin, name)
}

fn transport(transport: Transport) -> &'static str {
    match transport {
        Transport::Stdio => "stdio",
        Transport::Http => "http",
        Transport::InProcess => "in-process",
    }
}

fn trigger(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Person => "person",
        Trigger::Agent => "agent",
        Trigger::Server => "server",
        Trigger::Schedule => "schedule",
    }
}
