//! What the probe is told about the scene that it stands in.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::sandbox::plan::Backend;

/// The scene, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ground {
    /// The backend that is tried.
    pub(super) backend: Backend,
    /// The attempts to make, in this order.
    pub(super) attempts: Vec<String>,
    /// A home folder with secrets.
    pub(super) home: PathBuf,
    /// Granted for writing.
    pub(super) project: PathBuf,
    /// Granted for reading.
    pub(super) outside: PathBuf,
    /// Hidden.
    pub(super) hidden: PathBuf,
    /// The private temporary folder.
    pub(super) temp: PathBuf,
    /// Listeners of the host, counted there.
    pub(super) ports: Ports,
    /// A process of the host, with a secret in its environment.
    pub(super) process: i32,
    /// Name of the abstract sockets.
    pub(super) name: String,
    /// System V objects of the host.
    pub(super) sysv: SysV,
    /// Sockets that programs of this machine listen on.
    pub(super) sockets: Vec<PathBuf>,
    /// Device nodes of this machine.
    pub(super) devices: Vec<PathBuf>,
    /// Files of the kernel that this machine does not have or does not let anybody write.
    pub(super) absent: Vec<PathBuf>,
}

/// Ports on the host's loopback.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Ports {
    pub(super) tcp: u16,
    pub(super) tcp6: Option<u16>,
    pub(super) udp: u16,
}

/// Numbers of System V objects, negative where the kernel has none.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SysV {
    pub(super) memory: i32,
    pub(super) queue: i32,
    pub(super) semaphore: i32,
}

/// In the environment of the host's process, and nowhere else.
pub(super) const CANARY: &str = "CREANCE_CANARY";

/// Makes the abstract datagram socket's name from the stream socket's.
pub(super) fn datagram(name: &str) -> String {
    format!("{name}-d")
}
