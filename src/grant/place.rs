//! The kinds of place a path can lie in: the vocabulary of portable path policies.

use serde::{Deserialize, Serialize};

/// The kind of place a path lies in. Places are disjoint: `Project` excludes `.git`, `.env` and
/// configuration, so a permit on it is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// An ordinary file of the project.
    Project,
    /// Version-control internals of the project.
    ProjectVcs,
    /// Files of the project that steer tools: editors, agents, Creance.
    ProjectConfig,
    /// The home folder, where no other place fits.
    Home,
    /// Temporary folders.
    Temp,
    /// Caches.
    Cache,
    /// Creance's own configuration, policies, state and sockets.
    Config,
    /// Credentials.
    Secrets,
    /// The operating system and its programs.
    System,
    /// Devices, `/proc`, `/sys`, `/run`.
    Devices,
    /// Anything else.
    Other,
}

impl Place {
    /// The name used in Cedar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::ProjectVcs => "project-vcs",
            Self::ProjectConfig => "project-config",
            Self::Home => "home",
            Self::Temp => "temp",
            Self::Cache => "cache",
            Self::Config => "config",
            Self::Secrets => "secrets",
            Self::System => "system",
            Self::Devices => "devices",
            Self::Other => "other",
        }
    }
}
