//! Carrying out a plan: the few system calls, one folder per system, the same names in each.
//! All unsafe code of the package lives below this folder.

#[cfg(not(target_os = "linux"))]
mod confined;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod fork;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod handed;
#[cfg(unix)]
mod links;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
mod other;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod program;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod stamps;
#[cfg(windows)]
mod windows;

#[cfg(not(target_os = "linux"))]
pub(crate) use confined::{Confined, spawn};
#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{cgroup, facts, memory, reach, try_escapes};
#[cfg(unix)]
pub(crate) use links::second_names;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "linux")]
pub(crate) use linux::{Confined, cgroup, facts, memory, reach, spawn, try_escapes};
#[cfg(target_os = "macos")]
use macos as system;
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
use other as system;
#[cfg(not(unix))]
pub(crate) use system::second_names;
pub(crate) use system::{is_root, landlock_abi, run_helper_if_requested, system, try_backend};
#[cfg(windows)]
use windows as system;
