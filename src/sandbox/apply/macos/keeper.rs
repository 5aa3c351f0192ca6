//! Stays outside: starts the program, ends with it as it ended, and kills its group when main is gone.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::entry::{FAILED, Handed, fail};
use super::start::TERMINATE;
use super::sys::{self, Disposition, Forked};
use super::target;
use crate::sandbox::spawn::StageError;

/// What the keys of a terminal send: for the program, not for its keeper.
pub(super) const KEYS: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGTTOU];

/// Time in which a killed program is gone.
const KILL_MAX: Duration = Duration::from_secs(5);

/// How far a kill reaches.
#[derive(Clone, Copy, Debug)]
enum Tree {
    /// The program leads a group of its own.
    Group,
    /// It is in the group of the terminal, with the user's shell.
    Alone,
}

/// Carries out the plan. Never returns.
pub(super) fn run(handed: Handed) -> ! {
    let Handed {
        plan,
        status,
        control,
    } = handed;
    for signal in KEYS {
        sys::set_signal(signal, Disposition::Ignore);
    }
    let tree = if plan.terminal {
        Tree::Alone
    } else {
        Tree::Group
    };
    match sys::fork() {
        Err(error) => fail(status, &StageError::os("fork", "program", &error)),
        Ok(Forked::Child) => {
            drop(control);
            target::run(&plan, status)
        }
        Ok(Forked::Parent(pid)) => {
            drop(status);
            watch(pid, &control, tree)
        }
    }
}

fn watch(pid: Pid, control: &OwnedFd, tree: Tree) -> ! {
    let mut room = Vec::with_capacity(2);
    let queue = match (sys::queue(pid, control), ended(pid)) {
        (Ok(queue), None) => queue,
        // There is no queue for a process that has ended already.
        (_, Some(status)) => {
            kill(pid, tree, Signal::KILL);
            leave(status)
        }
        // Without a queue nothing could be heard of main: then there is no program either.
        (Err(_), None) => end_by_kill(pid, tree),
    };
    loop {
        if let Some(status) = ended(pid) {
            kill(pid, tree, Signal::KILL);
            leave(status)
        }
        if sys::wait_for(&queue, &mut room).is_err() {
            continue;
        }
        match word(control) {
            Word::Terminate => kill(pid, tree, Signal::TERM),
            Word::Gone => end_by_kill(pid, tree),
            Word::Nothing => {}
        }
    }
}

enum Word {
    Terminate,
    Gone,
    Nothing,
}

/// What main says, without waiting.
fn word(control: &OwnedFd) -> Word {
    let mut byte = [0_u8; 1];
    let flags = rustix::net::RecvFlags::DONTWAIT;
    match rustix::net::recv(control, &mut byte, flags) {
        Ok((0, _)) => Word::Gone,
        Ok(_) if byte == [TERMINATE] => Word::Terminate,
        Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Word::Nothing,
        Err(_) => Word::Gone,
    }
}

fn end_by_kill(pid: Pid, tree: Tree) -> ! {
    let end = Instant::now() + KILL_MAX;
    loop {
        kill(pid, tree, Signal::KILL);
        if ended(pid).is_some() || Instant::now() > end {
            // What it left in its group in its last moment.
            kill(pid, tree, Signal::KILL);
            sys::die_of(libc::SIGKILL)
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(pid: Pid, tree: Tree, signal: Signal) {
    let _ = match tree {
        Tree::Group => rustix::process::kill_process_group(pid, signal),
        Tree::Alone => rustix::process::kill_process(pid, signal),
    };
}

fn ended(pid: Pid) -> Option<WaitStatus> {
    let waited = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    waited.ok().flatten().map(|(_, status)| status)
}

fn leave(status: WaitStatus) -> ! {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => sys::exit_now(code),
        (None, Some(signal)) => sys::die_of(signal),
        (None, None) => sys::exit_now(FAILED),
    }
}
