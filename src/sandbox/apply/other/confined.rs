//! An unconfined process on a system without a backend: its environment is still the granted one,
//! and it is killed when it is dropped.

use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::sandbox::exit::Exit;
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::{SpawnError, Stdio};

/// Time for the process to end after its input was closed.
const INPUT_GRACE: Duration = Duration::from_secs(2);

/// A running process. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Confined {
    /// Its input, when piped.
    pub(crate) stdin: Option<ChildStdin>,
    /// Its output, when piped.
    pub(crate) stdout: Option<ChildStdout>,
    /// Its error output, when piped.
    pub(crate) stderr: Option<ChildStderr>,
    child: Child,
    pid: u32,
    kill: tokio::sync::Notify,
}

/// Starts a plan without confining it: the plan says so, guarantee by guarantee.
#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox is what starts processes"
)]
#[expect(clippy::unused_async, reason = "the same signature on every system")]
pub(crate) async fn spawn(plan: Plan, stdio: Stdio) -> Result<Confined, SpawnError> {
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
    let mut child = command.spawn().map_err(SpawnError::Helper)?;
    Ok(Confined {
        stdin: child.stdin.take(),
        stdout: child.stdout.take(),
        stderr: child.stderr.take(),
        pid: child.id().unwrap_or_default(),
        kill: tokio::sync::Notify::new(),
        child,
    })
}

impl Confined {
    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until the process has ended.
    pub(crate) async fn wait(&mut self) -> Exit {
        let ended = tokio::select! {
            ended = self.child.wait() => ended,
            () = self.kill.notified() => {
                let _ = self.child.start_kill();
                self.child.wait().await
            }
        };
        ended.map_or(Exit::KILLED, exit_of)
    }

    /// Ends the process: closes its input, waits 2 s, kills it.
    pub(crate) async fn shutdown(&mut self) -> Exit {
        self.stdin = None;
        if let Ok(exit) = tokio::time::timeout(INPUT_GRACE, self.wait()).await {
            return exit;
        }
        self.terminate().await
    }

    /// Ends a process that reads something else than our input: kills it.
    pub(crate) async fn terminate(&mut self) -> Exit {
        self.kill();
        self.wait().await
    }

    /// Kills the process with the next `wait`.
    pub(crate) fn kill(&self) {
        self.kill.notify_one();
    }
}

fn exit_of(status: std::process::ExitStatus) -> Exit {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    Exit {
        code: status.code(),
        signal,
        limit: None,
    }
}
