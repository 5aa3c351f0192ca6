//! The public error: opaque, with a kind. Its text is not API.

use std::fmt;

use crate::audit::AuditError;
use crate::decision::{DecisionError, Denial, DenialKind};

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A policy, or a person, said no.
    Denied,
    /// A person's answer is needed and there is none.
    NeedsAnswer,
    /// The audit record could not be written.
    Audit,
    /// A policy file is broken.
    Policy,
    /// A configuration file is broken.
    Config,
    /// The sandbox could not be set up.
    Sandbox,
    /// A server failed: it did not start, answered badly, or died.
    Server,
    /// The caller asked for something that does not exist.
    Usage,
    /// A file or terminal could not be read or written.
    Io,
    /// This build or this system cannot do it.
    Unsupported,
}

/// Anything that went wrong.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    denial: Option<Box<Denial>>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            denial: None,
            source: None,
        }
    }

    /// An error of a program that uses this library, for one way of reporting.
    #[must_use]
    pub fn message(kind: ErrorKind, text: &str) -> Self {
        Self::new(kind, text)
    }

    pub(crate) fn caused(
        kind: ErrorKind,
        message: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self {
            source: Some(Box::new(source)),
            ..Self::new(kind, message)
        }
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether policy or a person said no, or no answer came.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.denial.is_some()
    }

    /// The denial, when it is one.
    #[must_use]
    pub fn denial(&self) -> Option<&Denial> {
        self.denial.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}

impl From<Denial> for Error {
    fn from(denial: Denial) -> Self {
        let kind = match denial.kind() {
            DenialKind::NobodyToAsk | DenialKind::NoAnswer => ErrorKind::NeedsAnswer,
            _ => ErrorKind::Denied,
        };
        Self {
            denial: Some(Box::new(denial.clone())),
            ..Self::new(kind, denial.to_string())
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::caused(ErrorKind::Io, error.to_string(), error)
    }
}

impl From<AuditError> for Error {
    fn from(error: AuditError) -> Self {
        Self::caused(ErrorKind::Audit, error.to_string(), error)
    }
}

impl From<DecisionError> for Error {
    fn from(error: DecisionError) -> Self {
        let kind = match error {
            DecisionError::Audit(_) => ErrorKind::Audit,
            DecisionError::Ledger(_) | DecisionError::Random(_) => ErrorKind::Io,
        };
        Self::caused(kind, error.to_string(), error)
    }
}
