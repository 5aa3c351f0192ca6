//! A denial: an answer, not an error. It names the policies, the reason, and the way out.

use std::fmt;

use serde::Serialize;

use crate::clean;
use crate::request::{Because, Layer, Role};

/// Why a request was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DenialKind {
    /// A policy forbids it, or none permits it.
    Policy,
    /// A person's answer is needed and nobody can be asked.
    NobodyToAsk,
    /// A person was asked and did not answer in time.
    NoAnswer,
    /// A person said no.
    Refused,
    /// The permit was made by policies that have changed since.
    Void,
}

impl DenialKind {
    /// What happened, in one line.
    fn words(self) -> &'static str {
        match self {
            Self::Policy => "denied by policy",
            Self::NobodyToAsk => "needs a person's answer and nobody can be asked",
            Self::NoAnswer => "needs a person's answer and none came in time",
            Self::Refused => "a person said no",
            Self::Void => "the policies changed before it was done",
        }
    }

    /// The engine's own line in a verdict.
    pub(super) fn because(self) -> Because {
        Because {
            policy: "(engine)".to_owned(),
            layer: Layer::Builtin,
            role: Role::Forbids,
            reason: self.words().to_owned(),
        }
    }
}

/// A denied request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denial {
    kind: DenialKind,
    action: String,
    resource: String,
    because: Vec<Because>,
    parts: Vec<String>,
}

impl Denial {
    pub(crate) fn new(
        kind: DenialKind,
        action: &str,
        resource: String,
        because: Vec<Because>,
    ) -> Self {
        Self {
            kind,
            action: action.to_owned(),
            resource,
            because,
            parts: Vec::new(),
        }
    }

    /// The parts of the request that are not allowed as they stand: grants of a start.
    pub(crate) fn with_parts(mut self, parts: Vec<String>) -> Self {
        self.parts = parts;
        self
    }

    /// Why it was denied.
    #[must_use]
    pub fn kind(&self) -> DenialKind {
        self.kind
    }

    /// The Cedar action.
    #[must_use]
    pub fn action(&self) -> &str {
        &self.action
    }

    /// On what, `user/files/read_text_file`.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The deciding policies.
    #[must_use]
    pub fn policies(&self) -> &[Because] {
        &self.because
    }

    /// What happened, in one line.
    #[must_use]
    pub fn reason(&self) -> String {
        self.kind.words().to_owned()
    }

    /// The way out.
    #[must_use]
    pub fn hint(&self) -> String {
        match self.kind {
            DenialKind::Policy => {
                "`creance policy explain` shows which clause decided and what would change it"
            }
            DenialKind::NobodyToAsk => {
                "try it where a person can answer (at a terminal, or with `creance approve` beside \
                 the gateway), or write a policy that permits it"
            }
            DenialKind::NoAnswer => {
                "run `creance approve` in a terminal and try again, or write a policy that permits it"
            }
            DenialKind::Refused => "do not try it again unless the person asks for it",
            DenialKind::Void => "try it again",
        }
        .to_owned()
    }

    /// The text for a model: fixed words, and policy ids with `@reason` of trusted layers only. What
    /// a repository wrote is never quoted to a model.
    #[must_use]
    pub fn for_model(&self) -> String {
        let mut text = format!("Creance did not allow {}: {}.", self.what(), self.reason());
        let policies = self.because.iter().filter(|part| part.policy != "(engine)");
        for part in policies {
            // File names and ids of a repository's policies are its text too.
            if !part.layer.speaks_to_models() {
                text.push_str("\n- a policy of the project");
                continue;
            }
            let reason = match part.reason.as_str() {
                "" => String::new(),
                reason => format!(": {}", clean::line(reason, 300)),
            };
            text.push_str(&format!("\n- {}{reason}", clean::line(&part.policy, 200)));
        }
        text.push_str(&format!("\nHint: {}.", self.hint()));
        text
    }

    fn what(&self) -> String {
        format!("{} on {}", self.action, clean::line(&self.resource, 200))
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what(), self.reason())?;
        for part in &self.because {
            let verb = match part.role {
                Role::Permits => "permits",
                Role::PermitsOnceAnswered => "permits once answered",
                Role::RequiresAnswer => "requires an answer",
                Role::Forbids => "forbids",
                Role::NoPermit => "no permit",
                Role::Error => "error",
            };
            let policy = clean::line(&part.policy, 200);
            let reason = clean::line(&part.reason, 300);
            write!(f, "\n  {verb}: {policy}: {reason}")?;
        }
        for part in &self.parts {
            write!(f, "\n  part: {}", clean::line(part, 300))?;
        }
        write!(f, "\n  hint: {}", self.hint())
    }
}
