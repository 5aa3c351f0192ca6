//! The system calls that no safe wrapper covers, one small function each.
#![expect(
    unsafe_code,
    reason = "fork, signals, mount_setattr and close_range have no safe wrapper"
)]

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use rustix::thread::UnshareFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

pub(super) use crate::sandbox::apply::fork::{Forked, exit_now, fork};

/// Attributes of a mount for [`mount_setattr`].
pub(super) const RDONLY: u64 = libc::MOUNT_ATTR_RDONLY;
/// No set-user-id programs.
pub(super) const NOSUID: u64 = libc::MOUNT_ATTR_NOSUID;
/// No devices.
pub(super) const NODEV: u64 = libc::MOUNT_ATTR_NODEV;
/// No programs.
pub(super) const NOEXEC: u64 = libc::MOUNT_ATTR_NOEXEC;

/// Unshares namespaces of a single-threaded process.
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: only namespaces are unshared, never the descriptor table, so no owned descriptor is
    // invalidated. WHY: rustix marks every unshare unsafe because of `CLONE_FILES`.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Sets or clears attributes of the mount at `fd`.
pub(super) fn mount_setattr(fd: impl AsFd, set: u64, clear: u64, reach: Reach) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: clear,
        propagation: 0,
        userns_fd: 0,
    };
    let recursive = match reach {
        Reach::One => 0,
        Reach::Tree => libc::AT_RECURSIVE,
    };
    // SAFETY: the path is an empty C string, `attributes` outlives the call and its size is given.
    // WHY: rustix has no `mount_setattr`.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd.as_fd().as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    check(result)
}

/// How far a mount attribute reaches.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reach {
    One,
    Tree,
}

/// Brings the loopback interface of this network namespace up.
pub(super) fn loopback_up(socket: impl AsFd) -> io::Result<()> {
    // SAFETY: an all-zero `ifreq` is a valid value of this plain C struct.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    let flags = libc::IFF_UP | libc::IFF_RUNNING;
    request.ifr_ifru.ifru_flags = i16::try_from(flags).map_err(io::Error::other)?;
    // SAFETY: `request` is a valid `ifreq` and outlives the call. WHY: rustix has no interface
    // flags.
    let result = unsafe {
        libc::ioctl(
            socket.as_fd().as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw const request,
        )
    };
    check(result.into())
}

/// The network namespace of a socket. Only who has power over that namespace is told.
pub(super) fn network_of(socket: impl AsFd) -> io::Result<OwnedFd> {
    /// `SIOCGSKNS` of `linux/sockios.h`; libc does not name it.
    const SIOCGSKNS: u32 = 0x894C;
    // SAFETY: this request takes no argument and gives a new descriptor. WHY: rustix has no call for
    // it.
    let fd = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), SIOCGSKNS as _, 0) };
    check(fd.into())?;
    // SAFETY: the call above just made this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Closes every descriptor from `first` on.
pub(super) fn close_from(first: u32) -> io::Result<()> {
    close_range(first, 0)
}

/// Marks every descriptor from `first` on to be closed by `exec`.
pub(super) fn close_from_at_exec(first: u32) -> io::Result<()> {
    close_range(first, libc::CLOSE_RANGE_CLOEXEC)
}

fn close_range(first: u32, flags: u32) -> io::Result<()> {
    // SAFETY: called with numbers above every descriptor that this code owns, or only to set a
    // flag. WHY: rustix has no `close_range`.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, flags) })
}

/// Takes over a descriptor that was handed to the helper by number.
pub(super) fn take_fd(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: `fcntl` with `F_GETFD` only asks whether the number is open.
    let open = unsafe { libc::fcntl(number, libc::F_GETFD) };
    if open < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the number is open and nothing else in this just started process owns it. WHY: a
    // descriptor that is passed through `exec` has no owner yet.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Blocks the signals that process 1 waits for.
pub(super) fn block_signals() -> io::Result<()> {
    let set = signal_set();
    // SAFETY: `set` is initialised and outlives the call; the old mask is not asked for. WHY:
    // rustix has no signal masks.
    check(
        unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) }.into(),
    )
}

/// Unblocks what [`block_signals`] blocked.
pub(super) fn unblock_signals() -> io::Result<()> {
    let set = signal_set();
    // SAFETY: as above.
    check(
        unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) }
            .into(),
    )
}

/// Waits for one of the blocked signals and gives its number.
pub(super) fn wait_signal() -> io::Result<i32> {
    let set = signal_set();
    let mut signal = 0;
    // SAFETY: both pointers are valid for the call. WHY: rustix has no `sigwait`.
    match unsafe { libc::sigwait(&raw const set, &raw mut signal) } {
        0 => Ok(signal),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn signal_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set it is given.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in [libc::SIGTERM, libc::SIGCHLD] {
        // SAFETY: the set was initialised above; the signal numbers are valid.
        unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    }
    // SAFETY: initialised by `sigemptyset`.
    unsafe { set.assume_init() }
}

/// What is done with a signal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Disposition {
    Default,
    Ignore,
}

/// Sets what is done with a signal.
pub(super) fn set_signal(signal: i32, disposition: Disposition) {
    let handler = match disposition {
        Disposition::Default => libc::SIG_DFL,
        Disposition::Ignore => libc::SIG_IGN,
    };
    // SAFETY: `SIG_DFL` and `SIG_IGN` are valid handlers; no code of ours runs in a handler. WHY:
    // rustix has no safe `signal`.
    unsafe { libc::signal(signal, handler) };
}

/// Sets the host name of an own UTS namespace.
pub(super) fn set_hostname(name: &CStr) -> io::Result<()> {
    Ok(rustix::system::sethostname(name.to_bytes())?)
}

/// Drops the supplementary groups of root. The root of an unprivileged container may not, and has
/// only those of the user who started it.
pub(super) fn drop_groups() -> io::Result<()> {
    match rustix::thread::set_thread_groups(&[]) {
        Err(rustix::io::Errno::PERM) => Ok(()),
        other => Ok(other?),
    }
}

/// The Landlock ABI of the kernel, 0 without.
pub(super) fn landlock_abi() -> u32 {
    const VERSION: libc::c_int = 1;
    // SAFETY: with this flag the kernel takes no attributes and creates nothing. WHY: the landlock
    // crate keeps the number to itself.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION,
        )
    };
    u32::try_from(result).unwrap_or(0)
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A descriptor that the runtime tells when it can be read.
pub(super) fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` keeps its descriptor open and the same until it is dropped with the
    // `AsyncFd`. WHY: tokio cannot know that of every type.
    unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.map_err(Into::into)
}
