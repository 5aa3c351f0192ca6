//! A running, confined server as an embedding program sees it.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::audit::EventKind;
use crate::clean;
use crate::enforce::{Line, Server, Tool, call, reply, tools};
use crate::grant::Confinement;
use crate::protocol::json::Json;
use crate::protocol::mcp::Listing;
use crate::request::Agent;
use crate::transport::{CallOptions, UpstreamEvent, UpstreamEvents};

use super::error::{Error, ErrorKind};

/// A tool as it is offered.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSummary {
    /// Its true name.
    pub name: String,
    /// Its description, cleaned, marked as coming from its server.
    pub description: String,
    /// Its input schema, cleaned.
    pub input_schema: Value,
}

/// What a tool answered, cleaned.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolReply {
    result: Json,
}

impl ToolReply {
    /// Its text; other blocks are a short note.
    #[must_use]
    pub fn text(&self) -> String {
        reply::text_of(&self.result)
    }

    /// Whether the tool says that it failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        reply::is_error(&self.result)
    }

    /// The whole result.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.result.to_value().value
    }
}

/// A running server. Dropping it kills it; [`RunningServer::shutdown`] ends it in order.
#[derive(Debug)]
pub struct RunningServer {
    line: Arc<Line>,
    agent: Agent,
    server: Server,
    events: Mutex<UpstreamEvents>,
}

impl RunningServer {
    pub(super) fn new(
        line: Arc<Line>,
        agent: Agent,
        (server, events): (Server, UpstreamEvents),
    ) -> Self {
        Self {
            line,
            agent,
            server,
            events: Mutex::new(events),
        }
    }

    /// What its sandbox holds.
    #[must_use]
    pub fn confinement(&self) -> &Confinement {
        &self.server.confinement
    }

    /// The tools in use.
    #[must_use]
    pub fn tools(&self) -> Vec<ToolSummary> {
        let name = &self.server.id().name;
        let book = self.server.tools();
        book.offered.iter().map(|t| summary(name, t)).collect()
    }

    /// Tools that are left out, each with the reason.
    #[must_use]
    pub fn left_out(&self) -> Vec<(String, String)> {
        self.server.tools().left_out
    }

    /// Calls a tool: decided, recorded, cleaned.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] or [`ErrorKind::NeedsAnswer`] when it is not allowed;
    /// [`ErrorKind::Server`] when the server fails; [`ErrorKind::Audit`] when it cannot be recorded.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<ToolReply, Error> {
        self.catch_up().await?;
        let book = self.server.tools();
        let Some(found) = book.offered.iter().find(|offered| offered.name() == tool) else {
            return Err(self.missing(tool, &book.left_out));
        };
        let limit = std::time::Duration::from_millis(self.server.definition.timeout_ms);
        let result = call::call(
            &self.line,
            &self.agent,
            (&self.server, found),
            &Json::from_value(&arguments),
            CallOptions::within(limit),
        )
        .await?;
        Ok(ToolReply { result })
    }

    /// Ends the server: closes its input, waits, then kills what is left of its tree.
    ///
    /// # Errors
    /// When its end cannot be put on record.
    pub async fn shutdown(self) -> Result<(), Error> {
        let exit = self.server.shutdown().await.map(|exit| exit.to_string());
        let noted = self.line.point.note(EventKind::Note {
            name: "server-stopped".to_owned(),
            details: json!({
                "server": self.server.id().to_string(),
                "started_by": self.server.started_by(),
                "exit": exit,
            }),
        });
        noted
            .map(drop)
            .map_err(|e| Error::caused(ErrorKind::Audit, e.to_string(), e))
    }

    /// Heeds what the server said since the last call: a changed tool list above all.
    async fn catch_up(&self) -> Result<(), Error> {
        let mut events = self.events.lock().await;
        while let Some(event) = events.try_next() {
            if event == UpstreamEvent::Changed(Listing::Tools) {
                tools::review(&self.line, &self.agent, &self.server)
                    .await
                    .map_err(|error| Error::new(ErrorKind::Server, error.to_string()))?;
            }
        }
        Ok(())
    }

    fn missing(&self, tool: &str, left_out: &[(String, String)]) -> Error {
        let name = clean::line(tool, 100);
        match left_out.iter().find(|(left, _)| left == tool) {
            Some((_, why)) => Error::new(
                ErrorKind::Denied,
                format!("the tool `{name}` is held back: {}", clean::line(why, 400)),
            ),
            None => Error::new(
                ErrorKind::Usage,
                format!("the server {} has no tool `{name}`", self.server.id()),
            ),
        }
    }
}

fn summary(server: &str, tool: &Tool) -> ToolSummary {
    let description = tool.offered.raw.get("description").and_then(Json::as_str);
    let mut schema = tool
        .offered
        .raw
        .get("inputSchema")
        .cloned()
        .unwrap_or(Json::Null);
    reply::clean_strings(&mut schema);
    ToolSummary {
        name: tool.name().to_owned(),
        description: clean::description(server, description.unwrap_or_default()),
        input_schema: schema.to_value().value,
    }
}
