//! Why a server or a command did not start.

use std::fmt;

use crate::audit::AuditError;
use crate::decision::{DecisionError, Denial};
use crate::disk::program::ProgramError;
use crate::request::LedgerError;
use crate::sandbox::{PlanError, SpawnError};
use crate::transport::CallError as UpstreamError;

use super::connected::Challenge;
use super::tools;

/// Why a server did not start.
#[derive(Debug)]
pub(crate) enum StartError {
    /// Policy or a person said no.
    Denied(Denial),
    /// The decision could not be taken.
    Decision(DecisionError),
    /// The program was not found or cannot be read.
    Program(ProgramError),
    /// A path of the definition cannot be resolved.
    Path(String),
    /// The sandbox cannot be planned for these terms.
    Plan(PlanError),
    /// The sandbox could not be set up, or the program not be executed.
    Spawn(SpawnError),
    /// The way out of the sandbox cannot be opened.
    Proxy(std::io::Error),
    /// What was judged and what would be done differ.
    Changed(String),
    /// The remote server cannot be reached, or does not answer as an MCP server: in words that name of
    /// its address the origin only.
    Remote(String),
    /// The remote server wants a sign-in.
    SignIn {
        /// Its identity.
        server: String,
        /// Scheme, host and port.
        origin: String,
        /// What it answered.
        challenge: Challenge,
    },
    /// It runs, but does not answer as an MCP server.
    Handshake {
        /// What went wrong.
        error: UpstreamError,
        /// The last lines of its standard error.
        stderr: String,
        /// The grant that it may lack.
        hint: Option<&'static str>,
        /// The hosts that it was not let out to, in words.
        unreached: String,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denial) => denial.fmt(f),
            Self::Decision(error) => error.fmt(f),
            Self::Program(error) => error.fmt(f),
            Self::Path(text) | Self::Changed(text) | Self::Remote(text) => f.write_str(text),
            Self::SignIn {
                server,
                origin,
                challenge,
            } => write!(
                f,
                "{server} at {origin} needs a sign-in (status {})",
                challenge.status
            ),
            Self::Plan(error) => error.fmt(f),
            Self::Spawn(error) => error.fmt(f),
            Self::Proxy(error) => write!(f, "the proxy of the sandbox cannot be started: {error}"),
            Self::Handshake {
                error,
                stderr,
                hint,
                unreached,
            } => {
                error.fmt(f)?;
                if let Some(hint) = hint {
                    write!(f, "; perhaps: {hint}")?;
                }
                if !unreached.is_empty() {
                    write!(f, "\n{unreached}")?;
                }
                if stderr.is_empty() {
                    return Ok(());
                }
                write!(f, "; its last words:\n{stderr}")
            }
        }
    }
}

impl std::error::Error for StartError {}

impl From<DecisionError> for StartError {
    fn from(error: DecisionError) -> Self {
        Self::Decision(error)
    }
}

impl From<tools::ReviewError> for StartError {
    fn from(error: tools::ReviewError) -> Self {
        match error {
            tools::ReviewError::Decision(error) => Self::Decision(error),
            tools::ReviewError::Upstream(error) => Self::Handshake {
                error,
                stderr: String::new(),
                hint: None,
                unreached: String::new(),
            },
        }
    }
}

impl From<LedgerError> for StartError {
    fn from(error: LedgerError) -> Self {
        Self::Decision(error.into())
    }
}

impl From<AuditError> for StartError {
    fn from(error: AuditError) -> Self {
        Self::Decision(error.into())
    }
}
