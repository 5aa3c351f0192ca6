//! What brings a configured server into use: the start of a program, or a connection; without doing it.

use std::path::PathBuf;

use crate::clean;
use crate::enforce::{Line, arguments, prepare, present, remote};
use crate::request::{ConnectServer, Pin, ServerFacts, StartServer};

use super::error::Error;
use super::workspace::Workspace;

/// What brings a server into use.
#[derive(Clone, Debug)]
pub(super) enum Beginning {
    Start(Box<StartServer>),
    /// A connection, and the server's address as a person reads it.
    Connection(Box<ConnectServer>, String),
}

impl Beginning {
    pub(super) fn server(&self) -> &ServerFacts {
        match self {
            Self::Start(start) => &start.server,
            Self::Connection(connect, _) => &connect.server,
        }
    }

    /// Whether it is what was agreed to.
    pub(super) fn is_agreed(&self) -> bool {
        match self {
            Self::Start(start) => !start.first_time && !start.config_changed,
            Self::Connection(connect, _) => {
                !connect.first_time && connect.server.pin != Pin::Changed
            }
        }
    }

    /// The pin of its server once it was agreed to.
    pub(super) fn pin_once_agreed(&self) -> Pin {
        match self {
            Self::Start(start) if start.artefact.is_none() => Pin::Unpinned,
            _ => Pin::Matched,
        }
    }

    /// The folders against which a relative path of its arguments may be meant.
    pub(super) fn bases(&self, line: &Line) -> Vec<PathBuf> {
        match self {
            Self::Start(start) => arguments::bases(&start.launch),
            Self::Connection(..) => vec![line.ground.base().to_path_buf()],
        }
    }

    /// The program; for a server that runs elsewhere its origin.
    pub(super) fn program(&self) -> String {
        match self {
            Self::Start(start) => start.program.path.clone(),
            Self::Connection(connect, _) => connect.origin(),
        }
    }

    /// The command line, or the address; masked as on record.
    pub(super) fn command(&self) -> String {
        match self {
            Self::Start(start) => {
                let masked = clean::mask_value(serde_json::json!(start.launch.args));
                let args = masked.as_array().into_iter().flatten();
                let args = args.filter_map(|arg| arg.as_str().map(str::to_owned));
                present::words(&start.launch.name, &args.collect::<Vec<_>>())
            }
            Self::Connection(_, url) => url.clone(),
        }
    }
}

impl Workspace {
    /// What would bring a server into use, and what cannot be known without doing it. The name of a remote
    /// server is looked up; nothing is connected to.
    pub(super) fn beginning(
        &self,
        line: &Line,
        server: &str,
    ) -> Result<(Beginning, Vec<String>), Error> {
        let definition = self.definition(server)?;
        if let Some(remote) = &definition.remote {
            let found = remote::blocking_look_up(definition);
            let (addresses, note) = match found {
                Ok(addresses) => (addresses, None),
                Err(why) => (Vec::new(), Some(format!("its address is not known: {why}"))),
            };
            let prepared = remote::prepare(line, (definition, remote), addresses)?;
            let mut notes = prepared.view.warnings.clone();
            notes.extend(note);
            let connection = Beginning::Connection(Box::new(prepared.action), remote.shown_url());
            return Ok((connection, notes));
        }
        let prepared = prepare::prepare(line, definition)?;
        let unpinned = prepared.view.unpinned.clone();
        let mut notes: Vec<String> = prepared.view.warnings.clone();
        notes.extend(unpinned.map(|why| format!("the program is not pinned: {why}")));
        Ok((Beginning::Start(Box::new(prepared.action)), notes))
    }
}
