//! The ways to confine a process, strongest first, and what a machine offers of them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One way to confine a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Backend {
    /// Own namespaces, birdcage as a second wall, then Landlock and seccomp.
    LinuxL3,
    /// Own namespaces, then Landlock and seccomp.
    LinuxNs,
    /// The same where `/proc` is masked, as in containers.
    LinuxNsNoproc,
    /// Landlock and seccomp without namespaces.
    LinuxLandlock,
    /// A profile of Seatbelt.
    MacosSeatbelt,
    /// A job object and a restricted token.
    WindowsJob,
    /// Nothing.
    None,
}

impl Backend {
    /// Every backend; those of one system in the order in which they are tried.
    pub(crate) const ALL: [Self; 7] = [
        Self::LinuxL3,
        Self::LinuxNs,
        Self::LinuxNsNoproc,
        Self::LinuxLandlock,
        Self::MacosSeatbelt,
        Self::WindowsJob,
        Self::None,
    ];

    /// The name used in output, records and policies.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LinuxL3 => "linux-l3",
            Self::LinuxNs => "linux-ns",
            Self::LinuxNsNoproc => "linux-ns-noproc",
            Self::LinuxLandlock => "linux-landlock",
            Self::MacosSeatbelt => "macos-seatbelt",
            Self::WindowsJob => "windows-job",
            Self::None => "none",
        }
    }

    /// The system that it is for; nothing is nobody's.
    pub(crate) fn system(self) -> &'static str {
        match self {
            Self::LinuxL3 | Self::LinuxNs | Self::LinuxNsNoproc | Self::LinuxLandlock => "linux",
            Self::MacosSeatbelt => "macos",
            Self::WindowsJob => "windows",
            Self::None => "",
        }
    }

    /// Whether the process gets namespaces of its own.
    pub(crate) fn has_namespaces(self) -> bool {
        matches!(self, Self::LinuxL3 | Self::LinuxNs | Self::LinuxNsNoproc)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|backend| backend.name() == name)
            .ok_or_else(|| name.to_owned())
    }
}

/// Whether a backend works here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offer {
    /// The backend.
    pub(crate) backend: Backend,
    /// Why it does not work; `None` when it does.
    pub(crate) failure: Option<String>,
}

/// What a machine offers, as data: all that a plan needs to know about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offers {
    /// The backends, in the order in which they are tried.
    pub(crate) backends: Vec<Offer>,
    /// Whether everything runs as the real root.
    pub(crate) root: bool,
    /// The Landlock ABI of the kernel, 0 without.
    pub(crate) landlock: u32,
    /// The memory of the machine in bytes, 0 when it is not known.
    pub(crate) memory: u64,
    /// Where cgroups can be made.
    pub(crate) cgroup: Option<CgroupOffer>,
}

/// A cgroup of ours (version 2), and what can be limited in the ones below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CgroupOffer {
    /// The folder.
    pub(crate) parent: PathBuf,
    /// Whether `memory.max` holds there.
    pub(crate) memory: bool,
    /// Whether `pids.max` holds there.
    pub(crate) processes: bool,
}
