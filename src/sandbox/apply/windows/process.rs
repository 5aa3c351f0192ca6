//! The program: started in the job of this process with a token without rights.

use std::os::windows::ffi::OsStrExt as _;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle};
use std::path::Path;

use windows_sys::Win32::System::Threading::{CREATE_NO_WINDOW, CREATE_UNICODE_ENVIRONMENT};

use super::sys::{self, Start};
use crate::sandbox::plan::{Console, Plan, block, command_line, job};
use crate::sandbox::spawn::StageError;

/// Starts the program of a plan on the streams of this process.
pub(super) fn start(plan: &Plan) -> Result<OwnedHandle, StageError> {
    let launch = &plan.launch;
    let program = launch.program.to_string_lossy();
    let mut line = command_line(&program, &launch.name, &launch.args)
        .map_err(|why| StageError::new("exec", format!("`{program}`: {why}")))?;
    let token = sys::restricted_token().map_err(|e| StageError::os("token", "restrict", &e))?;
    let flags = match job(plan).console {
        Console::Shared => CREATE_UNICODE_ENVIRONMENT,
        Console::Absent => CREATE_UNICODE_ENVIRONMENT | CREATE_NO_WINDOW,
    };
    let start = Start {
        program: &text(&launch.program),
        line: &mut line,
        block: &block(plan.env.0.iter()),
        folder: &text(&launch.cwd),
        flags,
        streams: [
            std::io::stdin().as_raw_handle(),
            std::io::stdout().as_raw_handle(),
            std::io::stderr().as_raw_handle(),
        ],
    };
    sys::start(&token, start).map_err(|e| StageError::os("exec", format!("`{program}`"), &e))
}

fn text(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}
