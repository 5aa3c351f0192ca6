//! One query in Cedar's form.

use std::collections::{HashMap, HashSet};

use cedar_policy::{Context, Entities as Store, EntityUid, Request, RequestEnv, Schema};

use crate::policy::polarity::FLAGS;
use crate::policy::vocabulary::{SCHEMA, TYPES, uid};
use crate::request::{
    Act, Action, Answer, CallTool, ConnectHost, GetPrompt, NetworkWish, Principal, Query,
    ReadResource, ReviewTools, RunCommand, ServerFacts, StartServer, ToolFacts, Wish,
};

use super::args::Flat;
use super::build::{Entities, FactError, Mentioned, Value, number, reference, text, texts, unfit};
use super::{host, path, start, who};

/// A query in Cedar's form, checked against the schema.
pub(crate) struct Judged {
    pub(crate) env: RequestEnv,
    pub(crate) resource: EntityUid,
    pub(crate) entities: Store,
    principal: EntityUid,
    action: EntityUid,
    context: HashMap<String, Value>,
}

impl Judged {
    /// The request as it stands with a given answer, checked against the schema.
    pub(crate) fn request(&self, answer: Answer) -> Result<Request, FactError> {
        self.with_flags(answer, Some(&SCHEMA))
    }

    /// The same request with another answer: only three truth values differ from one that was
    /// checked, so it is not checked again.
    pub(crate) fn again(&self, answer: Answer) -> Result<Request, FactError> {
        self.with_flags(answer, None)
    }

    fn with_flags(&self, answer: Answer, schema: Option<&Schema>) -> Result<Request, FactError> {
        let flags = FLAGS
            .iter()
            .zip(answer.flags())
            .map(|(name, flag)| ((*name).to_owned(), Value::new_bool(flag)));
        let fields = self
            .context
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()));
        let context = Context::from_pairs(fields.chain(flags)).map_err(unfit("circumstances"))?;
        Request::new(
            self.principal.clone(),
            self.action.clone(),
            self.resource.clone(),
            context,
            schema,
        )
        .map_err(unfit("circumstances"))
    }
}

type Fields = Vec<(&'static str, Value)>;

/// Puts a query into Cedar's form.
pub(crate) fn judged(query: &Query<'_>, mentioned: Mentioned<'_>) -> Result<Judged, FactError> {
    let mut entities = Entities::default();
    let principal = match query.principal {
        Principal::Agent(agent) => who::add_agent(&mut entities, agent),
        Principal::Server(server) => who::add_server(&mut entities, server),
    };
    let (resource, mut fields) = resource(&mut entities, &query.act)?;
    fields.push(("run", who::run(&mut entities, query.run)?));
    let action = uid(&TYPES.action, action_name(&query.act));
    let context = fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let env = RequestEnv::new(
        principal.type_name().clone(),
        action.clone(),
        resource.type_name().clone(),
    );
    let entities = entities.finish(mentioned)?;
    let entities = Store::from_entities(entities, Some(&SCHEMA)).map_err(unfit("entities"))?;
    Ok(Judged {
        env,
        resource,
        entities,
        principal,
        action,
        context,
    })
}

fn resource(entities: &mut Entities, act: &Act<'_>) -> Result<(EntityUid, Fields), FactError> {
    match *act {
        Act::StartServer(start) => {
            let server = who::add_server(entities, &start.server);
            Ok((server, start::server(entities, start)?))
        }
        Act::ReviewTools(review) => {
            let server = who::add_server(entities, &review.server);
            Ok((server, tool_list(review)))
        }
        Act::Wish(wish) => Ok(self::wish(entities, wish)),
        Act::Connect(connect) => {
            let listed = match connect.listed {
                true => Listed::Yes,
                false => Listed::No,
            };
            let fields = network_fields(connect.port, listed);
            Ok((host::add(entities, &connect.host), fields))
        }
        Act::CallTool(call) => {
            let tool = add_tool(entities, &call.tool);
            Ok((tool, self::call(entities, call)))
        }
        Act::ReadResource(read) => Ok((add_resource(entities, read), Vec::new())),
        Act::GetPrompt(get) => Ok(prompt(entities, get)),
        Act::RunCommand(command) => {
            let program = who::add_program(entities, &command.program);
            Ok((program, start::command(command)?))
        }
    }
}

fn wish(entities: &mut Entities, wish: &Wish) -> (EntityUid, Fields) {
    match wish {
        Wish::Read(path) | Wish::Write(path) | Wish::Socket(path) => {
            (path::add(entities, path), Vec::new())
        }
        Wish::Network(NetworkWish::Whole) => {
            (uid(&TYPES.network, "whole"), network_fields(0, Listed::Yes))
        }
        Wish::Network(NetworkWish::Host { host, port } | NetworkWish::Raw { host, port }) => {
            let fields = network_fields(*port, Listed::Yes);
            (host::add(entities, host), fields)
        }
        Wish::Network(NetworkWish::Below { domain, port }) => {
            let fields = network_fields(*port, Listed::Yes);
            (host::add_below(entities, domain), fields)
        }
        Wish::Env(variable) => {
            let name = uid(&TYPES.env_var, &variable.name);
            let attributes = [
                ("name", text(variable.name.as_str())),
                ("looks_secret", Value::new_bool(variable.looks_secret)),
            ];
            entities.add(&name, attributes, HashSet::new());
            (name, Vec::new())
        }
    }
}

/// Whether a host is among those that were asked for at the start. A wish is what is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    Yes,
    No,
}

fn network_fields(port: u16, listed: Listed) -> Fields {
    vec![
        ("port", number(u64::from(port))),
        ("listed", Value::new_bool(listed == Listed::Yes)),
    ]
}

fn tool_list(review: &ReviewTools) -> Fields {
    let names = |names: &[String]| texts(names.iter().map(String::as_str));
    vec![
        ("first_time", Value::new_bool(review.first_time)),
        ("added", names(&review.added)),
        ("removed", names(&review.removed)),
        ("changed", names(&review.changed)),
        ("flags", names(&review.flags)),
    ]
}

fn call(entities: &mut Entities, call: &CallTool) -> Fields {
    let flat = Flat::of(&call.arguments);
    let names = call.arguments.as_object().map(|object| object.keys());
    let names = texts(names.into_iter().flatten().map(String::as_str));
    let option_like = texts(call.option_like.iter().map(String::as_str));
    let tags = flat
        .texts
        .into_iter()
        .map(|(name, leaf)| (name, text(leaf)));
    let args = entities.add_tagged(&TYPES.args, tags);
    let numbers = flat.numbers.into_iter();
    let numbers = numbers.map(|(name, leaf)| (name, Value::new_long(leaf)));
    let numbers = entities.add_tagged(&TYPES.numbers, numbers);
    let paths = path::add_arguments(entities, &call.paths);
    vec![
        ("args", args),
        ("numbers", numbers),
        ("arg_names", names),
        ("args_json", text(call.arguments.to_string())),
        ("args_bytes", number(call.arguments_bytes)),
        ("args_complete", Value::new_bool(!flat.cut)),
        ("args_valid", Value::new_bool(call.valid)),
        ("secrets_in_args", Value::new_bool(call.secrets)),
        ("option_like_args", option_like),
        ("every_path", paths.every),
        ("some_path", paths.some),
        ("arg_paths", paths.by_name),
        ("paths_resolved", paths.resolved),
        ("paths_outside_project", paths.outside),
        ("calls_this_session", number(call.calls_this_session)),
    ]
}

fn add_tool(entities: &mut Entities, tool: &ToolFacts) -> EntityUid {
    let server = who::add_server(entities, &tool.server);
    let name = uid(&TYPES.tool, &qualified(&tool.server, &tool.name));
    let attributes = [
        ("name", text(tool.name.as_str())),
        ("server", reference(server.clone())),
        ("claims_read_only", Value::new_bool(tool.claims.read_only)),
        (
            "claims_destructive",
            Value::new_bool(tool.claims.destructive),
        ),
        ("claims_idempotent", Value::new_bool(tool.claims.idempotent)),
        ("claims_open_world", Value::new_bool(tool.claims.open_world)),
    ];
    let above = HashSet::from([server, who::source_of(&tool.server)]);
    entities.add(&name, attributes, above);
    name
}

fn add_resource(entities: &mut Entities, read: &ReadResource) -> EntityUid {
    let server = who::add_server(entities, &read.server);
    let name = uid(&TYPES.mcp_resource, &qualified(&read.server, &read.uri));
    let scheme = read.uri.split_once(':').map_or("", |(scheme, _)| scheme);
    let attributes = [
        ("uri", text(read.uri.as_str())),
        ("scheme", text(scheme.to_ascii_lowercase())),
        ("server", reference(server.clone())),
    ];
    let above = HashSet::from([server, who::source_of(&read.server)]);
    entities.add(&name, attributes, above);
    name
}

fn prompt(entities: &mut Entities, get: &GetPrompt) -> (EntityUid, Fields) {
    let server = who::add_server(entities, &get.server);
    let name = uid(&TYPES.prompt, &qualified(&get.server, &get.name));
    let attributes = [
        ("name", text(get.name.as_str())),
        ("server", reference(server.clone())),
    ];
    let above = HashSet::from([server, who::source_of(&get.server)]);
    entities.add(&name, attributes, above);
    let names = texts(get.arguments.iter().map(|(key, _)| key.as_str()));
    let tags = get.arguments.iter();
    let tags = tags.map(|(key, value)| (key.clone(), text(value.as_str())));
    let args = entities.add_tagged(&TYPES.args, tags);
    (name, vec![("args", args), ("arg_names", names)])
}

fn qualified(server: &ServerFacts, name: &str) -> String {
    format!("{}/{name}", who::server_name(&server.id))
}

/// The Cedar action of an act.
pub(crate) fn action_name(act: &Act<'_>) -> &'static str {
    match act {
        Act::StartServer(_) => StartServer::NAME,
        Act::ReviewTools(_) => ReviewTools::NAME,
        Act::Wish(Wish::Read(_)) => "sandbox.read",
        Act::Wish(Wish::Write(_)) => "sandbox.write",
        Act::Wish(Wish::Network(_)) => "sandbox.network",
        Act::Wish(Wish::Env(_)) => "sandbox.env",
        Act::Wish(Wish::Socket(_)) => "sandbox.socket",
        Act::Connect(_) => ConnectHost::NAME,
        Act::CallTool(_) => CallTool::NAME,
        Act::ReadResource(_) => ReadResource::NAME,
        Act::GetPrompt(_) => GetPrompt::NAME,
        Act::RunCommand(_) => RunCommand::NAME,
    }
}

/// The resource of an act as it stands in policies.
pub(crate) fn named_resource(act: &Act<'_>) -> String {
    match act {
        Act::StartServer(start) => who::server_name(&start.server.id),
        Act::ReviewTools(review) => who::server_name(&review.server.id),
        Act::Wish(Wish::Read(path) | Wish::Write(path) | Wish::Socket(path)) => path.text.clone(),
        Act::Wish(Wish::Network(NetworkWish::Whole)) => "whole".to_owned(),
        Act::Wish(Wish::Network(network)) => network.to_string(),
        Act::Wish(Wish::Env(variable)) => variable.name.clone(),
        Act::Connect(connect) => connect.target(),
        Act::CallTool(call) => qualified(&call.tool.server, &call.tool.name),
        Act::ReadResource(read) => qualified(&read.server, &read.uri),
        Act::GetPrompt(get) => qualified(&get.server, &get.name),
        Act::RunCommand(command) => command.program.path.clone(),
    }
}

/// Who acts, as text: `agent/claude-code`, `server/user/files`.
pub(crate) fn principal_name(query: &Query<'_>) -> String {
    match query.principal {
        Principal::Agent(agent) => format!("agent/{}", agent.name),
        Principal::Server(server) => format!("server/{}", who::server_name(&server.id)),
    }
}
