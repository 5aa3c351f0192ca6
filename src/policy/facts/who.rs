//! Agents, servers, programs and the circumstances of a run.

use std::collections::HashSet;

use cedar_policy::EntityUid;

use crate::policy::vocabulary::{TYPES, uid};
use crate::request::{Agent, Pin, ProgramFacts, Run, ServerFacts, ServerId, Transport, Trigger};

use super::build::{Entities, FactError, Value, member, number, record, reference, text};
use super::path;

/// Users and groups have no attributes: being in them is all there is to know, and that stands in
/// the agent's own list.
pub(super) fn add_agent(entities: &mut Entities, agent: &Agent) -> EntityUid {
    let name = uid(&TYPES.agent, &agent.name);
    let attributes = [
        ("name", text(agent.name.as_str())),
        ("client", text(agent.client.as_str())),
        ("client_verified", Value::new_bool(agent.client_verified)),
        ("depth", number(u64::from(agent.depth))),
    ];
    let groups = agent.groups.iter().map(|group| uid(&TYPES.group, group));
    let above = groups.chain([uid(&TYPES.user, &agent.user)]).collect();
    entities.add(&name, attributes, above);
    name
}

pub(super) fn add_server(entities: &mut Entities, server: &ServerFacts) -> EntityUid {
    let name = uid(&TYPES.server, &server_name(&server.id));
    if entities.has(&name) {
        return name;
    }
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
        ("sandboxed", Value::new_bool(server.sandboxed)),
    ];
    entities.add(&name, attributes, HashSet::from([source]));
    name
}

/// A server's name in policies, `user/files`. A slash inside the name is written `%2F`: the tool `b/c`
/// of the server `a` is not the tool `c` of the server `a/b`.
pub(super) fn server_name(id: &ServerId) -> String {
    id.to_string()
}

/// The source of a server as an entity.
pub(super) fn source_of(server: &ServerFacts) -> EntityUid {
    uid(&TYPES.source, server.id.source.name())
}

pub(super) fn add_program(entities: &mut Entities, program: &ProgramFacts) -> EntityUid {
    let name = uid(&TYPES.program, &program.path);
    let folders = path::folders(&program.path)
        .chain([program.path.as_str()])
        .map(|folder| uid(&TYPES.path, folder));
    let attributes = [
        ("name", text(program.name.as_str())),
        ("path", text(program.path.as_str())),
        ("pin", pin(program.pin)),
    ];
    entities.add(&name, attributes, folders.collect());
    name
}

pub(super) fn run(entities: &mut Entities, run: &Run) -> Result<Value, FactError> {
    let project = uid(&TYPES.project, &run.project.id);
    let attributes = [("trusted", Value::new_bool(run.project.trusted))];
    entities.add(&project, attributes, HashSet::new());
    record([
        ("now", Value::new_datetime(timestamp(run.now_ms))),
        ("project", reference(project)),
        ("trigger", member(&TYPES.trigger, trigger(run.trigger))),
        ("attended", Value::new_bool(run.attended)),
        ("dry_run", Value::new_bool(run.dry_run)),
    ])
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
