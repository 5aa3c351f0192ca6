//! Questions to people: what is shown, what may be answered, and who can be asked.
//! No question ever goes to a model.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::because::Because;

/// One labelled part of what a person is asked about. Already cleaned for people: one line per
/// line, invisible characters marked, nothing cut without saying so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// `command`, `arguments`, `writes`, …
    pub label: String,
    /// The text; may have several lines.
    pub text: String,
}

impl Detail {
    /// A labelled text.
    #[must_use]
    pub fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            text: text.into(),
        }
    }
}

/// What the person sees: everything that will happen, and what is unusual about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// One line: what it is about.
    pub title: String,
    /// Everything that will happen, in full.
    pub details: Vec<Detail>,
    /// What deserves attention, one line each.
    pub warnings: Vec<String>,
    /// Whether `details` shows all of what will happen. When it cannot, agreeing is not offered.
    pub complete: bool,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Random, unguessable; names this question on every channel.
    pub id: String,
    /// The Cedar action.
    pub action: String,
    /// What the person sees.
    pub asked: Asked,
    /// The policies that require the question, with their reasons.
    pub because: Vec<Because>,
    /// The longest-lived answer that policy accepts.
    pub longest: Answer,
    /// What an answer may cover, from the narrowest to the widest; never empty.
    pub scopes: Vec<String>,
    /// Who asks, in words (`claude-code in /home/u/project`), cleaned.
    pub asker: String,
}

/// How an answer came in. Recorded with every answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Channel {
    /// `elicitation/create` of the client. The client may have answered by itself.
    Elicitation {
        /// The client's name, as it gives it.
        client: String,
    },
    /// `creance approve` in another terminal.
    Approve {
        /// The process that answered.
        pid: u32,
    },
    /// The terminal that the command owns.
    Terminal,
    /// The embedding program.
    Embedder,
    /// The demonstration answers its own questions, and says so.
    Demo,
}

impl Channel {
    /// The longest-lived answer that this channel may give: an answer by elicitation from a client
    /// that Creance did not start lasts at most this session.
    #[must_use]
    pub fn longest(&self) -> Answer {
        match self {
            Self::Elicitation { .. } => Answer::Session,
            _ => Answer::Remembered,
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elicitation { client } => write!(f, "elicitation by {client}"),
            Self::Approve { pid } => write!(f, "creance approve (process {pid})"),
            Self::Terminal => f.write_str("terminal"),
            Self::Embedder => f.write_str("embedding program"),
            Self::Demo => f.write_str("demo"),
        }
    }
}

/// A person's reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The answer; [`Answer::None`] is "no".
    pub answer: Answer,
    /// Index into [`Question::scopes`].
    pub scope: usize,
    /// How it came in.
    pub channel: Channel,
}

/// Somebody who can put a question to a person.
///
/// `None` means that nobody could be asked or nobody answered in time: the decision is then a
/// denial. Dropping the future withdraws the question.
pub trait Approver: Send + Sync + fmt::Debug {
    /// Puts the question and waits for the reply.
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'a>>;

    /// Whether somebody can be asked now.
    fn attended(&self) -> bool;

    /// Whether somebody is known to look, and does not just may come. Where no channel that still
    /// waits is watched, a question that was dismissed on another waits no longer.
    fn watched(&self) -> bool {
        self.attended()
    }
}

/// The approver that has nobody to ask: every question is a denial.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

impl Approver for DenyAll {
    fn ask<'a>(
        &'a self,
        _question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'a>> {
        Box::pin(std::future::ready(None))
    }

    fn attended(&self) -> bool {
        false
    }
}
