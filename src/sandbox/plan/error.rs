//! Why no plan can be made.

use std::fmt;
use std::path::PathBuf;

/// A grant that cannot be turned into a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanError {
    /// A path is not absolute or holds `.` or `..`.
    NotAbsolute(PathBuf),
    /// A path is not UTF-8 or holds a NUL byte.
    NotText(PathBuf),
    /// The home folder is a folder of the system.
    Home(PathBuf),
    /// A folder of the kernel, or the whole disk for writing.
    Kernel(PathBuf),
    /// A forced backend does not exist.
    UnknownBackend(String),
    /// A text for the process holds a NUL byte or, in a variable's name, `=`.
    BadText(String),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAbsolute(path) => write!(
                f,
                "`{}` is not an absolute, plain path: write it without `.` and `..`, from `/`",
                path.display()
            ),
            Self::NotText(path) => write!(
                f,
                "`{}` is not valid UTF-8 text: rename it to use it in a sandbox",
                path.display()
            ),
            Self::Home(path) => write!(
                f,
                "the home folder `{}` holds the system, so it cannot be hidden: set HOME to a \
                 folder of your own",
                path.display()
            ),
            Self::Kernel(path) => write!(
                f,
                "`{}` belongs to the system and cannot be granted as a whole",
                path.display()
            ),
            Self::UnknownBackend(name) => write!(
                f,
                "there is no sandbox backend `{name}`: use linux-l3, linux-ns, linux-ns-noproc, \
                 linux-landlock, macos-seatbelt, windows-job or none"
            ),
            Self::BadText(what) => {
                write!(f, "{what} holds a NUL byte or is not a valid name")
            }
        }
    }
}

impl std::error::Error for PlanError {}
