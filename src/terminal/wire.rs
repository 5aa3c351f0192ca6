//! The messages of the approval socket, their bounds, and what both sides compare. One JSON object
//! a line, in version 1: hello and hello, then `list` or `reply`, each answered.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::request::{Answer, Question};

/// The version of the messages. Another one is refused: half-understood consent is none.
pub(super) const VERSION: u32 = 1;
/// The longest line that an approver may send, in bytes.
pub(super) const SAID_SIZE_MAX: usize = 4 * 1024;
/// The longest line that an asking process sends, in bytes. A question that is longer is not
/// offered here.
pub(super) const TOLD_SIZE_MAX: usize = 16 * 1024 * 1024;

/// What an approver says to the asking process.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Said {
    Hello {
        version: u32,
    },
    List,
    Reply {
        id: String,
        /// Digest of the question as it was shown, so that what is approved is what was shown.
        digest: Digest,
        answer: Answer,
        scope: usize,
    },
}

/// What the asking process tells an approver.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Told {
    Hello { version: u32 },
    Question { question: Box<Question> },
    End,
    Result { outcome: Outcome },
    Refused { why: String },
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// It is the answer.
    Taken,
    /// The question waits no more: it was answered elsewhere, withdrawn, or ran out of time.
    Gone,
    /// The question is not the one that was shown.
    Changed,
    /// The question does not offer this answer or scope.
    Refused,
}

/// A question that waits in some process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    #[serde(skip)]
    socket: PathBuf,
    pid: u32,
    digest: Option<Digest>,
    question: Question,
}

impl Waiting {
    pub(super) fn new(socket: PathBuf, pid: u32, question: Question) -> Self {
        Self {
            socket,
            pid,
            digest: digest(&question),
            question,
        }
    }

    /// The question.
    #[must_use]
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The process that asks.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(super) fn digest(&self) -> Option<Digest> {
        self.digest
    }
}

/// The digest of all that a question shows; `None` if it cannot be written down.
pub(super) fn digest(question: &Question) -> Option<Digest> {
    let json = serde_json::to_vec(question).ok()?;
    Some(Digest::of_fields("question/1", [json]))
}

/// Why waiting questions could not be read or answered.
#[derive(Debug)]
#[non_exhaustive]
pub enum ApprovalError {
    /// The folder of the sockets cannot be used.
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong, and the way out.
        why: String,
    },
    /// A socket could not be used.
    Socket {
        /// The socket.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// The other side does not keep to the messages.
    Garbled {
        /// The socket.
        path: PathBuf,
        /// What was wrong.
        why: String,
    },
    /// This system has no approval socket.
    Unsupported,
}

impl fmt::Display for ApprovalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder { path, why } => write!(f, "folder {path:?}: {why}"),
            Self::Socket { path, error } => write!(f, "socket {path:?}: {error}"),
            Self::Garbled { path, why } => write!(f, "socket {path:?}: {why:?}"),
            Self::Unsupported => f.write_str(
                "approving from another terminal is not supported on this system; \
                 answer in the client, or write a policy",
            ),
        }
    }
}

impl std::error::Error for ApprovalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Socket { error, .. } => Some(error),
            Self::Folder { .. } | Self::Garbled { .. } | Self::Unsupported => None,
        }
    }
}
