//! Process 1 of the namespaces: builds the view, starts the program, reaps, and tells main how the
//! program ended. When it ends, the kernel kills everything that is left.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::UnshareFlags;

use super::cgroup::Cgroup;
use super::entry::{FAILED, fail};
use super::survey::Survey;
use super::sys::{self, Forked};
use super::{cage, keeper, stamps, target, view};
use crate::sandbox::exit::Exit;
use crate::sandbox::plan::{Backend, Plan};
use crate::sandbox::spawn::StageError;

/// What process 1 is handed by the keeper.
pub(super) struct Ends<'a> {
    /// Where a failed step is reported.
    pub(super) status: File,
    /// To main.
    pub(super) control: &'a OwnedFd,
    /// Its other end is open as long as the keeper lives.
    pub(super) watch: OwnedFd,
    /// `/dev/null` of the machine.
    pub(super) null: OwnedFd,
    /// Where the tree belongs.
    pub(super) cgroup: Option<Cgroup>,
}

/// Runs as process 1. Never returns.
pub(super) fn run(plan: &Plan, survey: &Survey, ends: Ends<'_>) -> ! {
    let Ends {
        status,
        control,
        watch,
        null,
        cgroup,
    } = ends;
    let _ = rustix::thread::set_name(c"creance-init");
    match join(cgroup).and_then(|()| prepare(plan, survey, &watch)) {
        Ok(()) => {}
        Err(error) => fail(status, &error),
    }
    if plan.backend == Backend::LinuxL3 {
        run_caged(plan, status, control, &null)
    }
    match sys::fork() {
        Err(error) => fail(status, &StageError::os("fork", "program", &error)),
        Ok(Forked::Child) => target::run(plan, status),
        Ok(Forked::Parent(pid)) => {
            drop(status);
            keeper::leave_streams(&null);
            let exit = reap(pid);
            tell(control, exit.explained(&plan.limits));
            sys::exit_now(0)
        }
    }
}

/// The same with the program behind the second wall.
fn run_caged(plan: &Plan, status: File, control: &OwnedFd, null: &OwnedFd) -> ! {
    let mut caged = match cage::start(plan, status, null) {
        Ok(caged) => caged,
        Err((Some(status), error)) => fail(status, &error),
        // The second stage has the status and reports for itself.
        Err((None, _)) => sys::exit_now(FAILED),
    };
    keeper::leave_streams(null);
    let exit = loop {
        // Before the wait: it may have ended while it was started.
        if let Some(exit) = caged.ended() {
            break exit;
        }
        match sys::wait_signal() {
            Ok(libc::SIGTERM) => caged.terminate(),
            Ok(_) => {}
            Err(_) => break Exit::KILLED,
        }
    };
    tell(control, exit.explained(&plan.limits));
    sys::exit_now(0)
}

/// Moves this process, and with it all that follow, into the cgroup; from inside, that is the root.
fn join(cgroup: Option<Cgroup>) -> Result<(), StageError> {
    if let Some(cgroup) = cgroup {
        cgroup.enter()?;
    }
    sys::unshare(UnshareFlags::NEWCGROUP)
        .map_err(|e| StageError::os("namespaces", "cgroup namespace", &e))
}

fn prepare(plan: &Plan, survey: &Survey, watch: &OwnedFd) -> Result<(), StageError> {
    die_with_keeper(watch)?;
    if plan.backend != Backend::LinuxL3 {
        // Its memory holds the program's whole environment and the plan.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|e| StageError::os("init", "dumpable", &e.into()))?;
    }
    let _ = sys::set_hostname(c"creance");
    stamps::check(&plan.launch.stamps, stamps::Unseen::Refuse)?;
    view::enter(plan, survey)?;
    sys::block_signals().map_err(|e| StageError::os("init", "signals", &e))
}

fn die_with_keeper(watch: &OwnedFd) -> Result<(), StageError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|e| StageError::os("init", "death signal", &e.into()))?;
    let mut fds = [PollFd::new(watch, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match poll(&mut fds, Some(&now)) {
        Ok(0) => Ok(()),
        // The keeper died before the death signal was set.
        _ => Err(StageError::new("init", "the keeper is gone")),
    }
}

/// Reaps until the program has ended.
fn reap(program: Pid) -> Exit {
    loop {
        match sys::wait_signal() {
            Ok(libc::SIGTERM) => {
                let _ = rustix::process::kill_process(program, Signal::TERM);
            }
            Ok(_) => {
                if let Some(exit) = reap_ended(program) {
                    return exit;
                }
            }
            Err(_) => return Exit::KILLED,
        }
    }
}

fn reap_ended(program: Pid) -> Option<Exit> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == program => return Some(exit_of(status)),
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Some(Exit::KILLED),
        }
    }
}

/// The end of a process in our words.
pub(super) fn exit_of(status: WaitStatus) -> Exit {
    Exit {
        code: status.exit_status(),
        signal: status.terminating_signal(),
        limit: None,
    }
}

/// Tells main how the program ended.
pub(super) fn tell(control: impl AsFd, exit: Exit) {
    let Ok(mut line) = serde_json::to_string(&exit) else {
        return;
    };
    line.push('\n');
    if let Ok(control) = control.as_fd().try_clone_to_owned() {
        let _ = std::io::Write::write_all(&mut UnixStream::from(control), line.as_bytes());
    }
}
