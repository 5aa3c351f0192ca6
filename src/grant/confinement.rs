//! What a sandbox really holds, guarantee by guarantee. Shown to people, judged by policy, recorded.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// One promise of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Guarantee {
    /// Writes reach only the granted folders.
    Writes,
    /// Protected paths inside granted folders stay as they are, absent ones stay absent.
    ProtectedPaths,
    /// Home, credentials and other hidden places cannot be read.
    Secrets,
    /// No packet leaves, unless the whole network was granted.
    Network,
    /// Hosts are decided one by one.
    NetworkPerHost,
    /// Unix sockets of the machine cannot be connected to.
    UnixSockets,
    /// Other processes cannot be seen, signalled or traced.
    Processes,
    /// Every process of the tree dies with it.
    TreeKill,
    /// Memory, processes, files and time are limited.
    Limits,
    /// Nothing can be typed into the user's terminal.
    Terminal,
    /// Only granted environment variables are there.
    Environment,
}

impl Guarantee {
    /// Every guarantee, in the order in which they are shown.
    pub const ALL: [Self; 11] = [
        Self::Writes,
        Self::ProtectedPaths,
        Self::Secrets,
        Self::Network,
        Self::NetworkPerHost,
        Self::UnixSockets,
        Self::Processes,
        Self::TreeKill,
        Self::Limits,
        Self::Terminal,
        Self::Environment,
    ];

    /// The name used in output and in Cedar's context (`protected_paths` there).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::ProtectedPaths => "protected-paths",
            Self::Secrets => "secrets",
            Self::Network => "network",
            Self::NetworkPerHost => "network-per-host",
            Self::UnixSockets => "unix-sockets",
            Self::Processes => "processes",
            Self::TreeKill => "tree-kill",
            Self::Limits => "limits",
            Self::Terminal => "terminal",
            Self::Environment => "environment",
        }
    }
}

/// How far a guarantee holds. Complete on purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "level")]
pub enum Level {
    /// It holds.
    Enforced {
        /// The mechanism, `mount namespace`.
        by: String,
    },
    /// It holds in part.
    Weakened {
        /// The mechanism.
        by: String,
        /// What is missing.
        why: String,
    },
    /// It does not hold.
    Absent {
        /// Why not.
        why: String,
    },
}

impl Level {
    /// The name used in Cedar and in output.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Enforced { .. } => "enforced",
            Self::Weakened { .. } => "weakened",
            Self::Absent { .. } => "absent",
        }
    }
}

/// What one sandbox holds. A guarantee that is not listed is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The backend: `linux-l3`, `linux-ns`, `linux-ns-noproc`, `linux-landlock`, `none`, …
    pub backend: String,
    /// The level of each guarantee.
    pub levels: BTreeMap<Guarantee, Level>,
}

impl Confinement {
    /// No sandbox at all, and why.
    #[must_use]
    pub fn none(why: &str) -> Self {
        let absent = Level::Absent {
            why: why.to_owned(),
        };
        Self {
            backend: "none".to_owned(),
            levels: Guarantee::ALL
                .into_iter()
                .map(|guarantee| (guarantee, absent.clone()))
                .collect(),
        }
    }

    /// The level's name of a guarantee: `enforced`, `weakened` or `absent`.
    #[must_use]
    pub fn level(&self, guarantee: Guarantee) -> &'static str {
        self.levels.get(&guarantee).map_or("absent", Level::name)
    }

    /// Whether a guarantee is enforced.
    #[must_use]
    pub fn enforces(&self, guarantee: Guarantee) -> bool {
        self.level(guarantee) == "enforced"
    }

    /// Whether writes, secrets and network are enforced: what the built-in policy asks for.
    #[must_use]
    pub fn holds(&self) -> bool {
        [Guarantee::Writes, Guarantee::Secrets, Guarantee::Network]
            .into_iter()
            .all(|guarantee| self.enforces(guarantee))
    }

    /// Digest of the level names: an answer given under a strong sandbox does not hold under a
    /// weaker one.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        Digest::of_fields(
            "confinement/1",
            Guarantee::ALL.into_iter().map(|g| self.level(g)),
        )
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.backend)?;
        let mut separator = ": ";
        for guarantee in Guarantee::ALL {
            let level = self.level(guarantee);
            if level != "enforced" {
                write!(f, "{separator}{} {level}", guarantee.name())?;
                separator = ", ";
            }
        }
        Ok(())
    }
}
