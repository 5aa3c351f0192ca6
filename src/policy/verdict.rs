//! What judging comes to.

use serde::Serialize;

use crate::request::{Answer, Because, Layer, Role};

/// The outcome of judging, before anybody is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome", content = "longest")]
pub enum PolicyOutcome {
    /// It may happen.
    Allow,
    /// It may happen once a person agrees; with the longest-lived answer that is enough.
    Ask(Answer),
    /// It may not happen, whatever anybody answers.
    Deny,
}

impl PolicyOutcome {
    /// The weaker of two outcomes: what holds when both must be allowed.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Deny, _) | (_, Self::Deny) => Self::Deny,
            (Self::Ask(one), Self::Ask(two)) => Self::Ask(one.max(two)),
            (Self::Ask(answer), Self::Allow) | (Self::Allow, Self::Ask(answer)) => {
                Self::Ask(answer)
            }
            (Self::Allow, Self::Allow) => Self::Allow,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Ask(_) => 1,
            Self::Deny => 2,
        }
    }
}

/// One query's share in a verdict: what was judged (`sandbox.write /home/u/p`), its outcome, why.
pub type VerdictPart = (String, PolicyOutcome, Vec<Because>);

/// The outcome of all queries of one action: the weakest of theirs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The outcome.
    pub outcome: PolicyOutcome,
    /// Why: from the parts that have this kind of outcome.
    pub because: Vec<Because>,
    /// Query by query.
    pub parts: Vec<VerdictPart>,
}

impl Verdict {
    /// Puts parts together. No part at all is no permission.
    pub(super) fn of(parts: Vec<VerdictPart>) -> Self {
        let Some(outcome) = parts
            .iter()
            .map(|(_, outcome, _)| *outcome)
            .reduce(PolicyOutcome::and)
        else {
            return Self {
                outcome: PolicyOutcome::Deny,
                because: vec![engine("nothing was put to the policy store")],
                parts,
            };
        };
        let mut because: Vec<Because> = Vec::new();
        let deciding = parts
            .iter()
            .filter(|(_, part, _)| part.rank() == outcome.rank());
        for reason in deciding.flat_map(|(_, _, because)| because) {
            if !because.contains(reason) {
                because.push(reason.clone());
            }
        }
        Self {
            outcome,
            because,
            parts,
        }
    }
}

/// A denial because a tool that policies name as an action, or what it is given, is another. Unlike the
/// engine's own words it is told to models: what they gave did not fit.
pub(super) fn tool(reason: impl Into<String>) -> Because {
    Because {
        policy: "(tool)".to_owned(),
        ..engine(reason)
    }
}

/// A denial by the engine itself.
pub(super) fn engine(reason: impl Into<String>) -> Because {
    Because {
        policy: "(engine)".to_owned(),
        layer: Layer::Builtin,
        role: Role::Error,
        reason: reason.into(),
    }
}
