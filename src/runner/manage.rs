//! Servers of the configuration: what they are, adding, removing, agreeing to, forgetting.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use crate::audit::EventKind;
use crate::clean;
use crate::config::ServerDefinition;
use crate::disk::settings::{self, Files};
use crate::enforce::{Line, StartError, prepare, remote};
use crate::grant::Network;
use crate::request::{Approver, HostRule, PinKind, Source, Trigger};

use super::error::{Error, ErrorKind};
use super::session::Session;
use super::workspace::Workspace;

/// A configured server as `creance server list` shows it.
#[derive(Clone, Debug, Serialize)]
pub struct ServerReport {
    /// Its identity, `user/files`.
    pub id: String,
    /// Where it is defined, `file:line`.
    pub origin: String,
    /// Its command line, or the address of a remote server; values of variables are not part of it.
    pub command: String,
    /// `none`, `whole`, or the hosts that it asks for; for a remote server how it is spoken to.
    pub network: String,
    /// Whether it is switched on.
    pub enabled: bool,
    /// `agreed`, `never agreed to`, `changed since it was agreed to`, or why it cannot start.
    pub state: String,
    /// Why its program cannot be pinned, when it cannot.
    pub unpinned: Option<String>,
    /// How many tools were agreed to.
    pub tools: usize,
}

impl Workspace {
    /// The configured servers with what is on file about them.
    ///
    /// # Errors
    /// When pins cannot be read.
    pub fn servers(&self) -> Result<Vec<ServerReport>, Error> {
        let line = self.dry_line()?;
        let ledger = self.ledger()?;
        let mut reports = Vec::new();
        for definition in &self.servers {
            let id = definition.id.to_string();
            let tools = ledger
                .pin(PinKind::Tools, &self.ground.subject(&definition.id))
                .map_err(|e| Error::caused(ErrorKind::Io, e.to_string(), e))?
                .map_or(0, |pin| pin.parts.len());
            let (state, unpinned) = standing(&line, definition);
            reports.push(ServerReport {
                id,
                origin: definition.origin.to_string(),
                command: command(definition),
                network: network(definition),
                enabled: definition.enabled,
                state,
                unpinned,
                tools,
            });
        }
        Ok(reports)
    }

    /// Adds a server to the user's configuration file. Returns the file, and what is still missing
    /// for the server to start (a variable that is not set).
    ///
    /// # Errors
    /// When the name is taken, or the file cannot be written; nothing is then changed.
    pub fn add_server(
        &self,
        name: &str,
        command: &[String],
        env: &BTreeMap<String, String>,
        (network, hosts): (Network, &[HostRule]),
    ) -> Result<(String, Option<String>), Error> {
        let Some((program, args)) = command.split_first() else {
            return Err(Error::new(ErrorKind::Usage, "a server needs a command"));
        };
        let mut entry = json!({"command": program});
        if let Some(members) = entry.as_object_mut() {
            if !args.is_empty() {
                members.insert("args".to_owned(), json!(args));
            }
            if !env.is_empty() {
                members.insert("env".to_owned(), json!(env));
            }
            if network == Network::Whole {
                members.insert("network".to_owned(), json!(true));
            } else if !hosts.is_empty() {
                members.insert("network".to_owned(), json!(hosts));
            }
        }
        self.add_entry(name, &entry)
    }

    /// Adds a remote server to the user's configuration file, as [`Workspace::add_server`] does.
    ///
    /// # Errors
    /// As there.
    pub fn add_remote_server(
        &self,
        name: &str,
        url: &str,
        (kind, headers): (Option<&str>, &BTreeMap<String, String>),
    ) -> Result<(String, Option<String>), Error> {
        let mut entry = json!({"url": url});
        if let Some(members) = entry.as_object_mut() {
            if let Some(kind) = kind {
                members.insert("type".to_owned(), json!(kind));
            }
            if !headers.is_empty() {
                members.insert("headers".to_owned(), json!(headers));
            }
        }
        self.add_entry(name, &entry)
    }

    fn add_entry(
        &self,
        name: &str,
        entry: &serde_json::Value,
    ) -> Result<(String, Option<String>), Error> {
        let file = self.user_file();
        let said = settings::add(&file, name, entry, &self.ground.environment)
            .map_err(|e| Error::caused(ErrorKind::Config, e.to_string(), e))?;
        let said = said.map(|problem| clean::line(&problem.to_string(), 1_000));
        Ok((file.display().to_string(), said))
    }

    pub(super) fn user_file(&self) -> PathBuf {
        Files::new(&self.folders.config, None).user().to_path_buf()
    }

    /// Removes a server from the user's configuration file, and forgets what is on file about it.
    ///
    /// # Errors
    /// When there is no such server there, or the file cannot be written.
    pub fn remove_server(&self, name: &str) -> Result<String, Error> {
        let bare = name.strip_prefix("user/").unwrap_or(name);
        let file = self.user_file();
        settings::remove(&file, bare)
            .map_err(|e| Error::caused(ErrorKind::Config, e.to_string(), e))?;
        let id = crate::request::ServerId::new(Source::User, bare);
        self.forget_server(&id.to_string())?;
        Ok(file.display().to_string())
    }

    /// Forgets pins and answers about a server (`user/files`), for a project's server in every
    /// project; returns how many.
    ///
    /// # Errors
    /// When they cannot be written, or the change cannot be put on record.
    pub fn forget_server(&self, id: &str) -> Result<usize, Error> {
        let line = self.line(Arc::new(crate::request::DenyAll), Trigger::Person)?;
        line.point
            .note(EventKind::Note {
                name: "server-forgotten".to_owned(),
                details: json!({"server": clean::line(id, 200)}),
            })
            .map_err(|e| Error::caused(ErrorKind::Audit, e.to_string(), e))?;
        line.point
            .ledger()
            .forget(id)
            .map_err(|e| Error::caused(ErrorKind::Io, e.to_string(), e))
    }

    /// Starts a server once with somebody to ask, so that it and its tools are agreed to, and ends
    /// it again. Returns the number of tools in use and those left out.
    ///
    /// # Errors
    /// When it is not agreed to, or does not start.
    pub async fn trust_server(
        &self,
        name: &str,
        approver: Arc<dyn Approver>,
    ) -> Result<(usize, Vec<(String, String)>), Error> {
        let definition = self.definition(name)?;
        let session = self.session(approver, Trigger::Person)?;
        let server = session.start_definition(definition).await?;
        let found = (server.tools().len(), server.left_out());
        server.shutdown().await?;
        session.end()?;
        Ok(found)
    }

    /// A session of the person at the command line.
    ///
    /// # Errors
    /// When the audit log or the pins cannot be used.
    pub fn session(&self, approver: Arc<dyn Approver>, trigger: Trigger) -> Result<Session, Error> {
        self.policies.checked()?;
        let line = Arc::new(self.line(approver, trigger)?);
        self.follow_policies(&line, |_| ());
        Ok(Session::new(line, self.cli_agent()))
    }
}

/// What is on file about a server, and why its program cannot be pinned, when it cannot.
fn standing(line: &Line, definition: &ServerDefinition) -> (String, Option<String>) {
    let failed = |error: StartError| (clean::line(&error.to_string(), 400), None);
    if let Some(remote) = &definition.remote {
        return match remote::prepare(line, (definition, remote), Vec::new()) {
            Err(error) => failed(error),
            Ok(prepared) => (remote_state(&prepared.action).to_owned(), None),
        };
    }
    match prepare::prepare(line, definition) {
        Err(error) => failed(error),
        Ok(prepared) => (
            state(&prepared.action).to_owned(),
            prepared.view.unpinned.clone(),
        ),
    }
}

fn command(definition: &ServerDefinition) -> String {
    if let Some(remote) = &definition.remote {
        return remote.shown_url();
    }
    let words = std::iter::once(definition.command().to_owned()).chain(definition.args());
    let words = words.collect::<Vec<_>>().join(" ");
    clean::mask(&clean::line(&words, 1_000)).into_owned()
}

fn network(definition: &ServerDefinition) -> String {
    if let Some(remote) = &definition.remote {
        return format!("remote ({})", remote.protocol.word());
    }
    let hosts: Vec<String> = definition.hosts.iter().map(ToString::to_string).collect();
    match definition.network {
        Network::None => "none".to_owned(),
        Network::Hosts => hosts.join(", "),
        Network::Whole => "whole".to_owned(),
    }
}

fn remote_state(action: &crate::request::ConnectServer) -> &'static str {
    use crate::request::Pin;
    match action.server.pin {
        _ if action.first_time => "never agreed to",
        Pin::Changed => "its definition changed since it was agreed to",
        _ => "agreed",
    }
}

fn state(action: &crate::request::StartServer) -> &'static str {
    use crate::request::Pin;
    if action.first_time {
        "never agreed to"
    } else if action.config_changed {
        "its definition changed since it was agreed to"
    } else if action.program.pin == Pin::Changed {
        "its program changed since it was agreed to"
    } else {
        "agreed"
    }
}
