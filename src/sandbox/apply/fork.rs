//! One process becomes two, or ends at once: the same calls on every Unix.
#![expect(unsafe_code, reason = "fork and _exit have no safe wrapper")]

use std::io;

use rustix::process::Pid;

/// Where a fork continues.
pub(in crate::sandbox::apply) enum Forked {
    Child,
    Parent(Pid),
}

/// Forks. The helper has one thread, so the child may do anything.
pub(in crate::sandbox::apply) fn fork() -> io::Result<Forked> {
    // SAFETY: the helper is single-threaded (it runs before anything else in `main`), so no lock
    // can be held by another thread in the child. WHY: no safe wrapper exists for `fork`.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Pid::from_raw(pid)
            .map(Forked::Parent)
            .ok_or_else(|| io::Error::other("fork gave no process id")),
    }
}

/// Leaves the process at once, without running anything that the host program registered.
pub(in crate::sandbox::apply) fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` takes no pointers and does not return. WHY: `std::process::exit` would run
    // the exit handlers of the host program inside the helper.
    unsafe { libc::_exit(code) }
}
