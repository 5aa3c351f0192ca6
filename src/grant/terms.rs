//! What is started and under which terms.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::limits::Limits;

/// What exactly is started. Paths are absolute and resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The program file.
    pub program: PathBuf,
    /// `argv[0]`: how it was named (a multi-call program looks at it).
    pub name: String,
    /// The arguments after `argv[0]`.
    pub args: Vec<String>,
    /// The working folder.
    pub cwd: PathBuf,
    /// Files that were hashed for the pin: the helper refuses to start when one of them is no
    /// longer the same file, just before `exec`.
    pub stamps: Vec<FileStamp>,
}

/// A file as it was when it was hashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// The resolved path.
    pub path: PathBuf,
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Change time in nanoseconds since the epoch: no unprivileged program can set it.
    pub changed_ns: i128,
}

/// The environment of a process. Holds secrets: `Debug` prints the names only.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment(pub BTreeMap<String, String>);

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The network of a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// None: only an own loopback interface.
    #[default]
    None,
    /// Hosts, decided one by one: the only way out is a proxy outside of the sandbox, which puts each
    /// connection to policy.
    Hosts,
    /// The whole network of the machine.
    Whole,
}

/// The terms under which a process runs. All paths are absolute; those that exist are resolved.
///
/// The system (`/usr`, `/etc`, …) is readable; the home folder is hidden except for what is named
/// here. `hide` wins over `read` and `write`; `protect` wins over `write`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The user's home folder: hidden, and an empty read-only folder stands in its place.
    pub home: Option<PathBuf>,
    /// Readable, also under the home folder (toolchains, the project, read paths).
    pub read: Vec<PathBuf>,
    /// Writable (the project, write paths, the private caches).
    pub write: Vec<PathBuf>,
    /// Inside a writable folder but never writable; a path that is absent stays absent.
    pub protect: Vec<PathBuf>,
    /// Hidden wherever it would be visible: credentials, sockets, Creance's own folders.
    pub hide: Vec<PathBuf>,
    /// Unix sockets that may be connected to; when empty, `AF_UNIX` is refused altogether.
    pub sockets: Vec<PathBuf>,
    /// The private temporary folder (`TMPDIR`), writable, on the host's disk.
    pub temp: Option<PathBuf>,
    /// The network.
    pub network: Network,
    /// The whole environment of the process.
    pub env: Environment,
    /// Limits.
    pub limits: Limits,
    /// Whether the process owns the user's terminal (`creance run` on a terminal): no new session.
    pub terminal: bool,
}
