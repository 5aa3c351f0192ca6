//! Starting the helper: this program again, with an empty environment. The plan goes through a pipe,
//! never in an argument, which every user of the machine could read.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::Duration;

use tokio::process::{Child, Command};

use super::{entry, sys};
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::{SpawnError, StageError, Stdio};

/// The name under which the helper is executed.
pub(super) const HELPER: &str = "creance-sandbox-helper";

/// What the helper writes before it executes the program.
pub(super) const READY: &str = "ready";

/// What asks the keeper to end the program politely.
pub(super) const TERMINATE: u8 = b'T';

/// Time for the whole set-up.
const START_MAX: Duration = Duration::from_secs(30);

const STATUS_BYTES_MAX: u64 = 64 << 10;

/// When this is closed, everything dies.
#[derive(Debug)]
pub(in super::super) struct Lifeline(UnixStream);

impl Lifeline {
    /// Asks the program to end. Whether that could be said.
    pub(in super::super) fn ask(&mut self) -> bool {
        self.0.write_all(&[TERMINATE]).is_ok()
    }

    /// Lets the keeper kill everything.
    pub(in super::super) fn cut(&mut self, _child: &mut Child) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Starts a helper and waits until its program runs or a step failed.
pub(in super::super) async fn start(
    plan: Plan,
    stdio: Stdio,
) -> Result<(Child, Lifeline), SpawnError> {
    if entry::is_helper() {
        // A host program that does not call the helper first would start itself without end.
        return Err(SpawnError::Died);
    }
    let text = serde_json::to_vec(&plan).map_err(|e| SpawnError::Helper(io::Error::other(e)))?;
    let (child, ends) = spawn(stdio).map_err(SpawnError::Helper)?;
    let Ends {
        spec,
        status,
        lifeline,
    } = ends;
    let set_up = tokio::task::spawn_blocking(move || {
        // A helper that is gone says so in the status.
        let _ = File::from(spec).write_all(&text);
        await_exec(status)
    });
    let ended = tokio::time::timeout(START_MAX, set_up).await;
    match ended {
        Ok(Ok(Ok(()))) => Ok((child, Lifeline(lifeline))),
        Ok(Ok(Err(error))) => Err(error),
        Ok(Err(error)) => Err(SpawnError::Helper(io::Error::other(error))),
        Err(_) => Err(StageError::new("start", "the set-up takes too long").into()),
    }
}

/// The host program's ends.
struct Ends {
    spec: OwnedFd,
    status: OwnedFd,
    lifeline: UnixStream,
}

/// One start at a time: without `pipe2`, a start beside this one would inherit its ends.
fn spawn(stdio: Stdio) -> io::Result<(Child, Ends)> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    let (spec_end, spec) = io::pipe()?;
    let (status, status_end) = io::pipe()?;
    let (lifeline, control_end) = UnixStream::pair()?;
    let mut command = command(stdio)?;
    let passed = vec![spec_end.into(), status_end.into(), control_end.into()];
    sys::pass_fds(&mut command, passed);
    // The command owns our copies of the helper's ends, and goes with this function: without that,
    // the status would never end.
    let child = command.spawn()?;
    let ends = Ends {
        spec: spec.into(),
        status: status.into(),
        lifeline,
    };
    Ok((child, ends))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox is what starts processes"
)]
fn command(stdio: Stdio) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg0(HELPER).env_clear().current_dir("/");
    for stream in [Command::stdin, Command::stdout, Command::stderr] {
        stream(
            &mut command,
            match stdio {
                Stdio::Piped => std::process::Stdio::piped(),
                Stdio::Inherit => std::process::Stdio::inherit(),
            },
        );
    }
    Ok(command)
}

/// Reads the status: `ready` and then nothing more means that `exec` closed it.
fn await_exec(status: OwnedFd) -> Result<(), SpawnError> {
    let mut text = String::new();
    let mut status = File::from(status).take(STATUS_BYTES_MAX);
    status
        .read_to_string(&mut text)
        .map_err(SpawnError::Helper)?;
    let mut lines = text.lines();
    match (lines.next(), lines.next()) {
        (Some(READY), None) => Ok(()),
        (Some(READY), Some(error)) | (Some(error), _) => Err(parse(error)),
        (None, _) => Err(SpawnError::Died),
    }
}

fn parse(line: &str) -> SpawnError {
    match serde_json::from_str::<StageError>(line) {
        Ok(stage) => stage.into(),
        Err(_) => SpawnError::Died,
    }
}
