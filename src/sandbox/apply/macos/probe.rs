//! Whether the backend works here: a scratch process is confined, and tries what it must not do. A
//! profile that this release of macOS reads in another way is found out before it is relied on.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use super::{entry, sys};
use crate::grant::{Grant, Launch};
use crate::sandbox::advice::START;
use crate::sandbox::machine::Machine;
use crate::sandbox::plan::{Backend, plan};
use crate::sandbox::spawn::{StageError, Stdio};

/// The name under which the scratch process is executed.
pub(super) const SCRATCH: &str = "creance-sandbox-scratch";

const CONNECT_MAX: Duration = Duration::from_secs(1);

/// Something that is tried inside, and whether it was done.
type Attempt = (&'static str, fn(&Ground) -> bool);

/// What a scratch process must not be able to do. Its code is the place of the first that it did, from
/// 1; the last is what it must be able to do.
const ATTEMPTS: &[Attempt] = &[
    ("it read a file that was not granted", |ground| {
        File::open(ground.root.join("file")).is_ok()
    }),
    ("it wrote where nothing was granted", |ground| {
        File::create(ground.root.join("new")).is_ok()
    }),
    ("it removed a file that was not granted", |ground| {
        std::fs::remove_file(ground.root.join("file")).is_ok()
    }),
    ("it reached a port of this machine", |ground| {
        let address = ([127, 0, 0, 1], ground.port).into();
        TcpStream::connect_timeout(&address, CONNECT_MAX).is_ok()
    }),
    ("it wrote where a guard stands", |ground| {
        File::create(ground.root.join("open/guard/new")).is_ok()
    }),
    (
        "it wrote where a guard stands, in another spelling",
        |ground| File::create(ground.root.join("open/GUARD/new")).is_ok(),
    ),
    ("it moved a guard away", |ground| {
        std::fs::rename(
            ground.root.join("open/guard"),
            ground.root.join("open/away"),
        )
        .is_ok()
    }),
    ("it made what is to stay absent", |ground| {
        std::fs::create_dir(ground.root.join("open/Absent")).is_ok()
    }),
    ("it read what is hidden", |ground| {
        File::open(ground.root.join("open/hidden")).is_ok()
    }),
    ("it signalled a process outside", |_| {
        rustix::process::getppid()
            .is_some_and(|parent| rustix::process::test_kill_process(parent).is_ok())
    }),
    ("it could not write what was granted", |ground| {
        File::create(ground.root.join("open/new")).is_err()
    }),
];

/// Where a scratch process tries.
struct Ground {
    root: PathBuf,
    port: u16,
}

/// The scratch process.
pub(super) fn scratch(mut args: impl Iterator<Item = std::ffi::OsString>) -> ! {
    let (Some(root), Some(port)) = (args.next(), args.next()) else {
        sys::exit_now(entry::FAILED)
    };
    let ground = Ground {
        root: root.into(),
        port: port.to_string_lossy().parse().unwrap_or(0),
    };
    let done = ATTEMPTS.iter().position(|(_, attempt)| attempt(&ground));
    let code = done.and_then(|at| i32::try_from(at + 1).ok());
    sys::exit_now(code.unwrap_or(0))
}

/// Confines a scratch process that tries to get out.
pub(crate) fn try_backend(backend: Backend) -> Result<(), StageError> {
    trial(backend).map_err(|error| StageError::new(START, error))
}

fn trial(backend: Backend) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(failed)?;
    let root = folder.path().canonicalize().map_err(failed)?;
    std::fs::create_dir_all(root.join("open/guard")).map_err(failed)?;
    for file in ["file", "open/hidden"] {
        std::fs::write(root.join(file), "not for you").map_err(failed)?;
    }
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let program = std::env::current_exe().map_err(failed)?;
    let launch = Launch {
        program: program.clone(),
        name: SCRATCH.to_owned(),
        args: vec![root.to_string_lossy().into_owned(), port.to_string()],
        cwd: PathBuf::from("/"),
        stamps: Vec::new(),
    };
    let grant = Grant {
        read: vec![program],
        write: vec![root.join("open")],
        protect: vec![root.join("open/guard"), root.join("open/absent")],
        hide: vec![root.join("open/hidden")],
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
    let done = code.and_then(|code| ATTEMPTS.get(code.checked_sub(1)?));
    match (code, done) {
        (Some(0), _) => Ok(()),
        (_, Some((what, _))) => Err(format!("the profile does not hold on this system: {what}")),
        (_, None) => Err(format!("the trial {exit}")),
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
