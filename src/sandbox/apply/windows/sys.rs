//! The system calls that no safe wrapper covers, one small function each.
#![expect(
    unsafe_code,
    reason = "jobs, tokens, and processes with them have no safe wrapper"
)]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};

use windows_sys::Win32::Foundation::{
    HANDLE, HANDLE_FLAG_INHERIT, SetHandleInformation, WAIT_OBJECT_0,
};
use windows_sys::Win32::Security::{
    CreateRestrictedToken, CreateWellKnownSid, DISABLE_MAX_PRIVILEGE, SECURITY_MAX_SID_SIZE,
    SID_AND_ATTRIBUTES, TOKEN_ADJUST_DEFAULT, TOKEN_ASSIGN_PRIMARY, TOKEN_DUPLICATE, TOKEN_QUERY,
    WinBuiltinAdministratorsSid,
};
use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_PIPE, GetFileType};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOBOBJECTINFOCLASS, SetInformationJobObject,
};
use windows_sys::Win32::System::Threading::{
    CreateProcessAsUserW, GetCurrentProcess, GetExitCodeProcess, INFINITE, OpenProcessToken,
    PROCESS_INFORMATION, STARTUPINFOW, WaitForSingleObject,
};

/// Whether a handle goes to processes that are started from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heir {
    Children,
    Nobody,
}

/// Says who inherits a handle.
pub(super) fn inherit(handle: &impl AsRawHandle, heir: Heir) -> io::Result<()> {
    let flag = match heir {
        Heir::Children => HANDLE_FLAG_INHERIT,
        Heir::Nobody => 0,
    };
    // SAFETY: the handle is open, as it is borrowed. WHY: `std` inherits the standard streams only.
    check(unsafe { SetHandleInformation(handle.as_raw_handle(), HANDLE_FLAG_INHERIT, flag) })
}

/// Takes over a pipe that was handed to the helper by number.
pub(super) fn take_pipe(number: usize) -> io::Result<File> {
    let handle = number as RawHandle;
    // SAFETY: asks for the kind of whatever this number is; a number that is no handle is an error.
    if unsafe { GetFileType(handle) } != FILE_TYPE_PIPE {
        return Err(io::Error::other("not a pipe"));
    }
    // SAFETY: the handle is open and nothing else in this just started process owns it. WHY: what is
    // inherited by number has no owner yet.
    let file = unsafe { File::from_raw_handle(handle) };
    inherit(&file, Heir::Nobody)?;
    Ok(file)
}

/// A job without limits yet.
pub(super) fn job() -> io::Result<OwnedHandle> {
    // SAFETY: neither attributes nor a name. WHY: `std` knows no jobs.
    let job = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
    owned(job)
}

/// Sets one kind of limits of a job.
pub(super) fn limit<T>(job: &OwnedHandle, kind: JOBOBJECTINFOCLASS, limits: &T) -> io::Result<()> {
    let size = u32::try_from(size_of::<T>()).map_err(io::Error::other)?;
    let limits: *const T = limits;
    // SAFETY: `limits` is the structure of this kind (the callers pair them), valid for the call, and
    // its size is given. WHY: `std` knows no jobs.
    check(unsafe { SetInformationJobObject(job.as_raw_handle(), kind, limits.cast(), size) })
}

/// Puts this process, and all that it starts, into a job.
pub(super) fn enter(job: &OwnedHandle) -> io::Result<()> {
    // SAFETY: gives a number that means this process, and takes nothing.
    let this = unsafe { GetCurrentProcess() };
    // SAFETY: the job is open. WHY: `std` knows no jobs.
    check(unsafe { AssignProcessToJobObject(job.as_raw_handle(), this) })
}

/// This process's token without privileges, and in which membership in the administrators counts
/// only where it denies.
pub(super) fn restricted_token() -> io::Result<OwnedHandle> {
    let own = own_token()?;
    let mut sid = [0_u64; (SECURITY_MAX_SID_SIZE as usize).div_ceil(8)];
    let mut size = SECURITY_MAX_SID_SIZE;
    let place: *mut c_void = sid.as_mut_ptr().cast();
    let kind = WinBuiltinAdministratorsSid;
    // SAFETY: `sid` is aligned, has room for any SID, and its size is given. WHY: `std` knows no SIDs.
    check(unsafe { CreateWellKnownSid(kind, std::ptr::null_mut(), place, &raw mut size) })?;
    let disabled = SID_AND_ATTRIBUTES {
        Sid: place,
        Attributes: 0,
    };
    let mut token: HANDLE = std::ptr::null_mut();
    // SAFETY: one SID to disable, which outlives the call; nothing else is listed; `token` is a valid
    // place. WHY: `std` knows no tokens.
    check(unsafe {
        CreateRestrictedToken(
            own.as_raw_handle(),
            DISABLE_MAX_PRIVILEGE,
            1,
            &raw const disabled,
            0,
            std::ptr::null(),
            0,
            std::ptr::null(),
            &raw mut token,
        )
    })?;
    owned(token)
}

fn own_token() -> io::Result<OwnedHandle> {
    let access = TOKEN_ASSIGN_PRIMARY | TOKEN_DUPLICATE | TOKEN_QUERY | TOKEN_ADJUST_DEFAULT;
    let mut token: HANDLE = std::ptr::null_mut();
    // SAFETY: gives a number that means this process, and takes nothing.
    let this = unsafe { GetCurrentProcess() };
    // SAFETY: `token` is a valid place. WHY: `std` knows no tokens.
    check(unsafe { OpenProcessToken(this, access, &raw mut token) })?;
    owned(token)
}

/// What a process is started with; the texts are UTF-16 and end with NUL.
pub(super) struct Start<'a> {
    pub(super) program: &'a [u16],
    pub(super) line: &'a mut [u16],
    pub(super) block: &'a [u16],
    pub(super) folder: &'a [u16],
    pub(super) flags: u32,
    pub(super) streams: [RawHandle; 3],
}

/// Starts a process with another token.
pub(super) fn start(token: &OwnedHandle, start: Start<'_>) -> io::Result<OwnedHandle> {
    // SAFETY: a structure of numbers and pointers, for which zero is a value.
    let mut info: STARTUPINFOW = unsafe { std::mem::zeroed() };
    info.cb = u32::try_from(size_of::<STARTUPINFOW>()).map_err(io::Error::other)?;
    info.dwFlags = windows_sys::Win32::System::Threading::STARTF_USESTDHANDLES;
    [info.hStdInput, info.hStdOutput, info.hStdError] = start.streams;
    // SAFETY: as above.
    let mut made: PROCESS_INFORMATION = unsafe { std::mem::zeroed() };
    // SAFETY: every text ends with NUL and outlives the call, the line may be written to, the flags
    // say that the block is UTF-16. WHY: `std` starts processes with its own token only.
    check(unsafe {
        CreateProcessAsUserW(
            token.as_raw_handle(),
            start.program.as_ptr(),
            start.line.as_mut_ptr(),
            std::ptr::null(),
            std::ptr::null(),
            1,
            start.flags,
            start.block.as_ptr().cast(),
            start.folder.as_ptr(),
            &raw const info,
            &raw mut made,
        )
    })?;
    drop(owned(made.hThread));
    owned(made.hProcess)
}

/// Waits for the end of a process; its code.
pub(super) fn wait(process: &OwnedHandle) -> io::Result<u32> {
    // SAFETY: the process is open. WHY: `std` waits for its own children only.
    if unsafe { WaitForSingleObject(process.as_raw_handle(), INFINITE) } != WAIT_OBJECT_0 {
        return Err(io::Error::last_os_error());
    }
    let mut code = 0;
    // SAFETY: the process is open and `code` a valid place.
    check(unsafe { GetExitCodeProcess(process.as_raw_handle(), &raw mut code) })?;
    Ok(code)
}

fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made by a call that gives it to its caller.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

fn check(result: i32) -> io::Result<()> {
    if result == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
