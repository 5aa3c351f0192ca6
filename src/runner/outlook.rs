//! What would be decided about all that one configured server asks for: its start, its grants one by
//! one, and its tools as far as they are known here.

use serde::Serialize;
use serde_json::json;

use crate::enforce::Line;
use crate::request::{Agent, PinKind, ServerFacts};

use super::error::{Error, ErrorKind};
use super::forecast::{Forecast, call_of};
use super::workspace::Workspace;

/// What would be decided about one configured server.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Outlook {
    /// The server's identity, `user/files`.
    pub server: String,
    /// The program that would be started; of a remote server its origin.
    pub program: String,
    /// The command line as it would be started, or the address; secrets masked.
    pub command: String,
    /// Whether its entry is in use.
    pub enabled: bool,
    /// Its start, with its grants as parts.
    #[serde(flatten)]
    pub start: Forecast,
    /// Calls of its tools.
    pub tools: Vec<ToolOutlook>,
}

/// What would be decided about calling one tool without arguments.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ToolOutlook {
    /// The tool's own name; `None` stands for any that was never listed here.
    pub tool: Option<String>,
    /// The call.
    #[serde(flatten)]
    pub call: Forecast,
}

/// A name that stands for tools that nobody knows yet: no policy names it.
const UNLISTED: &str = "*";

impl Workspace {
    /// What would be decided about a configured server: its start, each of its grants, and a call of
    /// each tool that it listed here before, and of one that it did not.
    ///
    /// # Errors
    /// When there is no such server, its program cannot be found, or pins cannot be read.
    pub fn outlook(&self, server: &str, agent: &Agent) -> Result<Outlook, Error> {
        let line = self.dry_line()?;
        let definition = self.definition(server)?;
        let (beginning, notes) = self.beginning(&line, server)?;
        let start = self.forecast_beginning(&line, agent, &beginning, notes)?;
        let mut tools = Vec::new();
        let listed = listed(&line, beginning.server())?;
        for tool in listed.into_iter().map(Some).chain([None]) {
            let name = tool.as_deref().unwrap_or(UNLISTED);
            let (call, notes) = call_of(&line, &beginning, name, &json!({}))?;
            tools.push(ToolOutlook {
                tool,
                call: self.forecast(&line, agent, &call, notes)?,
            });
        }
        Ok(Outlook {
            server: definition.id.to_string(),
            command: beginning.command(),
            program: beginning.program(),
            enabled: definition.enabled,
            start,
            tools,
        })
    }
}

/// The tools of the list that was last agreed to.
fn listed(line: &Line, server: &ServerFacts) -> Result<Vec<String>, Error> {
    let ledger = line.point.ledger();
    let pin = ledger.pin(PinKind::Tools, &server.subject);
    let pin = pin.map_err(|e| Error::caused(ErrorKind::Io, e.to_string(), e))?;
    Ok(pin.map_or_else(Vec::new, |pin| pin.parts.into_keys().collect()))
}
