//! Systems without a sandbox backend yet: a process can be started unconfined when policy says so.

mod confined;

pub(crate) use confined::{Confined, spawn};

use std::path::{Path, PathBuf};

use crate::grant::{Confinement, Grant};
use crate::sandbox::advice::{Failure, MachineFacts};
use crate::sandbox::escape::Answer;
use crate::sandbox::machine::Machine;
use crate::sandbox::plan::{Backend, CgroupOffer};
use crate::sandbox::reach::Reached;

/// Does nothing: no helper is used here.
pub(crate) fn run_helper_if_requested() {}

/// Whether everything runs as the real root; unknown here, and no plan depends on it.
pub(crate) fn is_root() -> bool {
    false
}

/// There is no Landlock here.
pub(crate) fn landlock_abi() -> u32 {
    0
}

/// Not asked: nothing is limited here yet.
pub(crate) fn memory() -> u64 {
    0
}

/// There are no cgroups here.
pub(crate) fn cgroup() -> Option<CgroupOffer> {
    None
}

/// No guard works here yet, so none can be passed.
pub(crate) fn second_names(_paths: &[std::path::PathBuf]) -> Vec<std::path::PathBuf> {
    Vec::new()
}

/// No backend works here yet.
pub(crate) fn try_backend(_backend: Backend) -> Result<(), Failure> {
    Err(Failure::plain("no sandbox backend for this system yet"))
}

/// Nothing is known that a way out would need.
pub(crate) fn facts() -> MachineFacts {
    MachineFacts::default()
}

/// There is no sandbox here to escape from.
pub(crate) fn try_escapes(
    _backend: Backend,
    _ids: &[&str],
    _tell: &mut dyn FnMut(&Confinement, Answer),
) -> Result<Confinement, String> {
    Err("no sandbox backend for this system yet".to_owned())
}

/// Nothing can be tried without a backend.
pub(crate) fn reach(
    _machine: &Machine,
    _cwd: &Path,
    _tried: (&Grant, &[PathBuf]),
) -> Result<Reached, String> {
    Err("no sandbox backend for this system yet".to_owned())
}

/// The system's name.
pub(crate) fn system() -> String {
    std::env::consts::OS.to_owned()
}
