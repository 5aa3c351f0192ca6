//! Exit codes that scripts can use, and errors as people read them.

use std::process::ExitCode;

use creance::{Error, ErrorKind};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0
    Done,
    /// 1
    Failed,
    /// 2
    Usage,
    /// 3
    Denied,
    /// 4
    NeedsAnswer,
    /// 5
    #[cfg(feature = "prove")]
    Unknown,
    /// The code of the command that was run.
    Code(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Denied => 3,
            Exit::NeedsAnswer => 4,
            #[cfg(feature = "prove")]
            Exit::Unknown => 5,
            Exit::Code(code) => code,
        })
    }
}

impl Exit {
    /// The exit code of an error.
    pub(crate) fn of(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::Denied => Self::Denied,
            ErrorKind::NeedsAnswer => Self::NeedsAnswer,
            ErrorKind::Usage => Self::Usage,
            _ => Self::Failed,
        }
    }
}

/// What each command returns.
pub(crate) type Outcome = Result<Exit, Error>;
