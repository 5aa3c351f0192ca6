//! Calling a tool, reading a resource, getting a prompt: what the agent asks of a running server.
//! An answer about any of them holds for the server as it was then: with another definition or
//! program (or, where that cannot be pinned, in another folder) the question comes again. "The tool"
//! also ends with another description or schema of it, "all tools" with any change of the list.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;

use super::act::{Act, Action, Holding, Key, Query, Run};
use super::path::PathFacts;
use super::principal::{Agent, Principal, ServerFacts};

/// The file beside policies that knows the tools which they name as actions.
pub(crate) const TOOL_LOCK: &str = "tools.lock.json";

/// What a server says about its own tool. Never believed, only shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolClaims {
    /// `readOnlyHint`.
    pub read_only: bool,
    /// `destructiveHint`.
    pub destructive: bool,
    /// `idempotentHint`.
    pub idempotent: bool,
    /// `openWorldHint`.
    pub open_world: bool,
}

/// One tool of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFacts {
    /// The server.
    pub server: ServerFacts,
    /// The tool's true name, as the server gives it.
    pub name: String,
    /// Digest of its raw definition (description and schemas).
    pub digest: Digest,
    /// What the server claims.
    pub claims: ToolClaims,
}

/// A string argument that names a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgPath {
    /// Which argument, flattened: `path`, `files.0`.
    pub arg: String,
    /// Where it leads on this machine; `None` when it cannot be resolved.
    pub path: Option<PathFacts>,
}

/// Calls a tool with these arguments. Cedar action `tool.call`.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTool {
    /// The tool.
    pub tool: ToolFacts,
    /// The arguments as parsed: what is judged and what is sent.
    pub arguments: Value,
    /// Canonical digest of the arguments.
    pub arguments_digest: Digest,
    /// Size of the arguments as JSON, in bytes.
    pub arguments_bytes: u64,
    /// Whether they fit the tool's own input schema.
    pub valid: bool,
    /// Whether known secrets or key material stand in them.
    pub secrets: bool,
    /// The arguments that name paths, resolved.
    pub paths: Vec<ArgPath>,
    /// Arguments (flattened names) whose text begins with a dash.
    pub option_like: Vec<String>,
    /// Calls of this tool so far in this session.
    pub calls_this_session: u64,
}

impl Action for CallTool {
    const NAME: &'static str = "tool.call";

    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
        vec![Query::new(
            agent,
            Principal::Agent(agent),
            Act::CallTool(self),
            run,
        )]
    }

    fn keys(&self, agent: &Agent) -> Vec<Key> {
        let tool = format!("{}/{}", self.tool.server.id, self.tool.name);
        let key = |resource: String, fingerprint: Digest, scope: String, holding: Holding| Key {
            action: Self::NAME,
            principal: agent.name.clone(),
            resource,
            fingerprint,
            scope,
            holding,
        };
        let itself = self.tool.server.itself.to_string();
        let exact = Digest::of_fields(
            "tool.call/2",
            [
                itself.clone(),
                self.tool.digest.to_string(),
                self.arguments_digest.to_string(),
            ],
        );
        let server = self.tool.server.id.to_string();
        vec![
            key(tool.clone(), exact, "this call".to_owned(), Holding::Each),
            key(
                tool.clone(),
                Digest::of_fields("tool/2", [itself.clone(), self.tool.digest.to_string()]),
                format!("the tool {tool}"),
                Holding::Latest,
            ),
            key(
                server.clone(),
                Digest::of_fields(
                    "server-tools/2",
                    [itself, self.tool.server.tools.to_string()],
                ),
                format!("all tools of {server} as they are now"),
                Holding::Latest,
            ),
        ]
    }
}

/// Reads a server's resource. Cedar action `resource.read`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadResource {
    /// The server.
    pub server: ServerFacts,
    /// The resource's URI, as given.
    pub uri: String,
}

impl Action for ReadResource {
    const NAME: &'static str = "resource.read";

    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
        vec![Query::new(
            agent,
            Principal::Agent(agent),
            Act::ReadResource(self),
            run,
        )]
    }

    fn keys(&self, agent: &Agent) -> Vec<Key> {
        vec![Key {
            action: Self::NAME,
            principal: agent.name.clone(),
            resource: format!("{}/{}", self.server.id, self.uri),
            fingerprint: Digest::of_fields(
                "resource.read/2",
                [&self.server.itself.to_string(), &self.uri],
            ),
            scope: "this resource".to_owned(),
            holding: Holding::Latest,
        }]
    }
}

/// Gets a server's prompt. Cedar action `prompt.get`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetPrompt {
    /// The server.
    pub server: ServerFacts,
    /// The prompt's name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<(String, String)>,
}

impl Action for GetPrompt {
    const NAME: &'static str = "prompt.get";

    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
        vec![Query::new(
            agent,
            Principal::Agent(agent),
            Act::GetPrompt(self),
            run,
        )]
    }

    fn keys(&self, agent: &Agent) -> Vec<Key> {
        let itself = self.server.itself.to_string();
        let arguments = self
            .arguments
            .iter()
            .flat_map(|(name, value)| [name.as_str(), value.as_str()]);
        let fields = [itself.as_str(), self.name.as_str()]
            .into_iter()
            .chain(arguments);
        vec![Key {
            action: Self::NAME,
            principal: agent.name.clone(),
            resource: format!("{}/{}", self.server.id, self.name),
            fingerprint: Digest::of_fields("prompt.get/2", fields),
            scope: "this prompt with these arguments".to_owned(),
            holding: Holding::Each,
        }]
    }
}
