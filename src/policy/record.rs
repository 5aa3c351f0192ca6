//! What was judged, as JSON for the audit record.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::digest::Digest;
use crate::grant::{Confinement, Guarantee};
use crate::request::{
    Act, CallTool, Confinee, ConnectHost, ConnectServer, GetPrompt, Query, ReadResource,
    ReviewTools, RunCommand, StartServer, ToolFacts, Wish,
};

use super::facts::{action_name, named_resource, principal_name};
use super::set::PolicySet;

impl PolicySet {
    /// The facts of a query as this store judges it: with the action of the tool, where policies name
    /// it as one.
    pub(super) fn facts(&self, query: &Query<'_>) -> Value {
        let mut facts = facts(query);
        let own = match query.act {
            Act::CallTool(call) => self.own_action(call),
            _ => None,
        };
        if let (Some(name), Some(members)) = (own, facts.as_object_mut()) {
            members.insert("typed_action".to_owned(), json!(name));
        }
        facts
    }

    /// The action of the tool that is called, where policies name it as one.
    pub(super) fn own_action(&self, call: &CallTool) -> Option<&str> {
        let (name, _) = self.0.vocabulary.typed_tool(&call.tool)?;
        Some(name)
    }

    /// The digest that a tool was locked with, where policies name it as an action.
    pub(crate) fn locked(&self, tool: &ToolFacts) -> Option<Digest> {
        let (_, typed) = self.0.vocabulary.typed_tool(tool)?;
        Some(typed.tool.digest)
    }
}

/// The facts of a query. Arguments of calls stand in it as they are: mask secrets before keeping it.
/// Values of environment variables do not.
#[must_use]
pub fn facts(query: &Query<'_>) -> Value {
    json!({
        "principal": principal_name(query),
        "action": action_name(&query.act),
        "resource": named_resource(&query.act),
        "agent": query.agent,
        "run": query.run,
        "facts": of_act(&query.act),
    })
}

fn of_act(act: &Act<'_>) -> Value {
    match *act {
        Act::StartServer(start) => of_start(start),
        Act::ReviewTools(review) => of_tools(review),
        Act::Wish(wish) => of_wish(wish),
        Act::Connect(connect) => of_connect(connect),
        Act::ConnectServer(connect, address) => of_remote(connect, address),
        Act::CallTool(call) => of_call(call),
        Act::ReadResource(read) => of_resource(read),
        Act::GetPrompt(get) => of_prompt(get),
        Act::ElicitForm(form) => json!(form),
        Act::ElicitUrl(link) => json!(link),
        Act::CreateSample(sample) => json!(sample),
        Act::RunCommand(command) => of_command(command),
        Act::SignIn(sign_in) => json!(sign_in),
    }
}

fn of_start(start: &StartServer) -> Value {
    json!({
        "server": start.server,
        "program": start.program,
        "runner": start.runner,
        "package": start.package.0,
        "package_version": start.package.1,
        "name": start.launch.name,
        "args": start.launch.args,
        "cwd": start.launch.cwd.to_string_lossy(),
        "env_names": start.grant.env.0.keys().collect::<Vec<_>>(),
        "secret_names": start.secret_names,
        "network": start.grant.network,
        "wishes": start.wishes,
        "first_time": start.first_time,
        "config_changed": start.config_changed,
        "risks": start.risks,
        "definition": start.definition,
        "artefact": start.artefact,
        "confinement": of_confinement(&start.confinement),
    })
}

fn of_command(command: &RunCommand) -> Value {
    json!({
        "program": command.program,
        "name": command.launch.name,
        "args": command.launch.args,
        "cwd": command.launch.cwd.to_string_lossy(),
        "env_names": command.grant.env.0.keys().collect::<Vec<_>>(),
        "network": command.grant.network,
        "wishes": command.wishes,
        "risks": command.risks,
        "fingerprint": command.fingerprint,
        "confinement": of_confinement(&command.confinement),
    })
}

/// Guarantees by level: as a member's name, `secrets` would have its level masked.
fn of_confinement(confinement: &Confinement) -> Value {
    let at = |level: &str| -> Vec<&str> {
        let all = Guarantee::ALL.into_iter();
        all.filter(|guarantee| confinement.level(*guarantee) == level)
            .map(Guarantee::name)
            .collect()
    };
    json!({
        "backend": confinement.backend,
        "enforced": at("enforced"),
        "weakened": at("weakened"),
        "absent": at("absent"),
    })
}

fn of_tools(review: &ReviewTools) -> Value {
    json!({
        "server": review.server,
        "tools": review.tools,
        "first_time": review.first_time,
        "added": review.added,
        "removed": review.removed,
        "changed": review.changed,
        "flags": review.flags,
    })
}

fn of_wish(wish: &Wish) -> Value {
    json!(wish)
}

fn of_connect(connect: &ConnectHost) -> Value {
    let confinee = match &connect.confinee {
        Confinee::Server(server) => json!({ "server": server }),
        Confinee::Command {
            program,
            fingerprint,
        } => json!({ "program": program, "fingerprint": fingerprint }),
    };
    json!({
        "confinee": confinee,
        "host": connect.host,
        "port": connect.port,
        "listed": connect.listed,
    })
}

/// One request for each address. Of the server's address only the origin: path and query may be secrets.
fn of_remote(connect: &ConnectServer, address: Option<IpAddr>) -> Value {
    json!({
        "server": connect.server,
        "host": connect.host,
        "scheme": connect.scheme,
        "port": connect.port,
        "ip": address,
        "ip_class": ConnectServer::class(address),
        "shows": connect.auth,
        "first_time": connect.first_time,
        "definition": connect.definition,
    })
}

fn of_call(call: &CallTool) -> Value {
    json!({
        "server": call.tool.server,
        "tool_digest": call.tool.digest,
        "claims": call.tool.claims,
        "arguments": call.arguments,
        "arguments_digest": call.arguments_digest,
        "arguments_bytes": call.arguments_bytes,
        "valid": call.valid,
        "secrets": call.secrets,
        "paths": call.paths,
        "option_like": call.option_like,
        "calls_this_session": call.calls_this_session,
    })
}

fn of_resource(read: &ReadResource) -> Value {
    json!({ "server": read.server, "uri": read.uri })
}

fn of_prompt(get: &GetPrompt) -> Value {
    json!({ "server": get.server, "name": get.name, "arguments": get.arguments })
}
