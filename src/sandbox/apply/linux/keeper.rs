//! The helper's outer half. It surveys the disk as the machine sees it, enters new namespaces,
//! starts process 1 in them, and then only watches: when main is gone, everything is killed.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions};
use rustix::thread::UnshareFlags;

use super::cgroup::Cgroup;
use super::entry::{Handed, fail};
use super::survey::Survey;
use super::sys::{self, Disposition, Forked};
use super::watch::Watch;
use super::{bare, doorway, init, probe};
use crate::grant::Network;
use crate::sandbox::exit::Exit;
use crate::sandbox::plan::{Backend, Plan};
use crate::sandbox::spawn::StageError;

/// What the keys of a terminal send.
pub(super) const KEYS: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGTTOU];

/// Carries out the plan. Never returns.
pub(super) fn run(handed: Handed) -> ! {
    settle(&handed.plan);
    let (handed, error) = match handed.plan.backend {
        Backend::LinuxL3 | Backend::LinuxNs | Backend::LinuxNsNoproc => match prepare(&handed) {
            Ok(entered) => divide(handed, entered),
            Err(error) => (handed, error),
        },
        Backend::LinuxLandlock | Backend::None => bare::run(handed),
        other @ (Backend::MacosSeatbelt | Backend::WindowsJob) => {
            let error = format!("{other} is not for this system");
            (handed, StageError::new("backend", error))
        }
    };
    fail(handed.status, &error)
}

/// What runs inside, seen from here.
struct Inner {
    survey: Survey,
    watch: Watch,
    pid: Pid,
    pidfd: OwnedFd,
    /// The program has our terminal.
    terminal: bool,
    /// Closed when this process dies: process 1 checks it once its death signal is set.
    _hold: OwnedFd,
}

fn settle(plan: &Plan) {
    // Where the machine's memory runs out, what runs in a sandbox goes first. It can only be raised.
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    // Executed by descriptor, it would be called `exe`.
    let _ = rustix::thread::set_name(c"creance-keeper");
    if !plan.terminal {
        let _ = rustix::process::setsid();
        return;
    }
    // The keys of the terminal are for the program; this process ends when the program does.
    for signal in KEYS {
        sys::set_signal(signal, Disposition::Ignore);
    }
}

/// A third of the machine's memory more than it has.
const OOM_SCORE: &str = "300";

/// The namespaces are there; process 1 is not yet.
struct Entered {
    survey: Survey,
    cgroup: Option<Cgroup>,
    watch: OwnedFd,
    hold: OwnedFd,
    null: OwnedFd,
}

fn prepare(handed: &Handed) -> Result<Entered, StageError> {
    let plan = &handed.plan;
    let null = null().map_err(|e| StageError::os("devices", "/dev/null", &e))?;
    let (watch, hold) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|e| StageError::os("fork", "pipe", &e.into()))?;
    let survey = Survey::of(plan)?;
    let cgroup = group(plan).and_then(|group| {
        let entered = unshare(plan).and_then(|()| connect(handed));
        if let (Err(_), Some(group)) = (&entered, &group) {
            group.remove();
        }
        entered.map(|()| group)
    });
    let cgroup = match cgroup {
        Ok(cgroup) => cgroup,
        Err(error) => {
            survey.tidy();
            return Err(error);
        }
    };
    Ok(Entered {
        survey,
        cgroup,
        watch,
        hold,
        null,
    })
}

/// Forks process 1. Returns only when that failed.
fn divide(handed: Handed, entered: Entered) -> (Handed, StageError) {
    let Entered {
        survey,
        cgroup,
        watch: watched,
        hold,
        null,
    } = entered;
    match sys::fork() {
        Err(error) => {
            give_up(&survey, cgroup.as_ref());
            (handed, StageError::os("fork", "process 1", &error))
        }
        Ok(Forked::Child) => {
            drop(hold);
            // By value: were a copy of the status left open here, main would wait for its end.
            let Handed {
                plan,
                status,
                control,
            } = handed;
            let ends = init::Ends {
                status,
                control: &control,
                watch: watched,
                null,
                cgroup,
            };
            init::run(&plan, &survey, ends)
        }
        Ok(Forked::Parent(pid)) => {
            leave_streams(&null);
            match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
                Ok(pidfd) => {
                    drop(handed.status);
                    let inner = Inner {
                        survey,
                        watch: Watch::new(&handed.plan.limits, cgroup, pid),
                        pid,
                        pidfd,
                        terminal: handed.plan.terminal,
                        _hold: hold,
                    };
                    attend(inner, &handed.control)
                }
                Err(error) => {
                    give_up(&survey, cgroup.as_ref());
                    (handed, StageError::os("fork", "pidfd", &error.into()))
                }
            }
        }
    }
}

fn give_up(survey: &Survey, cgroup: Option<&Cgroup>) {
    survey.tidy();
    if let Some(cgroup) = cgroup {
        cgroup.remove();
    }
}

/// The cgroup of the tree, where there can be one.
pub(super) fn group(plan: &Plan) -> Result<Option<Cgroup>, StageError> {
    let make = |offer| Cgroup::make(offer, &plan.limits);
    plan.cgroup.as_ref().map(make).transpose()
}

fn unshare(plan: &Plan) -> Result<(), StageError> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    let stage = |stage: &'static str| move |e: io::Error| StageError::os(stage, stage, &e);
    if probe::is_root() {
        sys::drop_groups().map_err(stage("groups"))?;
    }
    sys::unshare(UnshareFlags::NEWUSER).map_err(stage("user-namespace"))?;
    let map = |file: &str, text: String| fs::write(file, text);
    map("/proc/self/setgroups", "deny".to_owned()).map_err(stage("user-map"))?;
    map("/proc/self/uid_map", format!("{uid} {uid} 1\n")).map_err(stage("user-map"))?;
    map("/proc/self/gid_map", format!("{gid} {gid} 1\n")).map_err(stage("user-map"))?;
    let mut flags = UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    let own_network = plan.network != Network::Whole;
    if own_network {
        flags |= UnshareFlags::NEWNET;
    }
    sys::unshare(flags).map_err(stage("namespaces"))?;
    if own_network {
        let socket = rustix::net::socket_with(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::DGRAM,
            rustix::net::SocketFlags::CLOEXEC,
            None,
        )
        .map_err(|e| StageError::os("loopback", "socket", &e.into()))?;
        sys::loopback_up(socket).map_err(stage("loopback"))?;
    }
    Ok(())
}

/// The way to a proxy, where hosts are decided one by one.
fn connect(handed: &Handed) -> Result<(), StageError> {
    match handed.plan.network {
        Network::Hosts => doorway::open(&handed.control),
        Network::None | Network::Whole => Ok(()),
    }
}

/// A descriptor of `/dev/null`, taken before the view changes.
pub(super) fn null() -> io::Result<OwnedFd> {
    Ok(File::options()
        .read(true)
        .write(true)
        .open("/dev/null")?
        .into())
}

/// Lets go of the program's streams: only the program itself keeps them open.
pub(super) fn leave_streams(null: &OwnedFd) {
    let _ = rustix::stdio::dup2_stdin(null);
    let _ = rustix::stdio::dup2_stdout(null);
    let _ = rustix::stdio::dup2_stderr(null);
}

/// Stays until process 1 is gone, and tidies up.
fn attend(mut inner: Inner, control: &OwnedFd) -> ! {
    inner.watch.until_ended(&inner.pidfd, control);
    let _ = rustix::process::waitpid(Some(inner.pid), WaitOptions::empty());
    inner.survey.tidy();
    finish(&inner.watch, control);
    if inner.terminal {
        take_terminal_back();
    }
    sys::exit_now(0)
}

/// Tells main of the limit that was reached, and removes the cgroup.
pub(super) fn finish(watch: &Watch, control: &OwnedFd) {
    if let Some(hit) = watch.reached() {
        let exit = Exit {
            limit: Some(hit),
            ..Exit::KILLED
        };
        init::tell(control, exit);
    }
    if let Some(cgroup) = watch.cgroup() {
        cgroup.remove();
    }
}

/// A shell inside makes a group of its own the terminal's. From inside it cannot name the group that
/// was there before, so when it is gone we bring back ours: otherwise who reads next is stopped.
fn take_terminal_back() {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(tty) = rustix::fs::open("/dev/tty", flags, Mode::empty()) else {
        return;
    };
    let gone = |group| rustix::process::test_kill_process_group(group) == Err(Errno::SRCH);
    if rustix::termios::tcgetpgrp(&tty).is_ok_and(gone) {
        // The signal that this raises in a background process is ignored here.
        let _ = rustix::termios::tcsetpgrp(&tty, rustix::process::getpgrp());
    }
}
