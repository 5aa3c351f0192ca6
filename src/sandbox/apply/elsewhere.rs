//! What is tried and known on Linux alone so far.

use std::path::{Path, PathBuf};

use crate::grant::{Confinement, Grant};
use crate::sandbox::advice::MachineFacts;
use crate::sandbox::escape::Answer;
use crate::sandbox::machine::Machine;
use crate::sandbox::plan::{Backend, CgroupOffer};
use crate::sandbox::reach::Reached;

const LINUX_ALONE: &str = "this is tried on Linux alone by this version";

/// Not asked: no limit hangs on it elsewhere.
pub(crate) fn memory() -> u64 {
    0
}

/// There are no cgroups elsewhere.
pub(crate) fn cgroup() -> Option<CgroupOffer> {
    None
}

/// Nothing is known that a way out would need.
pub(crate) fn facts() -> MachineFacts {
    MachineFacts::default()
}

/// The attempts to escape are written for Linux.
pub(crate) fn try_escapes(
    _backend: Backend,
    _ids: &[&str],
    _tell: &mut dyn FnMut(&Confinement, Answer),
) -> Result<Confinement, String> {
    Err(LINUX_ALONE.to_owned())
}

/// What is in reach is tried on Linux.
pub(crate) fn reach(
    _machine: &Machine,
    _cwd: &Path,
    _tried: (&Grant, &[PathBuf]),
) -> Result<Reached, String> {
    Err(LINUX_ALONE.to_owned())
}
