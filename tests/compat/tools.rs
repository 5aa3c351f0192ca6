//! The programs of these tests: found where the user in question can run them, else the reason.

use std::env;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::real::{Python, environment_of};

/// A user under whom a line runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Who runs the tests.
    Me,
    /// Another one, where the tests run as root.
    Ordinary,
}

/// The uid of an ordinary user.
pub(crate) const ORDINARY: u32 = 1000;

impl User {
    pub(crate) fn all() -> Vec<Self> {
        if rustix::process::geteuid().is_root() {
            vec![Self::Me, Self::Ordinary]
        } else {
            vec![Self::Me]
        }
    }

    /// Lets a command run as this user.
    pub(crate) fn starts(self, command: &mut Command) {
        if self == Self::Ordinary {
            command.uid(ORDINARY).gid(ORDINARY);
        }
    }
}

/// A program that a line needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    name: &'static str,
    /// How it is asked for its version, to see that it runs.
    version: &'static str,
    /// Whether a machine may be without it, also where nothing else may be skipped.
    optional: bool,
}

const fn tool(name: &'static str, version: &'static str) -> Tool {
    Tool {
        name,
        version,
        optional: false,
    }
}

pub(crate) const GIT: Tool = tool("git", "--version");
pub(crate) const NODE: Tool = tool("node", "--version");
pub(crate) const NPM: Tool = tool("npm", "--version");
pub(crate) const PYTHON: Tool = tool("python3", "--version");
pub(crate) const CARGO: Tool = tool("cargo", "--version");
pub(crate) const CC: Tool = tool("cc", "--version");
pub(crate) const SCRIPT: Tool = tool("script", "--version");
pub(crate) const GO: Tool = Tool {
    name: "go",
    version: "version",
    optional: true,
};

/// A program that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) program: PathBuf,
}

/// pytest, for one interpreter.
pub(crate) fn pytest(python: &Path) -> &'static Result<Python, String> {
    static PYTEST: OnceLock<Result<Python, String>> = OnceLock::new();
    let list = include_str!("../gateway/real/pytest.txt");
    PYTEST.get_or_init(|| environment_of(python, "py-pytest", list))
}

/// `mcp-server-git`, for one interpreter.
pub(crate) fn server_git(python: &Path) -> &'static Result<Python, String> {
    static GIT: OnceLock<Result<Python, String>> = OnceLock::new();
    let list = include_str!("../gateway/real/git.txt");
    GIT.get_or_init(|| environment_of(python, "py-git-of", list))
}

/// Where version managers and packages put programs that all users can run.
const PLACES: &[&str] = &[
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/usr/local/go/bin",
    "/usr/lib/go/bin",
    "/opt/rust/bin",
];

/// What a sandbox shows without a grant.
const SHOWN: &[&str] = &["/usr", "/bin", "/lib", "/opt"];

impl Tool {
    /// The first of this name that the user can run. Starters of version managers are passed over:
    /// they look for the program in a home folder, and the stage has another.
    pub(crate) fn find(self, user: User) -> Result<Found, String> {
        let own = env::var_os("CARGO").map(PathBuf::from);
        let own = own.iter().filter_map(|cargo| cargo.parent());
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = own.map(Path::to_path_buf).chain(env::split_paths(&path));
        let programs = folders
            .chain(PLACES.iter().map(PathBuf::from))
            .map(|folder| folder.join(self.name));
        programs
            .filter(|program| !program.to_string_lossy().contains("/shims/"))
            .find(|program| self.runs(program, user))
            .map(|program| Found { program })
            .ok_or_else(|| format!("no `{}` that {user:?} can run", self.name))
    }

    fn runs(self, program: &Path, user: User) -> bool {
        let mut command = Command::new(program);
        command.arg(self.version).env_clear().current_dir("/");
        command
            .env("HOME", "/nonexistent")
            .env("PATH", "/usr/bin:/bin");
        user.starts(&mut command);
        let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
        silent.status().is_ok_and(|status| status.success())
    }

    pub(crate) fn is_optional(self) -> bool {
        self.optional
    }
}

impl Found {
    /// The folder that `PATH` needs.
    pub(crate) fn folder(&self) -> &Path {
        self.program.parent().unwrap_or(Path::new("/"))
    }

    /// The folder of the whole toolchain, where it must be granted.
    pub(crate) fn granted(&self) -> Option<&Path> {
        let shown = SHOWN.iter().any(|place| self.program.starts_with(place));
        let root = self.folder().parent()?;
        (!shown).then_some(root)
    }
}
