//! Carrying out a plan: the few system calls, one folder per system, the same names in each.
//! All unsafe code of the package lives below this folder.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub(crate) use linux::{
    Confined, cgroup, facts, is_root, landlock_abi, memory, reach, run_helper_if_requested,
    second_names, spawn, system, try_backend, try_escapes,
};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{
    Confined, cgroup, facts, is_root, landlock_abi, memory, reach, run_helper_if_requested,
    second_names, spawn, system, try_backend, try_escapes,
};
