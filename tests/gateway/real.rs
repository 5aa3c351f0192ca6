//! Installs the real servers and clients once, into `target/real`, under a lock.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The npm packages of `real/package.json`.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) program: PathBuf,
    pub(crate) packages: PathBuf,
}

impl Node {
    /// The start file of one of the servers.
    pub(crate) fn server(&self, name: &str) -> String {
        let file = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
        path_text(&self.packages.join(file))
    }
}

/// A virtual environment with the packages of one list below `real/`.
#[derive(Debug)]
pub(crate) struct Python {
    pub(crate) folder: PathBuf,
}

impl Python {
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder
            .join(if cfg!(windows) { "Scripts" } else { "bin" })
            .join(name)
    }
}

/// What a test needs, or `None` after saying why the test is skipped.
///
/// # Panics
/// When it is missing and `CREANCE_REQUIRE_REAL=1` says that nothing may be skipped.
#[track_caller]
pub(crate) fn need<T>(found: &'static Result<T, String>, test: &str) -> Option<&'static T> {
    match found {
        Ok(found) => Some(found),
        Err(why) if env::var("CREANCE_REQUIRE_REAL").is_ok_and(|v| v == "1") => {
            panic!("{test} may not be skipped (CREANCE_REQUIRE_REAL=1): {why}")
        }
        Err(why) => {
            println!("skipped: {test}: {why}");
            None
        }
    }
}

/// Node with the npm servers and the TypeScript client.
pub(crate) fn node() -> &'static Result<Node, String> {
    static NODE: OnceLock<Result<Node, String>> = OnceLock::new();
    NODE.get_or_init(|| {
        let program = find("node")?;
        let npm = find("npm")?;
        let lock = include_str!("real/package-lock.json");
        let packages = once("npm", lock, |folder| {
            write(
                &folder.join("package.json"),
                include_str!("real/package.json"),
            )?;
            write(&folder.join("package-lock.json"), lock)?;
            let quiet = [
                "ci",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
            ];
            run(Command::new(&npm).args(quiet).current_dir(folder))
        })?;
        Ok(Node { program, packages })
    })
}

/// The environment of the official Python client.
pub(crate) fn python_client() -> &'static Result<Python, String> {
    static CLIENT: OnceLock<Result<Python, String>> = OnceLock::new();
    CLIENT.get_or_init(|| environment("py-client", include_str!("real/client.txt")))
}

/// The environment of `mcp-server-git`.
pub(crate) fn python_git() -> &'static Result<Python, String> {
    static GIT: OnceLock<Result<Python, String>> = OnceLock::new();
    GIT.get_or_init(|| {
        find("git")?;
        environment("py-git", include_str!("real/git.txt"))
    })
}

/// An npm cache in which `npx -y` finds `server-memory` without a network.
pub(crate) fn npx_cache() -> &'static Result<PathBuf, String> {
    static CACHE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    CACHE.get_or_init(|| {
        let npx = find("npx")?;
        once("npx-cache", MEMORY, |folder| {
            let mut command = Command::new(&npx);
            // `node -e 0` in the package's place: fills the cache and starts nothing.
            command.args(["-y", "--package", MEMORY, "--", "node", "-e", "0"]);
            run(command.env("npm_config_cache", folder).current_dir(folder))
        })
    })
}

/// What `npx -y` is asked for.
pub(crate) const MEMORY: &str = "@modelcontextprotocol/server-memory@2026.8.31";

fn environment(name: &str, list: &str) -> Result<Python, String> {
    environment_of(&find("python3")?, name, list)
}

/// The same for one interpreter.
pub(crate) fn environment_of(python: &Path, name: &str, list: &str) -> Result<Python, String> {
    run(Command::new(python).args([
        "-c",
        "import sys, venv; sys.exit(sys.version_info < (3, 10))",
    ]))
    .map_err(|why| format!("python3 with venv, 3.10 or later, is needed: {why}"))?;
    // An environment is bound to the interpreter that made it.
    let stamp = format!("{list}{}", python.display());
    let folder = once(name, &stamp, |folder| {
        run(Command::new(python).args(["-m", "venv"]).arg(folder))?;
        write(&folder.join("list.txt"), list)?;
        let quiet = [
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-input",
            "-r",
        ];
        let pip = Python {
            folder: folder.to_path_buf(),
        }
        .program("pip");
        run(Command::new(pip).args(quiet).arg(folder.join("list.txt")))
    })?;
    Ok(Python { folder })
}

/// A folder of `target/real` that `fill` has filled for this `stamp`; filled anew when it was not.
///
/// The lock keeps test processes apart; the stamp is written last, so that a broken installation
/// is never taken for a whole one.
fn once(
    name: &str,
    stamp: &str,
    fill: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("real");
    let told = |error: std::io::Error| format!("{}: {error}", root.display());
    fs::create_dir_all(&root).map_err(told)?;
    let lock = File::create(root.join(format!("{name}.lock"))).map_err(told)?;
    lock.lock().map_err(told)?;
    let (folder, mark) = (root.join(name), root.join(format!("{name}.stamp")));
    if fs::read_to_string(&mark).is_ok_and(|old| old == stamp) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(told)?;
    }
    fs::create_dir_all(&folder).map_err(told)?;
    fill(&folder)?;
    write(&mark, stamp)?;
    Ok(folder)
}

/// Runs a command to its end; its last words are the reason when it fails.
fn run(command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = words.lines().rev().take(5).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(format!(
        "{} failed: {}",
        command.get_program().display(),
        last.join(" / ")
    ))
}

/// A program on `PATH`, with links of version managers followed by asking it.
fn find(name: &str) -> Result<PathBuf, String> {
    let names = if cfg!(windows) {
        [format!("{name}.exe"), format!("{name}.cmd")]
    } else {
        [name.to_string(), name.to_string()]
    };
    let path = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&path).flat_map(|folder| names.clone().map(|n| folder.join(n)));
    places
        .into_iter()
        .find(|p| p.is_file())
        .ok_or(format!("`{name}` is not on PATH"))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// A path as text; the paths of these tests are.
pub(crate) fn path_text(path: &Path) -> String {
    path.to_str()
        .expect("a path of the tests is UTF-8")
        .to_string()
}
