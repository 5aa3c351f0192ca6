//! One agent's session: what it starts and runs, decided in its name.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::decision::{Decision, Permit};
use crate::digest::Digest;
use crate::enforce::{Line, StartError, call, command, launch, present};
use crate::policy::PolicySet;
use crate::request::{
    Action, Agent, Asked, CallTool, Pin, ServerFacts, ServerId, Source, ToolClaims, ToolFacts,
    Transport,
};

use super::effect::Effect;
use super::error::{Error, ErrorKind};
use super::server::RunningServer;
use super::spec::{CommandExit, CommandSpec, ServerSpec};

/// How long a server may take to start and list its tools.
const START_LIMIT: Duration = Duration::from_secs(30);

/// One agent's session.
#[derive(Clone, Debug)]
pub struct Session {
    line: Arc<Line>,
    agent: Agent,
}

impl Session {
    pub(super) fn new(line: Arc<Line>, agent: Agent) -> Self {
        Self { line, agent }
    }

    /// Starts a server in the sandbox, once policy (and a person, where policy says so) agrees.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] or [`ErrorKind::NeedsAnswer`] when it may not start;
    /// [`ErrorKind::Sandbox`] when it cannot be confined; [`ErrorKind::Server`] when it does not
    /// answer as an MCP server.
    pub async fn start(&self, spec: ServerSpec) -> Result<RunningServer, Error> {
        self.start_definition(&spec.into_definition()).await
    }

    pub(super) async fn start_definition(
        &self,
        definition: &crate::config::ServerDefinition,
    ) -> Result<RunningServer, Error> {
        let started = launch::start(&self.line, &self.agent, definition, START_LIMIT).await?;
        Ok(RunningServer::new(
            Arc::clone(&self.line),
            self.agent.clone(),
            started,
        ))
    }

    /// Runs a command in the sandbox, with this process's standard streams, and waits for its end.
    ///
    /// # Errors
    /// As [`Session::start`].
    pub async fn run(&self, spec: &CommandSpec) -> Result<CommandExit, Error> {
        let exit = command::run(&self.line, &self.agent, spec.command()).await?;
        Ok(CommandExit {
            code: exit.code,
            signal: exit.signal,
            limit: exit.limit,
        })
    }

    /// A call of a tool that the host program carries out itself. Policies know it as
    /// `Tool::"user/<set>/<tool>"`, with the same facts as the tool of a server; it runs in no sandbox.
    ///
    /// # Errors
    /// When the arguments are no object.
    pub fn own_call(&self, (set, tool): (&str, &str), arguments: Value) -> Result<CallTool, Error> {
        if !arguments.is_object() {
            return Err(Error::new(
                ErrorKind::Usage,
                "the arguments of a tool are a JSON object, such as {\"path\": \"docs/a.md\"}",
            ));
        }
        let id = ServerId::new(Source::User, set);
        let itself = Digest::of_fields("own-tools/1", [set]);
        let tool = ToolFacts {
            server: ServerFacts {
                subject: id.to_string(),
                itself,
                tools: itself,
                id,
                transport: Transport::InProcess,
                pin: Pin::Unpinned,
                tools_pin: Pin::Unpinned,
                sandboxed: false,
            },
            name: tool.to_owned(),
            digest: Digest::of_fields("own-tool/1", [set, tool]),
            claims: ToolClaims::default(),
        };
        let bases = [self.line.ground.base().to_path_buf()];
        Ok(call::describe(&self.line, (tool, true), arguments, &bases))
    }

    /// Decides a call that the host program carries out itself; a person who is asked sees it in full.
    ///
    /// # Errors
    /// As [`Session::decide`].
    pub async fn decide_call(&self, call: CallTool) -> Result<Decision<CallTool>, Error> {
        let asked = present::call(&call);
        self.decide(call, asked).await
    }

    /// Spends a permit on an effect that the host program carries out itself, at once.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] when other policies came into force and made the permit void.
    pub fn spend<A: Action>(&self, permit: Permit<A>) -> Result<Effect<A>, Error> {
        let permitted = self.line.point.redeem(permit)?;
        Ok(Effect::new(Arc::clone(&self.line), permitted))
    }

    /// Ends this run: its end goes on record, and the audit log is on the disk when this returns.
    /// Dropping the last handle does the same, but can report no failure.
    ///
    /// # Errors
    /// When the end cannot be recorded.
    pub fn end(self) -> Result<(), Error> {
        self.line
            .point
            .end("done")
            .map_err(|e| Error::caused(ErrorKind::Audit, e.to_string(), e))
    }

    /// Puts other policies in force for this session and what it started. A permit that they would
    /// not give is void; a connection out of a sandbox that they would not allow ends.
    pub fn replace_policies(&self, policies: PolicySet) {
        self.line.point.replace_store(policies);
        self.line.outlets.cut();
    }

    /// Decides an action without carrying it out: for programs that act themselves. What the person
    /// would be shown is `asked`.
    ///
    /// # Errors
    /// When the decision cannot be taken or recorded. A denial is no error but an answer.
    pub async fn decide<A: Action>(&self, action: A, asked: Asked) -> Result<Decision<A>, Error> {
        let run = self.line.run();
        let asking = self.line.asking(&self.agent, &run);
        Ok(self
            .line
            .point
            .decide(asking, action, move |_| asked)
            .await?)
    }
}

impl From<StartError> for Error {
    fn from(error: StartError) -> Self {
        let text = error.to_string();
        match error {
            StartError::Denied(denial) => denial.into(),
            StartError::Decision(error) => error.into(),
            StartError::Program(_) | StartError::Path(_) => Self::new(ErrorKind::Usage, text),
            StartError::Plan(_)
            | StartError::Spawn(_)
            | StartError::Proxy(_)
            | StartError::Changed(_) => Self::new(ErrorKind::Sandbox, text),
            StartError::Handshake { .. } | StartError::Remote(_) | StartError::SignIn { .. } => {
                Self::new(ErrorKind::Server, text)
            }
        }
    }
}

impl From<call::CallError> for Error {
    fn from(error: call::CallError) -> Self {
        let text = error.to_string();
        match error {
            call::CallError::Denied(denial) => denial.into(),
            call::CallError::Decision(error) => error.into(),
            call::CallError::Inexact => Self::new(ErrorKind::Usage, text),
            call::CallError::Upstream(..) => Self::new(ErrorKind::Server, text),
            call::CallError::Unrecorded(_) => Self::new(ErrorKind::Audit, text),
        }
    }
}
