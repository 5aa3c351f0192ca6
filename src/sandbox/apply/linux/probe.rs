//! Whether a backend works here: found out by confining a scratch process with it.

use std::path::PathBuf;

use crate::grant::{Grant, Launch};
use crate::sandbox::advice::START;
use crate::sandbox::machine::Machine;
use crate::sandbox::plan::{Backend, plan};
use crate::sandbox::spawn::{SpawnError, StageError, Stdio};

use super::start::start;

/// The name under which the scratch process is executed.
pub(super) const SCRATCH: &str = "creance-sandbox-scratch";

/// Whether this process is the real root or the root of a container.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Confines a scratch process; the failure says which step failed, with a way out where one is known.
pub(crate) fn try_backend(backend: Backend) -> Result<(), StageError> {
    let program = std::env::current_exe().map_err(plain)?;
    let launch = Launch {
        program: program.clone(),
        name: SCRATCH.to_owned(),
        args: Vec::new(),
        cwd: PathBuf::from("/"),
        stamps: Vec::new(),
    };
    let grant = Grant {
        read: vec![program],
        ..Grant::default()
    };
    let plan = plan(&Machine::only(backend.name()), &launch, &grant);
    let mut started = start(&plan.map_err(plain)?, Stdio::Inherit).map_err(stage)?;
    drop(started.control);
    started.child.wait().map_err(plain)?;
    Ok(())
}

fn stage(error: SpawnError) -> StageError {
    match error {
        SpawnError::Stage(stage) => stage,
        other => plain(other),
    }
}

/// The memory of the machine, in bytes.
pub(crate) fn memory() -> u64 {
    let info = rustix::system::sysinfo();
    info.totalram * u64::from(info.mem_unit)
}

fn plain(error: impl std::fmt::Display) -> StageError {
    StageError::new(START, error.to_string())
}

/// The system's name and release.
pub(crate) fn system() -> String {
    let name = rustix::system::uname();
    format!(
        "{} {}",
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy()
    )
}
