//! One agent's session: what it starts and runs, decided in its name.

use std::sync::Arc;
use std::time::Duration;

use crate::decision::Decision;
use crate::enforce::launch::{self, StartError};
use crate::enforce::{Line, call, command};
use crate::request::{Action, Agent, Asked};

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
        })
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
            .decide(asking, action, move || asked)
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
            StartError::Plan(_) | StartError::Spawn(_) | StartError::Changed(_) => {
                Self::new(ErrorKind::Sandbox, text)
            }
            StartError::Handshake { .. } => Self::new(ErrorKind::Server, text),
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
            call::CallError::Upstream(_) => Self::new(ErrorKind::Server, text),
            call::CallError::Unrecorded(_) => Self::new(ErrorKind::Audit, text),
        }
    }
}
