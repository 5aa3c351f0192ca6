//! Starting the helper: this program again, with an empty environment. The plan goes through a pipe,
//! never in an argument.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::sync::Mutex;
use std::time::Duration;

use tokio::process::{Child, Command};

use super::entry;
use super::sys::{self, Heir};
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::{SpawnError, StageError, Stdio};

/// The first argument of the helper.
pub(super) const HELPER: &str = "creance-sandbox-helper";

/// What the helper writes once the program runs.
pub(super) const READY: &str = "ready";

/// Time for the whole set-up.
const START_MAX: Duration = Duration::from_secs(30);

const STATUS_BYTES_MAX: u64 = 64 << 10;

/// When this is closed, or the helper is killed, everything dies.
#[derive(Debug)]
pub(in super::super) struct Lifeline(Option<PipeWriter>);

impl Lifeline {
    /// Whether the program was asked to end: there is no way that every program understands.
    pub(in super::super) fn ask(&mut self) -> bool {
        false
    }

    /// Kills the helper, and with it the job.
    pub(in super::super) fn cut(&mut self, child: &mut Child) {
        self.0 = None;
        let _ = child.start_kill();
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
    let mut text =
        serde_json::to_vec(&plan).map_err(|e| SpawnError::Helper(io::Error::other(e)))?;
    text.push(b'\n');
    let (child, mut lifeline, status) = spawn(stdio).map_err(SpawnError::Helper)?;
    let set_up = tokio::task::spawn_blocking(move || {
        // A helper that is gone says so in the status.
        let _ = lifeline.write_all(&text);
        await_start(status).map(|()| lifeline)
    });
    match tokio::time::timeout(START_MAX, set_up).await {
        Ok(Ok(Ok(lifeline))) => Ok((child, Lifeline(Some(lifeline)))),
        Ok(Ok(Err(error))) => Err(error),
        Ok(Err(error)) => Err(SpawnError::Helper(io::Error::other(error))),
        Err(_) => Err(StageError::new("start", "the set-up takes too long").into()),
    }
}

/// One start at a time: a start beside this one would inherit its ends.
fn spawn(stdio: Stdio) -> io::Result<(Child, PipeWriter, PipeReader)> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    let (spec_end, lifeline) = io::pipe()?;
    let (status, status_end) = io::pipe()?;
    let ends = [OwnedHandle::from(spec_end), OwnedHandle::from(status_end)];
    let mut command = command(stdio)?;
    for end in &ends {
        sys::inherit(end, Heir::Children)?;
        command.arg((end.as_raw_handle() as usize).to_string());
    }
    let child = command.spawn()?;
    Ok((child, lifeline, status))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox is what starts processes"
)]
fn command(stdio: Stdio) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(HELPER).env_clear().kill_on_drop(true);
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

/// Reads the status until the helper closes it.
fn await_start(status: PipeReader) -> Result<(), SpawnError> {
    let mut text = String::new();
    let mut status = File::from(OwnedHandle::from(status)).take(STATUS_BYTES_MAX);
    status
        .read_to_string(&mut text)
        .map_err(SpawnError::Helper)?;
    match text.lines().next() {
        Some(READY) => Ok(()),
        Some(line) => Err(match serde_json::from_str::<StageError>(line) {
            Ok(stage) => stage.into(),
            Err(_) => SpawnError::Died,
        }),
        None => Err(SpawnError::Died),
    }
}
