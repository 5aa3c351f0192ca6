//! Why no decision could be taken.

use std::fmt;

use crate::audit::AuditError;
use crate::request::LedgerError;

/// The decision could not be taken: the effect does not happen.
#[derive(Debug)]
pub(crate) enum DecisionError {
    /// Its record could not be written.
    Audit(AuditError),
    /// Pins or answers could not be read.
    Ledger(LedgerError),
    /// No unguessable id could be made for a question.
    Random(std::io::Error),
}

impl fmt::Display for DecisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Audit(e) => write!(f, "nothing is done without its audit record: {e}"),
            Self::Ledger(e) => write!(f, "pins and answers cannot be read: {e}"),
            Self::Random(e) => write!(f, "the system gives no random numbers: {e}"),
        }
    }
}

impl std::error::Error for DecisionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Audit(e) => Some(e),
            Self::Ledger(e) => Some(e),
            Self::Random(e) => Some(e),
        }
    }
}

impl From<AuditError> for DecisionError {
    fn from(error: AuditError) -> Self {
        Self::Audit(error)
    }
}

impl From<LedgerError> for DecisionError {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}
