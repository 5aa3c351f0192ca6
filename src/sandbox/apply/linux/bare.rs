//! Confining without namespaces: the program is a child of the keeper, in a session of its own,
//! behind Landlock and seccomp. The keeper adopts what the program leaves behind and kills it by
//! walking the process table; a process that forks during the walk is met on the next round.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::cgroup::Cgroup;
use super::entry::{Handed, fail};
use super::sys::{self, Forked};
use super::watch::Watch;
use super::{init, keeper, privileges, stamps, target};
use crate::sandbox::exit::Exit;
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::StageError;

/// Rounds of the walk; each one kills everything that is found.
const ROUNDS_MAX: usize = 200;

/// Starts the program and watches it. Returns only when it could not be started.
pub(super) fn run(handed: Handed) -> (Handed, StageError) {
    match start(&handed) {
        Ok(program) => {
            let Handed {
                status,
                control,
                plan,
            } = handed;
            drop(status);
            attend(program, &control, &plan)
        }
        Err(error) => (handed, error),
    }
}

struct Program {
    pid: Pid,
    pidfd: OwnedFd,
    cgroup: Option<Cgroup>,
}

fn start(handed: &Handed) -> Result<Program, StageError> {
    let os =
        |what: &'static str| move |e: rustix::io::Errno| StageError::os("keeper", what, &e.into());
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(os("subreaper"))?;
    stamps::check(&handed.plan.launch.stamps, stamps::Unseen::Refuse)?;
    if rustix::process::geteuid().is_root() {
        // Landlock does not hide other processes from one that may trace them all.
        sys::drop_groups().map_err(|e| StageError::os("groups", "drop", &e))?;
    }
    let null = keeper::null().map_err(|e| StageError::os("devices", "/dev/null", &e))?;
    let cgroup = keeper::group(&handed.plan)?;
    match sys::fork().map_err(|e| StageError::os("fork", "program", &e))? {
        Forked::Child => match (handed.status.try_clone(), enter(cgroup)) {
            (Ok(status), Ok(())) => target::run(&handed.plan, status),
            (Ok(status), Err(error)) => fail(status, &error),
            (Err(_), _) => sys::exit_now(125),
        },
        Forked::Parent(pid) => {
            keeper::leave_streams(&null);
            let _ = privileges::drop_all();
            let pidfd =
                rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(os("pidfd"))?;
            Ok(Program { pid, pidfd, cgroup })
        }
    }
}

fn enter(cgroup: Option<Cgroup>) -> Result<(), StageError> {
    cgroup.map_or(Ok(()), |cgroup| cgroup.enter())
}

fn attend(program: Program, control: &OwnedFd, plan: &Plan) -> ! {
    let Program { pid, pidfd, cgroup } = program;
    // What it leaves behind becomes ours, so the tree begins here.
    let mut watch = Watch::new(&plan.limits, cgroup, rustix::process::getpid());
    watch.until_ended(&pidfd, control);
    let exit = match rustix::process::waitpid(Some(pid), WaitOptions::empty()) {
        Ok(Some((_, status))) => init::exit_of(status),
        _ => Exit::KILLED,
    };
    if let Some(cgroup) = watch.cgroup() {
        // Nobody in it can escape by forking.
        cgroup.kill();
    }
    kill_descendants();
    init::tell(control, exit.explained(&plan.limits));
    keeper::finish(&watch, control);
    sys::exit_now(0)
}

/// Kills every process below this one until none is left.
fn kill_descendants() {
    for _ in 0..ROUNDS_MAX {
        let children = children();
        if children.is_empty() {
            return;
        }
        for pid in &children {
            let _ = rustix::process::kill_process(*pid, Signal::KILL);
        }
        // Their children become ours and are met on the next round.
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The processes whose parent is this one.
fn children() -> Vec<Pid> {
    let path = format!(
        "/proc/self/task/{}/children",
        rustix::thread::gettid().as_raw_pid()
    );
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect()
}
