//! One query in Cedar's form.

use std::collections::HashSet;
use std::sync::Arc;

use cedar_policy_core::ast::{Context, EntityType, EntityUID, EntityUIDEntry, Request};
use cedar_policy_core::entities::Entities as Store;

use crate::policy::members::Members;
use crate::policy::polarity::FLAGS;
use crate::policy::vocabulary::{TYPES, Vocabulary, uid};
use crate::request::{
    Act, Action, Answer, CallTool, ConnectHost, ConnectServer, CreateSample, ElicitForm, ElicitUrl,
    GetPrompt, NetworkWish, Principal, Query, ReadResource, ReviewTools, RunCommand, ServerFacts,
    SignIn, StartServer, ToolFacts, Wish,
};

use super::args::Flat;
use super::build::{
    Entities, FactError, Mentioned, Value, literal, number, reference, text, texts, unfit,
};
use super::steady::Steady;
use super::{ask_back, host, path, remote, shape, sign_in, start, typed, who};

/// In which of the schema's environments a query stands: the types of principal and resource, and
/// the action.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Env {
    pub(crate) principal: EntityType,
    pub(crate) action: EntityUID,
    pub(crate) resource: EntityType,
}

/// A query in Cedar's form, checked against the schema.
pub(crate) struct Judged {
    pub(crate) env: Env,
    pub(crate) resource: EntityUID,
    pub(crate) entities: Store,
    principal: EntityUID,
    /// Without the flags of answers.
    context: Context,
    vocabulary: Arc<Vocabulary>,
}

impl Judged {
    /// Puts the parts of a request together; the entities are checked against the schema.
    pub(super) fn new(
        (principal, action, resource): (EntityUID, EntityUID, EntityUID),
        fields: impl Iterator<Item = (impl AsRef<str>, Value)>,
        (entities, vocabulary): (Entities<'_>, &Arc<Vocabulary>),
    ) -> Result<Self, FactError> {
        let env = Env {
            principal: principal.entity_type().clone(),
            action,
            resource: resource.entity_type().clone(),
        };
        Ok(Self {
            entities: entities.finish(&env.action, vocabulary)?,
            vocabulary: Arc::clone(vocabulary),
            env,
            resource,
            principal,
            context: Context::Value(Arc::new(
                fields
                    .map(|(name, value)| (name.as_ref().into(), value))
                    .collect(),
            )),
        })
    }

    /// The request as it stands with a given answer, checked against the schema.
    pub(crate) fn request(&self, answer: Answer) -> Result<Request, FactError> {
        let request = self.again(answer)?;
        shape::check_request(&request, &self.vocabulary).map_err(unfit("circumstances"))?;
        Ok(request)
    }

    /// The same request with another answer: only three truth values differ from one that was
    /// checked, so it is not checked again.
    pub(crate) fn again(&self, answer: Answer) -> Result<Request, FactError> {
        let Context::Value(mut fields) = self.context.clone() else {
            return Err(FactError::of("circumstances"));
        };
        let flags = FLAGS.iter().zip(answer.flags());
        let flags = flags.map(|(name, flag)| ((*name).into(), literal(flag)));
        Arc::make_mut(&mut fields).extend(flags);
        let known = |name: &EntityUID| EntityUIDEntry::known(name.clone(), None);
        Ok(Request::new_unchecked(
            known(&self.principal),
            known(&self.env.action),
            known(&self.resource),
            Some(Context::Value(fields)),
        ))
    }
}

pub(super) type Fields = Vec<(&'static str, Value)>;

/// What puts a query into Cedar's form, beside the policies.
pub(crate) type Terms<'a> = (&'a Members, &'a Arc<Vocabulary>, &'a Steady);

/// Puts a query into Cedar's form, for policies in this vocabulary.
pub(crate) fn judged(
    query: &Query<'_>,
    mentioned: Mentioned<'_>,
    terms: Terms<'_>,
) -> Result<Judged, FactError> {
    let own = match query.act {
        Act::CallTool(call) => typed::input(terms.1, &call.tool, &call.arguments)?,
        _ => None,
    };
    let own = own.map(|(name, input)| (name, Some(input)));
    put(query, mentioned, terms, own)
}

/// The same, of a call whose arguments are not known: for policies that do not look at them.
pub(crate) fn outlined(
    query: &Query<'_>,
    mentioned: Mentioned<'_>,
    terms: Terms<'_>,
) -> Result<Judged, FactError> {
    let own = match query.act {
        Act::CallTool(call) => terms.1.typed_tool(&call.tool),
        _ => None,
    };
    put(query, mentioned, terms, own.map(|(name, _)| (name, None)))
}

fn put(
    query: &Query<'_>,
    mentioned: Mentioned<'_>,
    (members, vocabulary, steady): Terms<'_>,
    own: Option<(&str, Option<Value>)>,
) -> Result<Judged, FactError> {
    let mut entities = Entities::new((mentioned, members, steady), path::named(&query.act));
    let principal = match query.principal {
        Principal::Agent(agent) => who::add_agent(&mut entities, agent),
        Principal::Server(server) => who::add_server(&mut entities, server),
    };
    let (resource, mut fields) = resource(&mut entities, &query.act)?;
    fields.push(("run", who::run(&mut entities, query.run)?));
    let mut name = action_name(&query.act);
    if let Some((own, input)) = own {
        name = own;
        fields.extend(input.map(|input| ("input", input)));
    }
    let parts = (principal, uid(&TYPES.action, name), resource);
    Judged::new(parts, fields.into_iter(), (entities, vocabulary))
}

fn resource(entities: &mut Entities<'_>, act: &Act<'_>) -> Result<(EntityUID, Fields), FactError> {
    Ok(match *act {
        Act::StartServer(start) => {
            let server = who::add_server(entities, &start.server);
            (server, start::server(entities, start))
        }
        Act::ReviewTools(review) => {
            let server = who::add_server(entities, &review.server);
            (server, tool_list(review))
        }
        Act::Wish(wish) => self::wish(entities, wish),
        Act::Connect(connect) => {
            let listed = match connect.listed {
                true => Listed::Yes,
                false => Listed::No,
            };
            let fields = network_fields(connect.port, listed);
            (host::add(entities, &connect.host), fields)
        }
        Act::ConnectServer(connect, address) => {
            let server = who::add_server(entities, &connect.server);
            (server, remote::server(entities, connect, address)?)
        }
        Act::CallTool(call) => {
            let tool = add_tool(entities, &call.tool);
            (tool, self::call(entities, call))
        }
        Act::ReadResource(read) => (add_resource(entities, read), Vec::new()),
        Act::GetPrompt(get) => prompt(entities, get),
        Act::ElicitForm(form) => ask_back::form(entities, form),
        Act::ElicitUrl(link) => ask_back::link(entities, link),
        Act::CreateSample(sample) => ask_back::sample(entities, sample),
        Act::RunCommand(command) => {
            let program = who::add_program(entities, &command.program);
            (program, start::command(command))
        }
        Act::SignIn(sign_in) => sign_in::sign_in(entities, sign_in),
    })
}

pub(super) fn wish(entities: &mut Entities<'_>, wish: &Wish) -> (EntityUID, Fields) {
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
                ("looks_secret", literal(variable.looks_secret)),
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
        ("listed", literal(listed == Listed::Yes)),
    ]
}

fn tool_list(review: &ReviewTools) -> Fields {
    let names = |names: &[String]| texts(names.iter().map(String::as_str));
    vec![
        ("first_time", literal(review.first_time)),
        ("added", names(&review.added)),
        ("removed", names(&review.removed)),
        ("changed", names(&review.changed)),
        ("flags", names(&review.flags)),
    ]
}

pub(super) fn call(entities: &mut Entities<'_>, call: &CallTool) -> Fields {
    let flat = Flat::of(&call.arguments);
    let names = call.arguments.as_object().map(|object| object.keys());
    let names = texts(names.into_iter().flatten().map(String::as_str));
    let option_like = texts(call.option_like.iter().map(String::as_str));
    // Texts may be large, and mostly no policy looks at them.
    let texts_count = entities.reads("args");
    let tags = flat.texts.into_iter().filter(|_| texts_count);
    let args = entities.add_tagged(&TYPES.args, tags.map(|(name, leaf)| (name, text(leaf))));
    let json = match entities.reads("args_json") {
        true => call.arguments.to_string(),
        false => String::new(),
    };
    let numbers = flat.numbers.into_iter();
    let numbers = numbers.map(|(name, leaf)| (name, literal(leaf)));
    let numbers = entities.add_tagged(&TYPES.numbers, numbers);
    let paths = path::add_arguments(entities, &call.paths);
    vec![
        ("args", args),
        ("numbers", numbers),
        ("arg_names", names),
        ("args_json", text(json)),
        ("args_bytes", number(call.arguments_bytes)),
        ("args_complete", literal(!flat.cut)),
        ("args_valid", literal(call.valid)),
        ("secrets_in_args", literal(call.secrets)),
        ("option_like_args", option_like),
        ("every_path", paths.every),
        ("some_path", paths.some),
        ("arg_paths", paths.by_name),
        ("paths_resolved", paths.resolved),
        ("paths_outside_project", paths.outside),
        ("calls_this_session", number(call.calls_this_session)),
    ]
}

pub(super) fn add_tool(entities: &mut Entities<'_>, tool: &ToolFacts) -> EntityUID {
    let server = who::add_server(entities, &tool.server);
    entities.add_steady(
        |steady| &steady.tools,
        tool,
        || {
            let attributes = [
                ("name", text(tool.name.as_str())),
                ("server", reference(server.clone())),
                ("claims_read_only", literal(tool.claims.read_only)),
                ("claims_destructive", literal(tool.claims.destructive)),
                ("claims_idempotent", literal(tool.claims.idempotent)),
                ("claims_open_world", literal(tool.claims.open_world)),
            ];
            let name = uid(&TYPES.tool, &qualified(&tool.server, &tool.name));
            let above = HashSet::from([server, who::source_of(&tool.server)]);
            (name, attributes, above)
        },
    )
}

pub(super) fn add_resource(entities: &mut Entities<'_>, read: &ReadResource) -> EntityUID {
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

pub(super) fn prompt(entities: &mut Entities<'_>, get: &GetPrompt) -> (EntityUID, Fields) {
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
        Act::ConnectServer(..) => ConnectServer::NAME,
        Act::CallTool(_) => CallTool::NAME,
        Act::ReadResource(_) => ReadResource::NAME,
        Act::GetPrompt(_) => GetPrompt::NAME,
        Act::ElicitForm(_) => ElicitForm::NAME,
        Act::ElicitUrl(_) => ElicitUrl::NAME,
        Act::CreateSample(_) => CreateSample::NAME,
        Act::RunCommand(_) => RunCommand::NAME,
        Act::SignIn(_) => SignIn::NAME,
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
        Act::ConnectServer(connect, _) => who::server_name(&connect.server.id),
        Act::CallTool(call) => qualified(&call.tool.server, &call.tool.name),
        Act::ReadResource(read) => qualified(&read.server, &read.uri),
        Act::GetPrompt(get) => qualified(&get.server, &get.name),
        Act::ElicitForm(form) => form.user.clone(),
        Act::ElicitUrl(link) => link.host.to_string(),
        Act::CreateSample(sample) => sample.model.name.clone(),
        Act::RunCommand(command) => command.program.path.clone(),
        Act::SignIn(sign_in) => sign_in.issuer.clone(),
    }
}

/// Who acts, as text: `agent/claude-code`, `server/user/files`.
pub(crate) fn principal_name(query: &Query<'_>) -> String {
    match query.principal {
        Principal::Agent(agent) => format!("agent/{}", agent.name),
        Principal::Server(server) => format!("server/{}", who::server_name(&server.id)),
    }
}
