//! A running process, seen from the host program, on the systems where it is a child of the runtime:
//! itself, or the helper that stands for its tree.

use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::system::{Lifeline, start};
use crate::sandbox::exit::Exit;
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::{SpawnError, Stdio};

/// Time for the process to end after its input was closed.
const INPUT_GRACE: Duration = Duration::from_secs(2);
/// Time for the process to end after it was asked to.
const TERM_GRACE: Duration = Duration::from_secs(3);

/// A running process. Dropping it ends the process, with its tree where there is a helper.
#[derive(Debug)]
pub(crate) struct Confined {
    /// Its input, when piped.
    pub(crate) stdin: Option<ChildStdin>,
    /// Its output, when piped.
    pub(crate) stdout: Option<ChildStdout>,
    /// Its error output, when piped.
    pub(crate) stderr: Option<ChildStderr>,
    /// Where it connects to reach a host: nowhere, as no sandbox here has a network of its own.
    pub(crate) listener: Option<std::net::TcpListener>,
    child: Child,
    pid: u32,
    lifeline: Lifeline,
    kill: tokio::sync::Notify,
}

/// Starts a plan. Returns when the program runs, or with the step that failed.
pub(crate) async fn spawn(plan: Plan, stdio: Stdio) -> Result<Confined, SpawnError> {
    let (mut child, lifeline) = start(plan, stdio).await?;
    Ok(Confined {
        stdin: child.stdin.take(),
        stdout: child.stdout.take(),
        stderr: child.stderr.take(),
        listener: None,
        pid: child.id().unwrap_or_default(),
        kill: tokio::sync::Notify::new(),
        lifeline,
        child,
    })
}

impl Confined {
    /// The process id, which stands for the tree where there is a helper.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until the process has ended.
    pub(crate) async fn wait(&mut self) -> Exit {
        let ended = tokio::select! {
            ended = self.child.wait() => ended,
            () = self.kill.notified() => {
                self.lifeline.cut(&mut self.child);
                self.child.wait().await
            }
        };
        ended.map_or(Exit::KILLED, exit_of)
    }

    /// Ends the process: closes its input, waits 2 s, asks it to end, waits 3 s, kills it.
    pub(crate) async fn shutdown(&mut self) -> Exit {
        self.stdin = None;
        if let Ok(exit) = tokio::time::timeout(INPUT_GRACE, self.wait()).await {
            return exit;
        }
        self.terminate().await
    }

    /// Ends a process that reads something else than our input.
    pub(crate) async fn terminate(&mut self) -> Exit {
        if self.lifeline.ask()
            && let Ok(exit) = tokio::time::timeout(TERM_GRACE, self.wait()).await
        {
            return exit;
        }
        self.kill();
        self.wait().await
    }

    /// Kills everything with the next `wait`.
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
