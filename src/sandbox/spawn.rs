//! Starting a plan: how the standard streams are connected, and why a start can fail.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

pub(crate) use super::apply::Confined;
use super::plan::Plan;

/// The standard streams of a confined process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdio {
    /// All three are pipes to this process.
    Piped,
    /// All three are those of this process.
    Inherit,
}

/// A step of the set-up that failed, as the helper reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StageError {
    /// The step: `user-namespace`, `write`, `exec`, …
    pub(crate) stage: String,
    /// What failed, with the path.
    pub(crate) error: String,
    /// The error number of the system.
    pub(crate) errno: Option<i32>,
}

impl StageError {
    /// A step that failed for a reason of our own.
    pub(crate) fn new(stage: &str, error: impl Into<String>) -> Self {
        Self {
            stage: stage.to_owned(),
            error: error.into(),
            errno: None,
        }
    }

    /// A step that failed with an error of the system.
    pub(crate) fn os(stage: &str, what: impl fmt::Display, error: &io::Error) -> Self {
        Self {
            stage: stage.to_owned(),
            error: format!("{what}: {error}"),
            errno: error.raw_os_error(),
        }
    }
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.stage, self.error)
    }
}

impl std::error::Error for StageError {}

/// Why nothing was started.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) enum SpawnError {
    /// The helper could not be started.
    Helper(io::Error),
    /// A step of the set-up failed; the program never ran.
    Stage(StageError),
    /// The helper ended without a word before the program ran.
    Died,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Helper(error) => write!(f, "cannot start the sandbox helper: {error}"),
            Self::Stage(stage) => write!(f, "the sandbox could not be set up: {stage}"),
            Self::Died => f.write_str(
                "the sandbox helper ended before the program ran: the host program must call \
                 `creance::helper::run_if_requested()` first in `main`",
            ),
        }
    }
}

impl std::error::Error for SpawnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Helper(error) => Some(error),
            Self::Stage(stage) => Some(stage),
            Self::Died => None,
        }
    }
}

impl From<StageError> for SpawnError {
    fn from(stage: StageError) -> Self {
        Self::Stage(stage)
    }
}

/// Starts a plan. Returns when the program runs, or with the step that failed.
pub(crate) async fn spawn(plan: Plan, stdio: Stdio) -> Result<Confined, SpawnError> {
    super::apply::spawn(plan, stdio).await
}
