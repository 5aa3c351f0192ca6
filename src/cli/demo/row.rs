//! One row of the demonstration's table.

use creance::{Confinement, Error, Guarantee, Level};
use serde::Serialize;

/// What was tried, what happened, and what decided it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) tried: String,
    pub(super) happened: String,
    /// The policies of the decision's record, or the guarantee and its mechanism.
    pub(super) by: String,
    /// Whether it came out as it should.
    pub(super) good: bool,
    /// Why what stopped it does not hold fully on this machine.
    pub(super) weakened: Option<String>,
}

/// Whether something came out as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Good {
    Yes,
    No,
}

impl From<bool> for Good {
    fn from(good: bool) -> Self {
        if good { Self::Yes } else { Self::No }
    }
}

impl Row {
    pub(super) fn new(
        tried: &str,
        happened: impl Into<String>,
        by: impl Into<String>,
        good: Good,
    ) -> Self {
        Self {
            tried: tried.to_owned(),
            happened: happened.into(),
            by: by.into(),
            good: good == Good::Yes,
            weakened: None,
        }
    }

    /// A row about a guarantee: what stands behind it is what the sandbox says of itself.
    pub(super) fn held(mut self, confinement: &Confinement, guarantee: Guarantee) -> Self {
        let name = guarantee.name();
        (self.by, self.weakened) = match confinement.levels.get(&guarantee) {
            Some(Level::Enforced { by }) => (format!("{name}: {by}"), None),
            Some(Level::Weakened { by, why }) => (format!("{name}: {by}"), Some(why.clone())),
            Some(Level::Absent { why }) => (format!("{name}: nothing"), Some(why.clone())),
            None => (format!("{name}: nothing"), Some("not given".to_owned())),
        };
        self
    }
}

/// The first line of an error.
pub(super) fn first_line(error: &Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

/// A denial in the words of its policy.
pub(super) fn denied(error: &Error) -> String {
    let reason = error
        .denial()
        .and_then(|denial| denial.policies().first())
        .map(|because| because.reason.clone());
    reason.map_or_else(|| first_line(error), |reason| format!("denied: {reason}"))
}
