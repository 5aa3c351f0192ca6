//! The system calls that no safe wrapper covers, one small function each.
#![expect(
    unsafe_code,
    reason = "fork, exec-time descriptors, signals and the profile have no safe wrapper"
)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents};
use rustix::io::FdFlags;
use rustix::process::Pid;
use tokio::process::Command;

pub(super) use crate::sandbox::apply::fork::{Forked, exit_now, fork};

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

/// Lets a command start with the given descriptors as numbers 3, 4, 5, …
pub(super) fn pass_fds(command: &mut Command, fds: Vec<OwnedFd>) {
    let hook = move || place_fds(&fds);
    // SAFETY: the hook calls only `fcntl` and `dup2`, which are async-signal-safe, and allocates
    // nothing. WHY: `std` passes no descriptors but 0 to 2.
    unsafe { command.pre_exec(hook) };
}

fn place_fds(fds: &[OwnedFd]) -> io::Result<()> {
    let mut high = [-1; 4];
    for (slot, fd) in high.iter_mut().zip(fds) {
        // SAFETY: duplicates an owned, open descriptor to a free number from 64 on.
        *slot = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 64) };
        check(*slot)?;
    }
    for (slot, number) in high.iter().zip(3..).take(fds.len()) {
        // SAFETY: `slot` is open; whatever had `number` in this forked child is not used again.
        check(unsafe { libc::dup2(*slot, number) })?;
    }
    Ok(())
}

/// Marks every descriptor from `first` on to be closed by `exec`.
pub(super) fn close_from_at_exec(first: RawFd) -> io::Result<()> {
    for number in open_from(first)? {
        // SAFETY: borrowed only to set a flag; a number that was closed meanwhile is an error that
        // changes nothing. WHY: descriptors that others opened have no owner in this code.
        let fd = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC);
    }
    Ok(())
}

/// Closes every descriptor from `first` on: what the host program leaked.
pub(super) fn close_from(first: RawFd) -> io::Result<()> {
    for number in open_from(first)? {
        // SAFETY: called before this process opens anything of its own above `first`. WHY: macOS
        // has no `close_range`.
        unsafe { libc::close(number) };
    }
    Ok(())
}

fn open_from(first: RawFd) -> io::Result<Vec<RawFd>> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/dev/fd")? {
        let number = entry?.file_name().to_string_lossy().parse().unwrap_or(-1);
        if number >= first {
            open.push(number);
        }
    }
    Ok(open)
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

/// Ends this process by a signal, as its program ended.
pub(super) fn die_of(signal: i32) -> ! {
    set_signal(signal, Disposition::Default);
    // SAFETY: takes no pointers; the signal goes to this process. WHY: rustix names signals by a
    // type that not every number has.
    unsafe { libc::raise(signal) };
    exit_now(128 + signal)
}

/// Waits until a process has ended or a descriptor can be read; whether it was the descriptor.
pub(super) fn wait_for(queue: &OwnedFd, room: &mut Vec<Event>) -> io::Result<()> {
    room.clear();
    // SAFETY: nothing is added to the queue here. WHY: rustix marks it unsafe because of
    // descriptors in the list of changes, which is empty.
    unsafe {
        rustix::event::kqueue::kevent(queue, &[], rustix::buffer::spare_capacity(room), None)
    }?;
    Ok(())
}

/// A queue that tells of the end of a process and of a descriptor that can be read.
pub(super) fn queue(pid: Pid, control: &OwnedFd) -> io::Result<OwnedFd> {
    let queue = rustix::event::kqueue::kqueue()?;
    let ends = EventFilter::Proc {
        pid,
        flags: ProcessEvents::EXIT,
    };
    let said = EventFilter::Read(control.as_raw_fd());
    let add = |filter| Event::new(filter, EventFlags::ADD, std::ptr::null_mut());
    let changes = [add(ends), add(said)];
    let mut none: [Event; 0] = [];
    // SAFETY: `control` is owned by the caller for as long as the queue is used. WHY: a queue keeps
    // descriptors by number.
    unsafe { rustix::event::kqueue::kevent(&queue, &changes, &mut none, None) }?;
    Ok(queue)
}

unsafe extern "C" {
    fn sandbox_init(profile: *const c_char, flags: u64, error: *mut *mut c_char) -> c_int;
    fn sandbox_free_error(error: *mut c_char);
}

/// Confines this process and all that it starts, for good.
pub(super) fn confine(profile: &str) -> io::Result<()> {
    let profile = CString::new(profile)?;
    let mut error: *mut c_char = std::ptr::null_mut();
    // SAFETY: the profile is a C string that outlives the call; flags 0 say that it is the text of
    // a profile; `error` is a valid place. WHY: nothing else confines a process on macOS.
    let result = unsafe { sandbox_init(profile.as_ptr(), 0, &raw mut error) };
    if result == 0 {
        return Ok(());
    }
    if error.is_null() {
        return Err(io::Error::other("the profile was refused"));
    }
    // SAFETY: on failure `error` is a C string, valid until it is freed below.
    let said = unsafe { CStr::from_ptr(error) };
    let said = said.to_string_lossy().into_owned();
    // SAFETY: freed once, with the function that is for it.
    unsafe { sandbox_free_error(error) };
    Err(io::Error::other(said))
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
