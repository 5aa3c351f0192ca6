//! Starting the helper: this program again, with an empty environment and the plan in sealed
//! memory, never in an argument, which every user of the machine could read.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::pipe::PipeFlags;

use super::{doorway, passing};
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::{SpawnError, StageError, Stdio};

/// The name under which the helper is executed.
pub(super) const HELPER: &str = "creance-sandbox-helper";

/// What main tells the keeper: the program runs, and its time with it.
pub(super) const RUNS: &[u8] = b"R";

/// What the helper writes before it executes the program.
pub(super) const READY: &str = "ready";

/// Time for one step of the set-up.
const START_MAX: Timespec = Timespec {
    tv_sec: 30,
    tv_nsec: 0,
};

/// The stage of a helper that took too long.
const SLOW: &str = "start";

const STATUS_BYTES_MAX: usize = 64 << 10;

/// A helper whose program runs.
pub(super) struct Started {
    /// The helper.
    pub(super) child: Child,
    /// The lifeline: when this end is closed, everything dies.
    pub(super) control: UnixStream,
    /// The program's input, when it is a pipe.
    pub(super) stdin: Option<OwnedFd>,
    /// Where the program connects to reach a host, when hosts are decided one by one.
    pub(super) listener: Option<TcpListener>,
}

/// Starts a helper and waits until its program runs or a step failed.
pub(super) fn start(plan: &Plan, stdio: Stdio) -> Result<Started, SpawnError> {
    if super::entry::is_helper() {
        // A host program that does not call the helper first would start itself without end.
        return Err(SpawnError::Died);
    }
    let spec = sealed(plan).map_err(SpawnError::Helper)?;
    let (status, status_end) =
        rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|e| SpawnError::Helper(e.into()))?;
    let (control, far) = UnixStream::pair().map_err(SpawnError::Helper)?;
    let (input, stdin) = input(stdio).map_err(SpawnError::Helper)?;
    // They wait in the socket, which becomes the helper's input: nothing has to run between fork and
    // exec for them, so this process, which may be big, is not copied.
    let fds = [spec.as_fd(), status_end.as_fd(), input.as_fd()];
    passing::send(&control, &fds).map_err(|e| SpawnError::Helper(e.into()))?;
    let child = command(stdio, far.into())
        .spawn()
        .map_err(SpawnError::Helper)?;
    // Without this, the status never ends.
    drop((spec, status_end, input));
    let mut started = Started {
        child,
        control,
        stdin,
        listener: None,
    };
    let runs = await_exec(status).and_then(|()| started.take_listener(plan));
    if let Err(error) = runs {
        // Without its lifeline the helper kills what it started and tidies up; the kill is for one
        // that hangs.
        let _ = started.control.shutdown(std::net::Shutdown::Both);
        if matches!(&error, SpawnError::Stage(stage) if stage.stage == SLOW) {
            let _ = started.child.kill();
        }
        let _ = started.child.wait();
        super::placeholder::sweep_later(plan.protect.clone());
        return Err(error);
    }
    // A program that has ended already needs no time.
    let _ = started.control.write_all(RUNS);
    Ok(started)
}

impl Started {
    fn take_listener(&mut self, plan: &Plan) -> Result<(), SpawnError> {
        if plan.has_proxy() {
            let listener = doorway::take(&self.control);
            self.listener = Some(listener.map_err(SpawnError::Helper)?);
        }
        Ok(())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox is what starts processes"
)]
fn command(stdio: Stdio, input: OwnedFd) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0(HELPER)
        .env_clear()
        .current_dir("/")
        .stdin(input);
    for stream in [Command::stdout, Command::stderr] {
        stream(
            &mut command,
            match stdio {
                Stdio::Piped => std::process::Stdio::piped(),
                Stdio::Inherit => std::process::Stdio::inherit(),
            },
        );
    }
    command
}

/// The program's input, and our end of it when it is a pipe.
fn input(stdio: Stdio) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    match stdio {
        Stdio::Piped => {
            let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
            Ok((read, Some(write)))
        }
        Stdio::Inherit => Ok((
            rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?,
            None,
        )),
    }
}

/// A plan in memory that nobody can change any more.
pub(super) fn sealed(plan: &Plan) -> io::Result<OwnedFd> {
    let text = serde_json::to_vec(plan).map_err(io::Error::other)?;
    let memory = rustix::fs::memfd_create(
        "creance-plan",
        MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
    )?;
    let mut file = std::fs::File::from(memory);
    file.write_all(&text)?;
    rustix::fs::fcntl_add_seals(
        file.as_fd(),
        SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE,
    )?;
    Ok(file.into())
}

/// Reads the status: `ready` and then nothing more means that `exec` closed it.
fn await_exec(status: OwnedFd) -> Result<(), SpawnError> {
    let text = read_status(status)?;
    let mut lines = text.lines();
    match (lines.next(), lines.next()) {
        (Some(READY), None) => Ok(()),
        (Some(READY), Some(error)) | (Some(error), _) => Err(parse(error)),
        (None, _) => Err(SpawnError::Died),
    }
}

fn read_status(status: OwnedFd) -> Result<String, SpawnError> {
    let mut status = std::fs::File::from(status);
    let mut bytes = vec![0; 4096];
    let mut text = Vec::new();
    loop {
        let mut fds = [PollFd::new(&status, PollFlags::IN)];
        match poll(&mut fds, Some(&START_MAX)) {
            Ok(0) => {
                let why = format!("the helper took longer than {} s", START_MAX.tv_sec);
                return Err(StageError::new(SLOW, why).into());
            }
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(SpawnError::Helper(error.into())),
        }
        let read = status.read(&mut bytes).map_err(SpawnError::Helper)?;
        text.extend(bytes.iter().take(read));
        if read == 0 || text.len() > STATUS_BYTES_MAX {
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
    }
}

fn parse(line: &str) -> SpawnError {
    match serde_json::from_str::<StageError>(line) {
        Ok(stage) => SpawnError::Stage(stage),
        Err(_) => SpawnError::Died,
    }
}
