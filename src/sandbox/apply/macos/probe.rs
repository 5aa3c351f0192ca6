//! Whether the backend works here: a scratch process is confined, and tries what it must not do. A
//! profile that this release of macOS reads in another way is found out before it is relied on.

use std::fs::File;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use super::sys;
use crate::grant::{Grant, Launch};
use crate::sandbox::advice::Failure;
use crate::sandbox::machine::Machine;
use crate::sandbox::plan::{Backend, plan};
use crate::sandbox::spawn::Stdio;

/// The name under which the scratch process is executed.
pub(super) const SCRATCH: &str = "creance-sandbox-scratch";

const CONNECT_MAX: Duration = Duration::from_secs(1);

/// The scratch process: its code is the number of the first thing that it could do.
pub(super) fn scratch(mut args: impl Iterator<Item = std::ffi::OsString>) -> ! {
    let (Some(file), Some(port)) = (args.next().map(PathBuf::from), args.next()) else {
        sys::exit_now(9)
    };
    let port = port.to_string_lossy().parse().unwrap_or(0);
    let reaches = || {
        let address = ([127, 0, 0, 1], port).into();
        TcpStream::connect_timeout(&address, CONNECT_MAX).is_ok()
    };
    let code = match () {
        () if File::open(&file).is_ok() => 1,
        () if File::create(file.with_extension("new")).is_ok() => 2,
        () if std::fs::remove_file(&file).is_ok() => 3,
        () if reaches() => 4,
        () => 0,
    };
    sys::exit_now(code)
}

/// What a code of the scratch process means.
const DONE: [&str; 4] = [
    "it read a file that was not granted",
    "it wrote where nothing was granted",
    "it removed a file that was not granted",
    "it reached a port of this machine",
];

/// Confines a scratch process that tries to get out.
pub(crate) fn try_backend(backend: Backend) -> Result<(), Failure> {
    trial(backend).map_err(|error| Failure::plain(&error))
}

fn trial(backend: Backend) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(failed)?;
    let folder_path = folder.path().canonicalize().map_err(failed)?;
    let file = folder_path.join("file");
    File::create(&file)
        .and_then(|mut file| file.write_all(b"not for you"))
        .map_err(failed)?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let program = std::env::current_exe().map_err(failed)?;
    let launch = Launch {
        program: program.clone(),
        name: SCRATCH.to_owned(),
        args: vec![file.to_string_lossy().into_owned(), port.to_string()],
        cwd: PathBuf::from("/"),
        stamps: Vec::new(),
    };
    let grant = Grant {
        read: vec![program],
        ..Grant::default()
    };
    let plan = plan(&Machine::only(backend.name()), &launch, &grant);
    let plan = plan.map_err(|error| error.to_string())?;
    // A thread of its own: the caller may be inside a runtime, which cannot wait in itself.
    let waited = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let confined = crate::sandbox::spawn(plan, Stdio::Inherit).await;
            let mut confined = confined.map_err(|error| error.to_string())?;
            Ok::<_, String>(confined.wait().await)
        })
    });
    let exit = waited.join().map_err(|_| "the trial ended early")??;
    let code = exit.code.and_then(|code| usize::try_from(code).ok());
    match code {
        Some(0) => Ok(()),
        Some(code) if code <= DONE.len() => {
            let what = DONE.get(code - 1).copied().unwrap_or_default();
            Err(format!("the profile does not hold on this system: {what}"))
        }
        _ => Err(format!("the trial {exit}")),
    }
}

/// Whether this process is the real root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// There is no Landlock here.
pub(crate) fn landlock_abi() -> u32 {
    0
}

/// The system's name and release.
pub(crate) fn system() -> String {
    let name = rustix::system::uname();
    format!(
        "{} {}",
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy()
    )
}
