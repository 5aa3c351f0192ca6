//! Seeing, signalling, tracing and steering other processes.

use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::os::fd::AsRawFd as _;

use rustix::process::{Pid, PidfdFlags, Signal};

use super::super::super::sys::{self, Forked};
use super::super::ground::{CANARY, Ground};
use super::super::raw;
use super::{Attempts, Told, Try, read, refused, stopped, through_if};
use crate::sandbox::plan::Backend;

pub(super) const ATTEMPTS: Attempts = &[
    ("env-own", |_| {
        through_if(
            std::env::vars_os().any(|(name, _)| name == CANARY),
            "not there",
        )
    }),
    ("env-others", |_| env_others()),
    ("env-of-1", |_| read("/proc/1/environ")),
    ("env-of-parent", |_| {
        canary_in(&format!("/proc/{}/environ", parent()))
    }),
    ("see-process", |g| {
        Ok(fs::metadata(of(g, "status")).map(drop)?)
    }),
    ("see-command-line", |g| read(of(g, "cmdline"))),
    ("signal-process", |g| {
        refused_or_gone(libc::SYS_kill, &[host(g), 0])
    }),
    ("signal-thread", |g| {
        refused_or_gone(libc::SYS_tgkill, &[host(g), host(g), 0])
    }),
    ("signal-by-pidfd", |g| {
        let process = rustix::process::pidfd_open(pid(g)?, PidfdFlags::empty())?;
        Ok(rustix::process::pidfd_send_signal(process, Signal::CONT)?)
    }),
    ("signal-by-io", signal_by_io),
    ("signal-group", |g| {
        refused_or_gone(libc::SYS_kill, &[-host(g), 0])
    }),
    ("process-limits", |g| {
        refused_or_gone(libc::SYS_prlimit64, &[host(g), 7, 0, 0])
    }),
    ("slow-process", |g| {
        refused_or_gone(libc::SYS_setpriority, &[0, host(g), 19])
    }),
    ("bind-process", |g| {
        refused_or_gone(libc::SYS_sched_setaffinity, &[host(g), 0, 0])
    }),
    ("trace-parent", |_| {
        refused(libc::SYS_ptrace, &[SEIZE, parent(), 0, 0])
    }),
    ("trace-sibling", trace_sibling),
    ("trace-me", |_| refused(libc::SYS_ptrace, &[0, 0, 0, 0])),
    ("read-memory", |_| {
        refused(libc::SYS_process_vm_readv, &[parent(), 0, 0, 0, 0, 0])
    }),
    ("write-memory", |_| {
        refused(libc::SYS_process_vm_writev, &[parent(), 0, 0, 0, 0, 0])
    }),
    ("memory-file-of-1", |_| open_memory("1")),
    ("memory-file-of-host", |g| {
        open_memory(&g.process.to_string())
    }),
    ("maps-of-1", |_| read("/proc/1/maps")),
    ("files-of-1", |_| {
        Ok(fs::read_link("/proc/1/fd/0").map(drop)?)
    }),
    ("pidfd-getfd", |_| {
        refused(libc::SYS_pidfd_getfd, &[-1, 0, 0])
    }),
    ("kcmp", |_| {
        refused(libc::SYS_kcmp, &[parent(), parent(), 0, 0, 0])
    }),
    ("process-madvise", |_| {
        refused(libc::SYS_process_madvise, &[-1, 0, 0, 0, 0])
    }),
    ("move-pages", |g| {
        refused_or_gone(libc::SYS_move_pages, &[host(g), 0, 0, 0, 0, 0])
    }),
    ("kill-init", kill_init),
    ("join-namespaces", join),
    ("oom-score", |g| {
        Ok(fs::write(of(g, "oom_score_adj"), "1000")?)
    }),
    ("core-pattern-owner", |g| {
        Ok(fs::write(of(g, "coredump_filter"), "0")?)
    }),
];

/// `PTRACE_SEIZE`.
const SEIZE: i64 = 0x4206;

fn host(ground: &Ground) -> i64 {
    ground.process.into()
}

fn pid(ground: &Ground) -> Result<Pid, Told> {
    Pid::from_raw(ground.process).ok_or_else(|| stopped("no process"))
}

fn of(ground: &Ground, file: &str) -> String {
    format!("/proc/{}/{file}", ground.process)
}

fn parent() -> i64 {
    rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get().into())
}

/// A process that is not there from here is out of reach.
fn refused_or_gone(number: libc::c_long, args: &[i64]) -> Try {
    match raw::call(number, args) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Err(error.into()),
        Err(error) if raw::is_refusal(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

fn canary_in(path: &str) -> Try {
    let mut text = Vec::new();
    fs::File::open(path)?.read_to_end(&mut text)?;
    let name = CANARY.as_bytes();
    let there = text.windows(name.len()).any(|part| part == name);
    through_if(there, "not in it")
}

fn env_others() -> Try {
    let all = fs::read_dir("/proc")?.flatten();
    let read = |entry: fs::DirEntry| {
        let path = entry.path().join("environ");
        canary_in(&path.to_string_lossy()).is_ok()
    };
    through_if(all.into_iter().any(read), "in none of them")
}

/// Makes the kernel send a signal for us, as for a pipe that has something to read.
fn signal_by_io(ground: &Ground) -> Try {
    let (reader, writer) = rustix::pipe::pipe()?;
    let fd: i64 = reader.as_raw_fd().into();
    raw::call(libc::SYS_fcntl, &[fd, F_SETOWN, host(ground)])?;
    raw::call(libc::SYS_fcntl, &[fd, F_SETSIG, libc::SIGKILL.into()])?;
    raw::call(
        libc::SYS_fcntl,
        &[fd, libc::F_SETFL.into(), libc::O_ASYNC.into()],
    )?;
    rustix::io::write(&writer, b"x")?;
    Err(Told::Sent)
}

const F_SETOWN: i64 = 8;
const F_SETSIG: i64 = 10;

fn trace_sibling(_: &Ground) -> Try {
    match sys::fork()? {
        Forked::Child => {
            std::thread::sleep(std::time::Duration::from_secs(5));
            sys::exit_now(0)
        }
        Forked::Parent(child) => {
            let sibling = child.as_raw_nonzero().get().into();
            let tried = refused(libc::SYS_ptrace, &[SEIZE, sibling, 0, 0]);
            let _ = rustix::process::kill_process(child, Signal::KILL);
            tried
        }
    }
}

fn open_memory(process: &str) -> Try {
    let path = format!("/proc/{process}/mem");
    Ok(OpenOptions::new().read(true).open(path).map(drop)?)
}

/// Process 1 of an own namespace must outlive its program's malice; another one must not be reached.
fn kill_init(ground: &Ground) -> Try {
    let own = matches!(ground.backend, Backend::LinuxL3 | Backend::LinuxNs);
    let signal = if own { libc::SIGKILL } else { 0 };
    raw::call(libc::SYS_kill, &[1, signal.into()])?;
    if own {
        // This process would be gone with it.
        std::thread::sleep(std::time::Duration::from_millis(20));
        return Err(stopped("process 1 takes no signals from inside"));
    }
    Ok(())
}

/// Joining the namespaces of a process outside, or of process 1.
fn join(ground: &Ground) -> Try {
    for process in [ground.process, 1] {
        for name in ["mnt", "net", "user", "pid"] {
            let Ok(file) = fs::File::open(format!("/proc/{process}/ns/{name}")) else {
                continue;
            };
            let fd = file.as_raw_fd().into();
            if raw::call(libc::SYS_setns, &[fd, 0]).is_ok() {
                return Ok(());
            }
        }
    }
    Err(stopped("none could be opened or joined"))
}
