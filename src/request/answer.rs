//! The ladder of answers a person may have given to one request. Its order is the order of strength.

use serde::{Deserialize, Serialize};

/// Which human answer backs a request. A later variant is a fresher, stronger answer.
///
/// Cedar sees it as three flags, `approved_now => approved_this_session => approved`.
/// Complete on purpose: the ladder is part of the meaning of every policy.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Nobody was asked.
    #[default]
    None,
    /// "Always": kept on this machine until it is revoked or the request changes.
    Remembered,
    /// "This session": kept in memory until this run of Creance ends.
    Session,
    /// "Once": given just now, for this request alone.
    Once,
}

impl Answer {
    /// The answers from the longest-lived to the strongest.
    pub const LADDER: [Self; 3] = [Self::Remembered, Self::Session, Self::Once];

    /// The values of `approved`, `approved_this_session` and `approved_now`.
    #[must_use]
    pub fn flags(self) -> [bool; 3] {
        [
            self >= Self::Remembered,
            self >= Self::Session,
            self >= Self::Once,
        ]
    }

    /// The word that people read and type.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "no",
            Self::Remembered => "always",
            Self::Session => "session",
            Self::Once => "once",
        }
    }
}
