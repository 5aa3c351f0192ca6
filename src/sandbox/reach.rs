//! What is in reach under a grant.

use std::path::{Path, PathBuf};

use super::apply;
use super::machine::Machine;
use crate::grant::{Confinement, Grant};

/// What a process under a grant got.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    /// What its sandbox holds.
    pub(crate) confinement: Confinement,
    /// What is to be said about the grant.
    pub(crate) notices: Vec<String>,
    /// How many files and folders were tried.
    pub(crate) tried: usize,
    /// Those that could be read.
    pub(crate) files: Vec<PathBuf>,
    /// How many sockets were tried.
    pub(crate) tried_sockets: usize,
    /// Those that could be connected to.
    pub(crate) sockets: Vec<PathBuf>,
}

/// Starts a scratch process under a grant, which tries to read these files and folders, and to connect
/// to the sockets of this machine. What is granted and not there yet is left out.
pub(crate) fn reach(
    machine: &Machine,
    cwd: &Path,
    (grant, files): (&Grant, &[PathBuf]),
) -> Result<Reached, String> {
    let mut grant = grant.clone();
    grant.write.retain(|path| path.exists());
    grant.temp = grant.temp.filter(|path| path.exists());
    grant.terminal = false;
    apply::reach(machine, cwd, (&grant, files))
}
