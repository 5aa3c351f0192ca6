//! Whether the backend works here: found out by starting a scratch process with it.

use std::path::PathBuf;

use crate::grant::{Grant, Launch};
use crate::sandbox::advice::START;
use crate::sandbox::machine::Machine;
use crate::sandbox::plan::{Backend, plan};
use crate::sandbox::spawn::{StageError, Stdio};

/// The argument of the scratch process.
pub(super) const SCRATCH: &str = "creance-sandbox-scratch";

/// Starts a scratch process in a job.
pub(crate) fn try_backend(backend: Backend) -> Result<(), StageError> {
    trial(backend).map_err(|error| StageError::new(START, error))
}

fn trial(backend: Backend) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let launch = Launch {
        name: program.to_string_lossy().into_owned(),
        cwd: program.parent().map(PathBuf::from).unwrap_or_default(),
        program: program.clone(),
        args: vec![SCRATCH.to_owned()],
        stamps: Vec::new(),
    };
    let plan = plan(&Machine::only(backend.name()), &launch, &Grant::default());
    let plan = plan.map_err(|error| error.to_string())?;
    // A thread of its own: the caller may be inside a runtime, which cannot wait in itself.
    let waited = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let confined = crate::sandbox::spawn(plan, Stdio::Inherit).await;
            let mut confined = confined.map_err(|error| error.to_string())?;
            Ok::<_, String>(confined.wait().await)
        })
    });
    let exit = waited.join().map_err(|_| "the trial ended early")??;
    if exit.success() {
        return Ok(());
    }
    Err(format!("the trial {exit}"))
}

/// Whether everything runs as an administrator; no plan depends on it.
pub(crate) fn is_root() -> bool {
    false
}

/// There is no Landlock here.
pub(crate) fn landlock_abi() -> u32 {
    0
}

/// Files are not guarded here, so no second name passes a guard.
pub(crate) fn second_names(_paths: &[PathBuf]) -> Vec<PathBuf> {
    Vec::new()
}

/// The system's name.
pub(crate) fn system() -> String {
    std::env::consts::OS.to_owned()
}
