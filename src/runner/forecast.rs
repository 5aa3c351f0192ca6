//! What would be decided, without doing it: the same facts, the same store, the same `evaluate`.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::audit::{AuditError, AuditSink, Event, Receipt};
use crate::digest::Digest;
use crate::enforce::{Line, call, prepare};
use crate::grant::Network;
use crate::policy::{Explanation, PolicyOutcome, VerdictPart};
use crate::request::{
    Action, Agent, Answer, Because, CallTool, Confinee, ConnectHost, DenyAll, HostRule, Layer, Pin,
    PinKind, ToolClaims, ToolFacts, Trigger,
};

use super::beginning::Beginning;
use super::error::{Error, ErrorKind};
use super::policies::Policies;
use super::policy_files::PolicyFiles;
use super::workspace::Workspace;

/// What would be decided about one request.
#[derive(Clone, Debug, Serialize)]
pub struct Forecast {
    /// The Cedar action.
    pub action: String,
    /// On what: `user/files`, `user/files/read_text_file`.
    pub resource: String,
    /// Allow, ask (and the longest-lived answer that suffices), or deny.
    pub outcome: PolicyOutcome,
    /// The answer on file that was used.
    pub held: Answer,
    /// The deciding policies.
    pub because: Vec<Because>,
    /// Each part: the start itself, then its grants one by one.
    pub parts: Vec<VerdictPart>,
    /// What the store in shadow, or a candidate, would decide where that is something else, in the
    /// whole or in a part.
    pub shadow: Option<Shadow>,
    /// What could not be known without doing it.
    pub notes: Vec<String>,
}

/// What another store would decide.
#[derive(Clone, Debug, Serialize)]
pub struct Shadow {
    /// The outcome.
    pub outcome: PolicyOutcome,
    /// The deciding policies.
    pub because: Vec<Because>,
    /// Each part, in the order of the forecast's.
    pub parts: Vec<VerdictPart>,
}

/// A sink that records nothing, so that nothing can be permitted through it.
#[derive(Debug)]
struct NoRecord;

impl AuditSink for NoRecord {
    fn append(&self, _event: &Event) -> Result<Receipt, AuditError> {
        Err(AuditError {
            what: "a dry run records nothing and permits nothing".to_owned(),
            source: None,
        })
    }
}

impl Workspace {
    /// The line of a dry run: with the real pins and answers, without a record.
    pub(super) fn dry_line(&self) -> Result<Line, Error> {
        let ledger = self.ledger()?;
        let line = self.line_of(
            self.policies.store.clone(),
            Arc::new(NoRecord),
            (Arc::new(DenyAll), ledger),
            Trigger::Agent,
        )?;
        line.point.shadow().replace(self.policies.shadow.clone());
        Ok(line)
    }

    /// Puts other policies beside those in force, in the place of those of the same layers: forecasts
    /// then say where they would decide otherwise.
    ///
    /// # Errors
    /// When the others cannot be used.
    pub fn compare_with(&mut self, candidate: &PolicyFiles) -> Result<(), Error> {
        let layers = candidate.layers();
        let mut parts = self.policies.parts.clone();
        parts.sources.retain(|file| !layers.contains(&file.layer));
        parts.locks.retain(|file| !layers.contains(&file.layer));
        parts.locks.extend(candidate.parts.locks.iter().cloned());
        if layers.contains(&Layer::Org) {
            parts.members.clear();
            parts.switched_off.clear();
        }
        parts
            .sources
            .extend(candidate.parts.sources.iter().cloned());
        parts
            .members
            .extend(candidate.parts.members.iter().cloned());
        parts
            .switched_off
            .extend(candidate.parts.switched_off.iter().cloned());
        self.policies.shadow = Some(Policies::of_parts(parts).into_store()?);
        Ok(())
    }

    /// What would be decided about starting a configured server, grant by grant.
    ///
    /// # Errors
    /// When there is no such server, or its program cannot be found.
    pub fn forecast_start(&self, server: &str, agent: &Agent) -> Result<Forecast, Error> {
        let line = self.dry_line()?;
        let (beginning, notes) = self.beginning(&line, server)?;
        self.forecast_beginning(&line, agent, &beginning, notes)
    }

    pub(super) fn forecast_beginning(
        &self,
        line: &Line,
        agent: &Agent,
        beginning: &Beginning,
        notes: Vec<String>,
    ) -> Result<Forecast, Error> {
        match beginning {
            Beginning::Start(start) => self.forecast(line, agent, start.as_ref(), notes),
            Beginning::Connection(connect, _) => {
                self.forecast(line, agent, connect.as_ref(), notes)
            }
        }
    }

    /// What would be decided about calling a tool of a configured server.
    ///
    /// # Errors
    /// As [`Workspace::forecast_start`]; also when the arguments are no object.
    pub fn forecast_call(
        &self,
        (server, tool): (&str, &str),
        arguments: &Value,
        agent: &Agent,
    ) -> Result<Forecast, Error> {
        let line = self.dry_line()?;
        let (action, notes) = self.call_action(&line, (server, tool), arguments)?;
        self.forecast(&line, agent, &action, notes)
    }

    /// What would be decided about a connection of a configured server to a host (`api.example.com`, or
    /// with its port).
    ///
    /// # Errors
    /// As [`Workspace::forecast_start`]; also when the text names no host.
    pub fn forecast_connect(
        &self,
        (server, host): (&str, &str),
        agent: &Agent,
    ) -> Result<Forecast, Error> {
        let line = self.dry_line()?;
        let (action, notes) = self.connect_action(&line, (server, host), agent)?;
        self.forecast(&line, agent, &action, notes)
    }

    /// The same as [`Workspace::forecast_start`], policy by policy and clause by clause.
    ///
    /// # Errors
    /// As [`Workspace::forecast_start`].
    pub fn explain_start(&self, server: &str, agent: &Agent) -> Result<Explanation, Error> {
        let line = self.dry_line()?;
        match self.beginning(&line, server)?.0 {
            Beginning::Start(start) => self.explain(&line, agent, start.as_ref()),
            Beginning::Connection(connect, _) => self.explain(&line, agent, connect.as_ref()),
        }
    }

    /// The same as [`Workspace::forecast_call`], policy by policy and clause by clause.
    ///
    /// # Errors
    /// As [`Workspace::forecast_call`].
    pub fn explain_call(
        &self,
        tool: (&str, &str),
        arguments: &Value,
        agent: &Agent,
    ) -> Result<Explanation, Error> {
        let line = self.dry_line()?;
        let (action, _) = self.call_action(&line, tool, arguments)?;
        self.explain(&line, agent, &action)
    }

    /// The same as [`Workspace::forecast_connect`], policy by policy and clause by clause.
    ///
    /// # Errors
    /// As [`Workspace::forecast_connect`].
    pub fn explain_connect(&self, host: (&str, &str), agent: &Agent) -> Result<Explanation, Error> {
        let line = self.dry_line()?;
        let (action, _) = self.connect_action(&line, host, agent)?;
        self.explain(&line, agent, &action)
    }

    fn connect_action(
        &self,
        line: &Line,
        (server, text): (&str, &str),
        agent: &Agent,
    ) -> Result<(ConnectHost, Vec<String>), Error> {
        let rule = text.parse::<HostRule>().ok();
        let Some((host, port)) = rule.and_then(|rule| rule.target()) else {
            return Err(Error::new(
                ErrorKind::Usage,
                "a host is `api.example.com`, or with its port `api.example.com:8443`",
            ));
        };
        let definition = self.definition(server)?;
        if definition.remote.is_some() {
            let why =
                "a remote server runs on another machine: what it reaches is not decided here";
            return Err(Error::new(ErrorKind::Usage, why));
        }
        let start = prepare::prepare(line, definition)?.action;
        let run = line.run();
        let (_, held) = line.point.weigh(line.asking(agent, &run), &start)?;
        let listed = definition.hosts.iter().any(|rule| rule.covers(&host, port));
        let mut notes = vec!["the addresses of a name are judged when it is looked up".to_owned()];
        if definition.network != Network::Hosts {
            notes.push(
                "its entry asks for no hosts, so it has no proxy to connect through".to_owned(),
            );
        }
        let action = ConnectHost {
            confinee: Confinee::Server(Box::new(start.server)),
            host,
            port,
            listed,
            covered: if listed { held } else { Answer::None },
        };
        Ok((action, notes))
    }

    fn call_action(
        &self,
        line: &Line,
        (server, tool): (&str, &str),
        arguments: &Value,
    ) -> Result<(CallTool, Vec<String>), Error> {
        if !arguments.is_object() {
            return Err(Error::new(
                ErrorKind::Usage,
                "the arguments of a tool are a JSON object, such as {\"path\": \"docs/a.md\"}",
            ));
        }
        let (beginning, _) = self.beginning(line, server)?;
        call_of(line, &beginning, tool, arguments)
    }

    pub(super) fn forecast<A: Action>(
        &self,
        line: &Line,
        agent: &Agent,
        action: &A,
        notes: Vec<String>,
    ) -> Result<Forecast, Error> {
        let run = line.run();
        let (verdict, held) = line.point.weigh(line.asking(agent, &run), action)?;
        let resource = verdict.parts.first().map(|part| part.0.clone());
        let shadow = line
            .point
            .shadow()
            .store()
            .map(|shadow| shadow.evaluate_all(&action.queries(agent, &run), held));
        let outcomes = |parts: &[VerdictPart]| parts.iter().map(|part| part.1).collect::<Vec<_>>();
        let shadow = shadow.filter(|would| outcomes(&would.parts) != outcomes(&verdict.parts));
        Ok(Forecast {
            shadow: shadow.map(|would| Shadow {
                outcome: would.outcome,
                because: would.because,
                parts: would.parts,
            }),
            action: A::NAME.to_owned(),
            resource: resource.unwrap_or_default(),
            outcome: verdict.outcome,
            held,
            because: verdict.because,
            parts: verdict.parts,
            notes,
        })
    }

    fn explain<A: Action>(
        &self,
        line: &Line,
        agent: &Agent,
        action: &A,
    ) -> Result<Explanation, Error> {
        let run = line.run();
        let (_, held) = line.point.weigh(line.asking(agent, &run), action)?;
        let queries = action.queries(agent, &run);
        Ok(line.point.store().explain(&queries, held))
    }
}

/// A call of a tool of a server that would start like this, and what is not known about it.
pub(super) fn call_of(
    line: &Line,
    beginning: &Beginning,
    tool: &str,
    arguments: &Value,
) -> Result<(CallTool, Vec<String>), Error> {
    let mut notes = vec![
        "the arguments count as fitting the tool's schema, which only the running server tells"
            .to_owned(),
    ];
    let pinned = line
        .point
        .ledger()
        .pin(PinKind::Tools, &beginning.server().subject)
        .map_err(|e| Error::caused(ErrorKind::Io, e.to_string(), e))?
        .filter(|list| list.lasting);
    let digest = pinned.as_ref().and_then(|pin| pin.parts.get(tool).copied());
    if digest.is_none() {
        notes.push("this tool was never listed here, so no answer on file can match".to_owned());
    }
    let mut facts = beginning.server().clone();
    facts.tools_pin = if pinned.is_some() {
        Pin::Matched
    } else {
        Pin::Unpinned
    };
    if let Some(list) = &pinned {
        facts.tools = list.digest;
    }
    if !beginning.is_agreed() {
        notes.push("the server itself still has to be agreed to".to_owned());
    }
    // A running server has been agreed to.
    facts.pin = beginning.pin_once_agreed();
    let mut tool = ToolFacts {
        server: facts,
        name: tool.to_owned(),
        digest: digest.unwrap_or_else(|| Digest::of(tool)),
        claims: ToolClaims::default(),
    };
    if let (None, Some(locked)) = (digest, line.point.store().locked(&tool)) {
        tool.digest = locked;
        notes.push("it counts as the tool that was locked for the policies".to_owned());
    }
    let bases = beginning.bases(line);
    let action = call::describe(line, (tool, true), arguments.clone(), &bases);
    Ok((action, notes))
}
