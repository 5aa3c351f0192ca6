//! Calls that change the ground itself: mounts, namespaces, the machine, wide parts of the kernel.
//! Each must be refused before its arguments are looked at.

use super::super::super::sys;
use super::super::ground::Ground;
use super::super::raw;
use super::{Attempts, Told, Try, refused, skip, stopped};

const AT_FDCWD: i64 = -100;
const OPEN_TREE_CLONE: i64 = 1;
const NEWUSER: i64 = 0x1000_0000;
const NEWTIME: i64 = 0x80;
const BAD: i64 = -1;

pub(super) const ATTEMPTS: Attempts = &[
    ("unshare-user", |_| refused(libc::SYS_unshare, &[NEWUSER])),
    ("unshare-mounts", |_| {
        refused(libc::SYS_unshare, &[libc::CLONE_NEWNS.into()])
    }),
    ("unshare-network", |_| {
        refused(libc::SYS_unshare, &[libc::CLONE_NEWNET.into()])
    }),
    ("unshare-time", |_| refused(libc::SYS_unshare, &[NEWTIME])),
    ("clone-user", |_| clone(NEWUSER)),
    ("clone-mounts", |_| clone(libc::CLONE_NEWNS.into())),
    ("clone3", clone3),
    ("setns", |_| refused(libc::SYS_setns, &[BAD, 0])),
    ("mount", |_| refused(libc::SYS_mount, &[0, 0, 0, 0, 0])),
    ("umount", |_| refused(libc::SYS_umount2, &[0, 0])),
    ("open-tree", |_| {
        refused(libc::SYS_open_tree, &[AT_FDCWD, 0, OPEN_TREE_CLONE])
    }),
    ("open-tree-attr", |_| {
        refused(467, &[AT_FDCWD, 0, OPEN_TREE_CLONE, 0, 0])
    }),
    ("move-mount", |_| {
        refused(libc::SYS_move_mount, &[BAD, 0, BAD, 0, 0])
    }),
    ("fsopen", |_| refused(libc::SYS_fsopen, &[0, 0])),
    ("fsconfig", |_| {
        refused(libc::SYS_fsconfig, &[BAD, 0, 0, 0, 0])
    }),
    ("fsmount", |_| refused(libc::SYS_fsmount, &[BAD, 0, 0])),
    ("fspick", |_| refused(libc::SYS_fspick, &[BAD, 0, 0])),
    ("mount-setattr", |_| {
        refused(libc::SYS_mount_setattr, &[BAD, 0, 0, 0, 0])
    }),
    ("pivot-root", |_| refused(libc::SYS_pivot_root, &[0, 0])),
    ("chroot", |_| refused(libc::SYS_chroot, &[0])),
    ("bpf", |_| refused(libc::SYS_bpf, &[0, 0, 0])),
    ("perf", |_| {
        refused(libc::SYS_perf_event_open, &[0, 0, -1, -1, 0])
    }),
    ("userfaultfd", |_| refused(libc::SYS_userfaultfd, &[1])),
    ("io-uring", |_| refused(libc::SYS_io_uring_setup, &[4, 0])),
    ("io-uring-enter", |_| {
        refused(libc::SYS_io_uring_enter, &[BAD, 0, 0, 0, 0, 0])
    }),
    ("io-uring-register", |_| {
        refused(libc::SYS_io_uring_register, &[BAD, 0, 0, 0])
    }),
    ("keyctl", |_| refused(libc::SYS_keyctl, &[0, -3, 1, 0, 0])),
    ("add-key", |_| refused(libc::SYS_add_key, &[0, 0, 0, 0, 0])),
    ("request-key", |_| {
        refused(libc::SYS_request_key, &[0, 0, 0, 0])
    }),
    ("vmsplice", |_| refused(libc::SYS_vmsplice, &[BAD, 0, 0, 0])),
    ("x32", |_| refused(0x4000_0000 | 39, &[])),
    ("int-80", int_80),
    ("unknown-calls", unknown),
    ("kexec", |_| {
        refused(libc::SYS_kexec_load, &[0, 0, 0, 0xdead])
    }),
    ("kexec-file-call", |_| {
        refused(libc::SYS_kexec_file_load, &[BAD, BAD, 0, 0, 0xdead])
    }),
    ("load-module", |_| {
        refused(libc::SYS_init_module, &[0, 0, 0])
    }),
    ("load-module-file", |_| {
        refused(libc::SYS_finit_module, &[BAD, 0, 0xdead])
    }),
    ("remove-module", |_| {
        refused(libc::SYS_delete_module, &[0, 0])
    }),
    ("reboot", |_| refused(libc::SYS_reboot, &[0, 0, 0, 0])),
    ("swap-on", |_| refused(libc::SYS_swapon, &[0, 0])),
    ("swap-off", |_| refused(libc::SYS_swapoff, &[0])),
    ("accounting", |_| refused(libc::SYS_acct, &[1])),
    ("quota", |_| refused(libc::SYS_quotactl, &[BAD, 0, 0, 0])),
    ("kernel-log", |_| refused(libc::SYS_syslog, &[10, 0, 0])),
    ("hang-up", |_| refused(libc::SYS_vhangup, &[])),
    ("set-clock", |_| refused(libc::SYS_clock_settime, &[0, 0])),
    ("set-time", |_| refused(libc::SYS_settimeofday, &[1, 0])),
    ("adjust-clock", |_| {
        refused(libc::SYS_clock_adjtime, &[0, 0])
    }),
    ("adjust-time", |_| refused(libc::SYS_adjtimex, &[0])),
    ("set-hostname", |_| refused(libc::SYS_sethostname, &[1, 1])),
    ("set-domainname", |_| {
        refused(libc::SYS_setdomainname, &[1, 1])
    }),
    ("io-ports", io_ports),
    ("type-into-terminal", |_| {
        refused(libc::SYS_ioctl, &[0, TIOCSTI, 0])
    }),
    ("type-high-bit", |_| {
        refused(libc::SYS_ioctl, &[0, TIOCSTI | HIGH, 0])
    }),
    ("paste-into-console", |_| {
        refused(libc::SYS_ioctl, &[0, TIOCLINUX, 0])
    }),
    ("paste-high-bit", |_| {
        refused(libc::SYS_ioctl, &[0, TIOCLINUX | HIGH, 0])
    }),
    ("take-console", |_| {
        refused(libc::SYS_ioctl, &[0, 0x541d, 0])
    }),
    ("terminal-is-there", |_| {
        super::through_if(
            rustix::termios::isatty(rustix::stdio::stdin()),
            "no terminal",
        )
    }),
    ("terminal-type", |_| type_key(TIOCSTI)),
    ("terminal-type-high-bit", |_| type_key(TIOCSTI | HIGH)),
    ("terminal-paste", |_| type_key(TIOCLINUX)),
    ("terminal-by-tty", by_tty),
    ("line-discipline", |_| {
        refused(libc::SYS_ioctl, &[0, 0x5423, 0])
    }),
];

const TIOCSTI: i64 = 0x5412;
const TIOCLINUX: i64 = 0x541c;
/// The kernel reads 32 bits of a request.
const HIGH: i64 = 1 << 32;

/// On the terminal that is this program's own.
fn type_key(request: i64) -> Try {
    if !rustix::termios::isatty(rustix::stdio::stdin()) {
        return Err(skip("no terminal"));
    }
    typed(raw::type_key(rustix::stdio::stdin(), request))
}

fn typed(result: std::io::Result<()>) -> Try {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::EIO) => {
            Err(skip("this kernel lets nobody type into terminals"))
        }
        other => Ok(other?),
    }
}

/// Through a new descriptor of the terminal, taken by name.
fn by_tty(_: &Ground) -> Try {
    let tty = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/tty")?;
    typed(raw::type_key(tty, TIOCSTI))
}

/// Numbers that Linux has not given to a call when this was written.
const UNKNOWN: std::ops::Range<libc::c_long> = 470..512;

fn clone(flags: i64) -> Try {
    match raw::call(libc::SYS_clone, &[flags | i64::from(libc::SIGCHLD)]) {
        Ok(0) => sys::exit_now(0),
        Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Its flags lie in memory that no filter reads, so it must not be there at all; and libraries must
/// be told so, or they do not use the older call.
fn clone3(_: &Ground) -> Try {
    match raw::call(libc::SYS_clone3, &[0, 0]) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(target_arch = "x86_64")]
fn int_80(_: &Ground) -> Try {
    let own = i64::from(rustix::process::getpid().as_raw_nonzero().get());
    match raw::call_32() {
        pid if pid == own => Ok(()),
        other => Err(stopped(format!("it gave {other}"))),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn int_80(_: &Ground) -> Try {
    Err(skip("a door of x86-64"))
}

/// A call that is newer than the list of refused ones must not be there: no list knows it.
fn unknown(_: &Ground) -> Try {
    for number in UNKNOWN {
        match raw::call(number, &[BAD, BAD, BAD, BAD, BAD, BAD]) {
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {}
            _ => return Ok(()),
        }
    }
    Err(Told::Stopped(
        "the kernel is told to have none of them".to_owned(),
    ))
}

#[cfg(target_arch = "x86_64")]
fn io_ports(_: &Ground) -> Try {
    refused(libc::SYS_iopl, &[3]).or_else(|_| refused(libc::SYS_ioperm, &[0x80, 1, 1]))
}

#[cfg(not(target_arch = "x86_64"))]
fn io_ports(_: &Ground) -> Try {
    Err(skip("a door of x86-64"))
}
