//! The protocol's dated revisions that begin with `initialize`.

use std::fmt;

/// A revision of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Revision {
    /// The first.
    V2024_11_05,
    /// Annotations, audio; the only one with batches.
    V2025_03_26,
    /// Structured content, elicitation.
    V2025_06_18,
    /// Elicitation by URL, icons.
    V2025_11_25,
}

impl Revision {
    /// The newest that is spoken here.
    pub(crate) const LATEST: Self = Self::V2025_11_25;

    /// All that are spoken here, oldest first.
    pub(crate) const ALL: [Self; 4] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
    ];

    /// Its date, as on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
        }
    }

    /// The revision of that date, when it is spoken here.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.name() == name)
    }

    /// What to answer a client that asks for some revision: the same when it is spoken here, else
    /// the newest, and the client decides whether it goes on.
    pub(crate) fn answer_to(asked: &str) -> Self {
        Self::from_name(asked).unwrap_or(Self::LATEST)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
