//! Why a decision came out as it did: policies with their layer and role.

use serde::{Deserialize, Serialize};

/// Where a policy comes from. Complete on purpose: precedence hangs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Compiled into the binary: guard rails (forbids) and defaults (permits).
    Builtin,
    /// The organisation's folder or bundle.
    Org,
    /// One person's own rules.
    User,
    /// A cloned repository: may only forbid.
    Project,
}

impl Layer {
    /// The name that stands in policy ids (`builtin/defaults/ask`).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Org => "org",
            Self::User => "user",
            Self::Project => "project",
        }
    }

    /// Whether `@reason` texts of this layer may reach a model. Project text is quoted to people
    /// only: it comes with the cloned repository.
    #[must_use]
    pub fn speaks_to_models(self) -> bool {
        self != Self::Project
    }
}

/// What a policy did in a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A permit that was satisfied.
    Permits,
    /// A permit that would be satisfied once a person agrees.
    PermitsOnceAnswered,
    /// A forbid that goes away once a person agrees.
    RequiresAnswer,
    /// A forbid that no answer lifts.
    Forbids,
    /// No policy permits the request.
    NoPermit,
    /// A policy could not be evaluated, or the request does not fit the schema: fails closed.
    Error,
}

/// One policy's part in a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Because {
    /// The policy's id, `layer/file/id`, or `(engine)`, `(tool)` and `(none)` for what no policy said.
    pub policy: String,
    /// Its layer.
    pub layer: Layer,
    /// What it did.
    pub role: Role,
    /// Its `@reason`, or the engine's own words.
    pub reason: String,
}
