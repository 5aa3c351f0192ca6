//! The second wall: birdcage, started by process 1 inside the finished view. It gives the view a
//! root of its own once more, an inner process namespace and an allow list of system calls, and
//! then runs the second stage. What it reports and how it fails never reaches the program.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use birdcage::process::{Child, Command};
use birdcage::{Birdcage, Exception, Sandbox};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::PipeFlags;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Signal};

use super::entry::{SELF, STAGE_TWO};
use super::handover::{self, Handover};
use crate::sandbox::exit::Exit;
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::StageError;

/// Folders of the view that may be written, besides the granted ones.
const PRIVATE: &[&str] = &["/dev/shm", "/dev/pts"];

const WORDS_BYTES_MAX: u64 = 4096;

/// A program behind the second wall.
pub(super) struct Caged {
    child: Child,
    /// `None` when it had ended before anyone looked.
    program: Option<OwnedFd>,
    /// What birdcage has to say; kept open, or its words would end it.
    _words: File,
}

/// Starts the second stage and waits until it has taken over. With an error comes the status to
/// report it to, unless the second stage already has it.
pub(super) fn start(
    plan: &Plan,
    status: File,
    null: &OwnedFd,
) -> Result<Caged, (Option<File>, StageError)> {
    let handover = Handover::send(plan, status).map_err(|(status, error)| (Some(status), error))?;
    enter(plan, &handover, null).map_err(|error| (handover::take_back(), error))
}

fn enter(plan: &Plan, handover: &Handover, null: &OwnedFd) -> Result<Caged, StageError> {
    let words = redirect(null).map_err(|e| StageError::os("birdcage", "streams", &e))?;
    let spawned = catch_unwind(AssertUnwindSafe(|| spawn(plan)));
    // Only now: a process that cannot be inspected cannot write its own user map either.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|e| os("dumpable", e))?;
    let _ = rustix::stdio::dup2_stderr(null);
    let child = match spawned {
        Ok(Ok(child)) => child,
        Ok(Err(error)) => return Err(StageError::new("birdcage", error.to_string())),
        Err(_) => return Err(failed("it panicked", words)),
    };
    match await_stage_two(&child, handover)? {
        StageTwo::Runs(program) => Ok(Caged {
            child,
            program,
            _words: words,
        }),
        StageTwo::Lost => Err(failed("it ended early", words)),
    }
}

/// The streams are on their way to the second stage; birdcage speaks into a pipe.
fn redirect(null: &OwnedFd) -> io::Result<File> {
    let (words, end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    rustix::stdio::dup2_stdout(null)?;
    rustix::stdio::dup2_stderr(&end)?;
    Ok(File::from(words))
}

fn spawn(plan: &Plan) -> birdcage::error::Result<Child> {
    let mut cage = Birdcage::new();
    // The environment of this process is empty; the program's comes with the plan.
    cage.add_exception(Exception::FullEnvironment)?;
    // The network namespace of the view is the one that counts.
    cage.add_exception(Exception::Networking)?;
    cage.add_exception(Exception::ExecuteAndRead(PathBuf::from("/")))?;
    let private = PRIVATE
        .iter()
        .map(Path::new)
        .chain(plan.private())
        .filter(|path| path.canonicalize().is_ok_and(|real| real == **path));
    for folder in plan.writable().chain(private) {
        cage.add_exception(Exception::WriteAndRead(folder.to_owned()))?;
        cage.add_exception(Exception::ExecuteAndRead(folder.to_owned()))?;
    }
    // This program itself, whatever the view shows of it.
    let mut stage_two = Command::new(SELF);
    stage_two.arg(STAGE_TWO);
    cage.spawn(stage_two)
}

/// What became of the second stage.
enum StageTwo {
    /// It has taken over; it may have ended since.
    Runs(Option<OwnedFd>),
    /// Everything ended before it took over.
    Lost,
}

fn await_stage_two(child: &Child, handover: &Handover) -> Result<StageTwo, StageError> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| StageError::new("birdcage", "no process id"))?;
    let ended =
        rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|e| os("pidfd", e))?;
    loop {
        let mut fds = [
            PollFd::from_borrowed_fd(handover.as_fd(), PollFlags::IN),
            PollFd::new(&ended, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(os("poll", error)),
        }
        if let Some(program) = handover.taken() {
            return match rustix::process::pidfd_open(program, PidfdFlags::empty()) {
                Ok(program) => Ok(StageTwo::Runs(Some(program))),
                Err(rustix::io::Errno::SRCH) => Ok(StageTwo::Runs(None)),
                Err(error) => Err(os("program", error)),
            };
        }
        if fds.last().is_some_and(|fd| !fd.revents().is_empty()) {
            return Ok(StageTwo::Lost);
        }
    }
}

impl Caged {
    /// Asks the program to end.
    pub(super) fn terminate(&self) {
        if let Some(program) = &self.program {
            let _ = rustix::process::pidfd_send_signal(program, Signal::TERM);
        }
    }

    /// How the program ended, once it has. Does not wait.
    pub(super) fn ended(&mut self) -> Option<Exit> {
        // It asserts what it reads.
        let ended = catch_unwind(AssertUnwindSafe(|| self.child.try_wait()));
        match ended {
            Ok(Ok(None)) => None,
            Ok(Ok(Some(status))) => Some(exit_of(status)),
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => None,
            Ok(Err(_)) | Err(_) => Some(Exit::KILLED),
        }
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    Exit {
        code: status.code(),
        signal: status.signal(),
        limit: None,
    }
}

fn os(what: &str, error: rustix::io::Errno) -> StageError {
    StageError::os("birdcage", what, &error.into())
}

/// With what birdcage said before it failed.
fn failed(how: &str, words: File) -> StageError {
    let mut said = Vec::new();
    let _ = words.take(WORDS_BYTES_MAX).read_to_end(&mut said);
    let said = String::from_utf8_lossy(&said);
    let said: Vec<&str> = said.split_whitespace().collect();
    StageError::new("birdcage", format!("{how}: {}", said.join(" ")))
}
