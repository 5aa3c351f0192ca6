//! A running confined process, seen from the host program.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender as ChildSender, channel};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::placeholder;
use super::start::{Started, start};
use super::sys;
use crate::sandbox::exit::Exit;
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::{SpawnError, Stdio};

/// Time for the process to end after its input was closed.
const INPUT_GRACE: Duration = Duration::from_secs(2);
/// Time for the process to end after `SIGTERM`.
const TERM_GRACE: Duration = Duration::from_secs(3);
/// Time for the helper to tidy up after everything was killed.
const TIDY_GRACE: Duration = Duration::from_secs(5);

/// A confined process. Dropping it kills the whole tree.
#[derive(Debug)]
pub(crate) struct Confined {
    /// Its input, when piped.
    pub(crate) stdin: Option<Sender>,
    /// Its output, when piped.
    pub(crate) stdout: Option<Receiver>,
    /// Its error output, when piped.
    pub(crate) stderr: Option<Receiver>,
    /// Where it connects to reach a host, when hosts are decided one by one.
    pub(crate) listener: Option<TcpListener>,
    helper: Helper,
    control: Option<BufReader<UnixStream>>,
    last_words: Vec<u8>,
    exit: Option<Exit>,
}

/// The helper: waited for without a thread; handed to the reaper when dropped alive.
#[derive(Debug)]
struct Helper {
    child: Option<Child>,
    pid: u32,
    pidfd: AsyncFd<OwnedFd>,
    protect: Vec<std::path::PathBuf>,
}

/// Starts a plan. Returns when the program runs, or with the step that failed.
pub(crate) async fn spawn(plan: Plan, stdio: Stdio) -> Result<Confined, SpawnError> {
    let protect = plan.protect.clone();
    let started = tokio::task::spawn_blocking(move || start(&plan, stdio))
        .await
        .map_err(|error| SpawnError::Helper(io::Error::other(error)))??;
    Confined::adopt(started, protect).map_err(SpawnError::Helper)
}

impl Confined {
    fn adopt(started: Started, protect: Vec<std::path::PathBuf>) -> io::Result<Self> {
        let Started {
            mut child,
            control,
            stdin,
            listener,
        } = started;
        control.set_nonblocking(true)?;
        let pid = child.id();
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let raw = raw.ok_or_else(|| io::Error::other("the helper has no process id"))?;
        let pidfd = rustix::process::pidfd_open(raw, PidfdFlags::NONBLOCK)?;
        Ok(Self {
            stdin: stdin.map(Sender::from_owned_fd).transpose()?,
            stdout: child
                .stdout
                .take()
                .map(own)
                .map(Receiver::from_owned_fd)
                .transpose()?,
            stderr: child
                .stderr
                .take()
                .map(own)
                .map(Receiver::from_owned_fd)
                .transpose()?,
            listener,
            helper: Helper {
                pidfd: sys::watched(pidfd)?,
                child: Some(child),
                pid,
                protect,
            },
            control: Some(BufReader::new(UnixStream::from_std(control)?)),
            last_words: Vec::new(),
            exit: None,
        })
    }

    /// The process id of the helper, which stands for the whole tree.
    pub(crate) fn pid(&self) -> u32 {
        self.helper.pid
    }

    /// Waits until the process has ended and nothing of its tree is left. Cancel safe.
    pub(crate) async fn wait(&mut self) -> Exit {
        if let (None, Some(control)) = (self.exit, self.control.as_mut()) {
            // A line at a time: what was read stays when this is cancelled.
            while let Ok(1..) = control.read_until(b'\n', &mut self.last_words).await {}
            self.exit = told(&self.last_words);
        }
        self.helper.wait().await;
        *self.exit.get_or_insert(Exit::KILLED)
    }

    /// Ends the process: closes its input, waits 2 s, sends `SIGTERM`, waits 3 s, kills the tree.
    pub(crate) async fn shutdown(&mut self) -> Exit {
        self.stdin = None;
        if let Ok(exit) = tokio::time::timeout(INPUT_GRACE, self.wait()).await {
            return exit;
        }
        self.terminate().await
    }

    /// Ends a process that reads something else than our input: sends `SIGTERM`, waits 3 s, kills the
    /// tree.
    pub(crate) async fn terminate(&mut self) -> Exit {
        if let Some(control) = self.control.as_mut() {
            let _ = control.get_mut().write_all(b"T").await;
        }
        if let Ok(exit) = tokio::time::timeout(TERM_GRACE, self.wait()).await {
            return exit;
        }
        self.control = None;
        if tokio::time::timeout(TIDY_GRACE, self.wait()).await.is_err() {
            self.helper.kill();
        }
        self.wait().await
    }

    /// Kills the whole tree at once; `wait` tells when it is gone.
    pub(crate) fn kill(&self) {
        if let Some(control) = &self.control {
            // The helper tidies up after itself; its death would kill the tree as well.
            let _ = rustix::net::shutdown(control.get_ref().as_fd(), rustix::net::Shutdown::Both);
        }
    }
}

/// How it ended, as process 1 saw it, with the limit that the keeper tells of.
fn told(lines: &[u8]) -> Option<Exit> {
    let exits = lines.split(|byte| *byte == b'\n');
    let exits = exits.filter_map(|line| serde_json::from_slice::<Exit>(line).ok());
    exits.reduce(|first, next| Exit {
        limit: next.limit.or(first.limit),
        ..first
    })
}

fn own(stream: impl Into<OwnedFd>) -> OwnedFd {
    stream.into()
}

impl Helper {
    async fn wait(&mut self) {
        if self.child.is_none() {
            return;
        }
        while let Ok(mut ready) = self.pidfd.readable().await {
            ready.clear_ready();
            if self.reaped() {
                return;
            }
        }
    }

    fn reaped(&mut self) -> bool {
        let Some(child) = self.child.as_mut() else {
            return true;
        };
        let tidied = match child.try_wait() {
            Ok(None) => return false,
            Ok(Some(status)) => status.success(),
            Err(_) => false,
        };
        self.child = None;
        if !tidied {
            placeholder::sweep_later(std::mem::take(&mut self.protect));
        }
        true
    }

    fn kill(&mut self) {
        let _ = rustix::process::pidfd_send_signal(self.pidfd.get_ref(), Signal::KILL);
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if self.reaped() {
            return;
        }
        if let Some(child) = self.child.take() {
            reap(child, std::mem::take(&mut self.protect));
        }
    }
}

type Orphan = (Child, Vec<std::path::PathBuf>);

/// Waits in the background for helpers that were dropped: their lifeline is closed, so they end.
fn reap(child: Child, protect: Vec<std::path::PathBuf>) {
    static REAPER: OnceLock<Option<ChildSender<Orphan>>> = OnceLock::new();
    let reaper = REAPER.get_or_init(|| {
        let (sender, receiver) = channel::<Orphan>();
        std::thread::Builder::new()
            .name("creance-reaper".to_owned())
            .spawn(move || {
                for (mut child, protect) in receiver {
                    let _ = child.wait();
                    placeholder::sweep(&protect);
                }
            })
            .ok()
            .map(|_| sender)
    });
    if let Some(sender) = reaper {
        let _ = sender.send((child, protect));
    }
}
