//! System calls that no program needs, made by their numbers. Only numbers are passed: no argument
//! points to memory of ours, so a call that is not refused finds nothing to work on.
#![expect(unsafe_code, reason = "an attack is a call that no wrapper offers")]

use std::io;

/// Makes a call. Unused arguments are 0.
pub(super) fn call(number: libc::c_long, args: &[i64]) -> io::Result<i64> {
    let at = |n: usize| args.get(n).copied().unwrap_or(0);
    // SAFETY: no argument is a valid pointer, so the kernel neither reads nor writes our memory, and
    // no call that is made here changes the memory map of this process. WHY: that these calls are
    // refused is what is tried.
    let result = unsafe { libc::syscall(number, at(0), at(1), at(2), at(3), at(4), at(5)) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Whether the kernel looked at a call at all. An error about its arguments says that it did.
pub(super) fn reaches(number: libc::c_long, args: &[i64]) -> io::Result<()> {
    match call(number, args) {
        Err(error) if is_refusal(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Whether an error is the sandbox's or the kernel's *no*.
pub(super) fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS | libc::EAFNOSUPPORT | libc::EROFS)
    )
}

/// The interface of 32-bit programs: `int 0x80` with the number of `getpid`.
#[cfg(target_arch = "x86_64")]
pub(super) fn call_32() -> i64 {
    const GETPID_32: i64 = 20;
    let mut result = GETPID_32;
    // SAFETY: `getpid` takes no arguments and touches no memory; every register that the entry may
    // change is named. WHY: no wrapper makes a call by this door.
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inout("rax") result,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    result
}

/// Types one key into a terminal, or pastes it.
pub(super) fn type_key(terminal: impl std::os::fd::AsFd, request: i64) -> io::Result<()> {
    let key = b"\n\0";
    let fd = std::os::fd::AsRawFd::as_raw_fd(&terminal.as_fd());
    // SAFETY: the requests that are made here read at most two bytes, which outlive the call. WHY: no
    // wrapper types into terminals.
    let result = unsafe { libc::syscall(libc::SYS_ioctl, i64::from(fd), request, key.as_ptr()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Whether a queue is to be there, or to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    Find,
    Make,
}

/// Opens a POSIX message queue.
pub(super) fn open_queue(name: &std::ffi::CStr, queue: Queue) -> io::Result<std::os::fd::OwnedFd> {
    let flags = match queue {
        Queue::Find => libc::O_RDONLY,
        Queue::Make => libc::O_RDONLY | libc::O_CREAT,
    };
    // SAFETY: the name outlives the call; no attributes are passed. WHY: no wrapper opens queues.
    let queue = unsafe {
        libc::mq_open(
            name.as_ptr(),
            flags,
            0o600,
            std::ptr::null_mut::<libc::mq_attr>(),
        )
    };
    if queue < 0 {
        return Err(io::Error::last_os_error());
    }
    super::super::sys::take_fd(queue)
}

/// Removes a POSIX message queue.
pub(super) fn remove_queue(name: &std::ffi::CStr) {
    // SAFETY: the name outlives the call. WHY: no wrapper removes queues.
    unsafe { libc::mq_unlink(name.as_ptr()) };
}
