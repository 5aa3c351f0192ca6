//! Systems without a sandbox backend: a process can be started unconfined when policy says so. Its
//! environment is still the granted one.

use tokio::process::{Child, Command};

use crate::sandbox::advice::START;
use crate::sandbox::plan::{Backend, Plan};
use crate::sandbox::spawn::{SpawnError, StageError, Stdio};

/// A process without a helper is killed itself.
#[derive(Debug)]
pub(super) struct Lifeline;

impl Lifeline {
    /// Whether the process was asked to end: there is no way.
    pub(super) fn ask(&mut self) -> bool {
        false
    }

    /// Kills it.
    pub(super) fn cut(&mut self, child: &mut Child) {
        let _ = child.start_kill();
    }
}

/// Starts a plan without confining it: the plan says so, guarantee by guarantee.
#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox is what starts processes"
)]
#[expect(clippy::unused_async, reason = "the same signature on every system")]
pub(super) async fn start(plan: Plan, stdio: Stdio) -> Result<(Child, Lifeline), SpawnError> {
    let stream = || match stdio {
        Stdio::Piped => std::process::Stdio::piped(),
        Stdio::Inherit => std::process::Stdio::inherit(),
    };
    let mut command = Command::new(&plan.launch.program);
    command
        .args(&plan.launch.args)
        .env_clear()
        .envs(&plan.env.0)
        .current_dir(&plan.launch.cwd)
        .stdin(stream())
        .stdout(stream())
        .stderr(stream())
        .kill_on_drop(true);
    let child = command.spawn().map_err(SpawnError::Helper)?;
    Ok((child, Lifeline))
}

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

/// No backend works here.
pub(crate) fn try_backend(_backend: Backend) -> Result<(), StageError> {
    Err(StageError::new(START, "no sandbox backend for this system"))
}

/// The system's name.
pub(crate) fn system() -> String {
    std::env::consts::OS.to_owned()
}
