//! The probe: this program again, inside the sandbox, under a name of its own. Makes each attempt in
//! a process of its own, so that one that hangs or dies costs only itself, and tells what it got.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, WaitOptions};

use super::super::sys::{self, Forked};
use super::attempts::{self, Attempt, Told};
use super::ground::Ground;
use super::raw;
use crate::sandbox::escape::{Answer, Got};
use crate::sandbox::plan::Backend;

/// The name under which the probe is executed.
pub(crate) const PROBE: &str = "creance-sandbox-probe";

/// What a probe does, its first argument.
pub(super) mod role {
    /// Makes the attempts of a ground.
    pub(in super::super) const TRY: &str = "try";
    /// Waits until its input ends.
    pub(in super::super) const WAIT: &str = "wait";
    /// Detaches, ignores signals, and counts in a file.
    pub(in super::super) const DAEMON: &str = "daemon";
    /// Puts things in its own folders, then waits.
    pub(in super::super) const HOLD: &str = "hold";
    /// Tries to forge its end.
    pub(in super::super) const FORGE: &str = "forge";
    /// Says whether it runs with the rights of its file's owner.
    pub(in super::super) const WHO: &str = "who";
    /// Says which files it can read.
    pub(in super::super) const REACH: &str = "reach";
    /// Outside: starts a sandbox on a terminal.
    pub(in super::super) const TERMINAL: &str = "terminal";
}

/// Time for one attempt.
const ATTEMPT_MAX: Timespec = Timespec {
    tv_sec: 5,
    tv_nsec: 0,
};

/// What a daemon does at most, every five milliseconds.
const BEATS_MAX: u64 = 2_000;

/// The end of a forger, which must be told as it was.
pub(super) const FORGED_END: i32 = 3;

/// Runs when this process was executed as the probe.
pub(crate) fn run() -> ! {
    let mut args = std::env::args_os().skip(1);
    let (role, rest) = (args.next().unwrap_or_default(), args.next());
    let rest = rest.unwrap_or_default();
    let code = match role.as_bytes() {
        word if word == role::TRY.as_bytes() => try_all(rest.as_bytes()),
        word if word == role::WAIT.as_bytes() => wait(),
        word if word == role::DAEMON.as_bytes() => daemon(rest.as_ref()),
        word if word == role::HOLD.as_bytes() => attempts::hold(rest.as_bytes()),
        word if word == role::FORGE.as_bytes() => forge(),
        word if word == role::WHO.as_bytes() => attempts::who(),
        word if word == role::REACH.as_bytes() => super::reach::run(rest.as_bytes()),
        word if word == role::TERMINAL.as_bytes() => super::terminal::run(rest.as_bytes()),
        _ => 2,
    };
    sys::exit_now(code)
}

fn try_all(ground: &[u8]) -> i32 {
    let Ok(ground) = serde_json::from_slice::<Ground>(ground) else {
        return 2;
    };
    if ground.backend != Backend::None && !is_confined() {
        // Attempts are made to be stopped.
        return 2;
    }
    for id in &ground.attempts {
        let answer = match attempts::find(id) {
            Some(attempt) => apart(id, attempt, &ground),
            None => Answer::new(id, Got::Skipped, "this program has no such attempt"),
        };
        tell(&answer);
    }
    0
}

fn is_confined() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.contains("\nSeccomp:\t2\n") && status.contains("\nNoNewPrivs:\t1\n")
}

fn tell(answer: &Answer) {
    if let Ok(line) = serde_json::to_string(answer) {
        let _ = writeln!(io::stdout().lock(), "{line}");
    }
}

/// Makes one attempt in a child.
fn apart(id: &str, attempt: Attempt, ground: &Ground) -> Answer {
    let skipped = |what: &str, why: &dyn std::fmt::Display| {
        Answer::new(id, Got::Skipped, format!("{what}: {why}"))
    };
    let (answer, end) = match rustix::pipe::pipe_with(PipeFlags::CLOEXEC) {
        Ok(pipe) => pipe,
        Err(error) => return skipped("pipe", &error),
    };
    match fork_patiently() {
        Err(error) => skipped("fork", &error),
        Ok(Forked::Child) => {
            let answer = said(id, attempt(ground));
            let line = serde_json::to_vec(&answer).unwrap_or_default();
            let _ = std::fs::File::from(end).write_all(&line);
            sys::exit_now(0)
        }
        Ok(Forked::Parent(child)) => {
            drop(end);
            listen(id, std::fs::File::from(answer), child)
        }
    }
}

/// What an attempt before this one left may have to be cleared away first.
fn fork_patiently() -> io::Result<Forked> {
    for _ in 0..50 {
        match sys::fork() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return other,
        }
    }
    sys::fork()
}

fn listen(id: &str, mut answer: std::fs::File, child: Pid) -> Answer {
    let mut text = Vec::new();
    let mut fds = [PollFd::new(&answer, PollFlags::IN)];
    let in_time = poll(&mut fds, Some(&ATTEMPT_MAX)).is_ok_and(|ready| ready > 0);
    if in_time {
        let _ = answer.read_to_end(&mut text);
    }
    if !in_time {
        let _ = rustix::process::kill_process(child, Signal::KILL);
    }
    let ended = rustix::process::waitpid(Some(child), WaitOptions::empty());
    if let Ok(answer) = serde_json::from_slice(&text) {
        return answer;
    }
    if !in_time {
        return Answer::new(id, Got::Stopped, "it hung and was killed");
    }
    let signal = ended
        .ok()
        .flatten()
        .and_then(|(_, status)| status.terminating_signal());
    match signal {
        Some(signal) => Answer::new(id, Got::Stopped, format!("killed by signal {signal}")),
        None => Answer::new(id, Got::Skipped, "it ended without an answer"),
    }
}

fn said(id: &str, outcome: Result<(), Told>) -> Answer {
    match outcome {
        Ok(()) => Answer::new(id, Got::Through, ""),
        Err(Told::Through(what)) => Answer::new(id, Got::Through, what),
        Err(Told::Stopped(why)) => Answer::new(id, Got::Stopped, why),
        Err(Told::Sent) => Answer::new(id, Got::Sent, ""),
        Err(Told::Skipped(why)) => Answer::new(id, Got::Skipped, why),
    }
}

fn wait() -> i32 {
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    0
}

/// Detaches from everything and counts in a file until it cannot be written any more.
fn daemon(file: &std::path::Path) -> i32 {
    match sys::fork() {
        Ok(Forked::Child) => {}
        Ok(Forked::Parent(_)) => {
            let up = (0..400).any(|_| {
                std::thread::sleep(Duration::from_millis(5));
                file.exists()
            });
            let _ = writeln!(io::stdout().lock(), "{}", if up { "up" } else { "down" });
            return wait();
        }
        Err(_) => return 2,
    }
    let _ = rustix::process::setsid();
    if !matches!(sys::fork(), Ok(Forked::Child)) {
        return 0;
    }
    for signal in [libc::SIGHUP, libc::SIGTERM] {
        sys::set_signal(signal, sys::Disposition::Ignore);
    }
    let _ = sys::close_from(0);
    // One that is missed must not stay on a person's machine.
    for beat in 0..BEATS_MAX {
        if std::fs::write(file, beat.to_string()).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    0
}

/// Writes an end of its own making to every descriptor that it could have inherited.
fn forge() -> i32 {
    let end = b"{\"code\":0,\"signal\":null}\nready\n";
    let memory = rustix::fs::memfd_create("end", rustix::fs::MemfdFlags::empty());
    let Ok(memory) = memory.map(std::fs::File::from) else {
        return 2;
    };
    let _ = (&memory).write_all(end);
    let source = i64::from(memory.as_raw_fd());
    for fd in (3..64).filter(|fd| *fd != source) {
        let _ = io::Seek::rewind(&mut &memory);
        let _ = raw::call(libc::SYS_sendfile, &[fd, source, 0, 64]);
        let _ = raw::call(libc::SYS_shutdown, &[fd, 2]);
    }
    FORGED_END
}
