//! A stage for one test: a home folder of its own, a project with a git repository, and the
//! gateway that sees nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::real::{self, path_text};

/// A secret that no server may read.
pub(crate) const SECRET: &str = "PRIVATE-KEY-OF-THE-TEST";

/// Folders of one test; gone when it ends.
#[derive(Debug)]
pub(crate) struct Stage {
    _folder: TempDir,
    /// Sockets want a short path.
    runtime: TempDir,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::within(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// A stage in this folder.
    pub(crate) fn within(folder: TempDir) -> Self {
        let root = folder.path().canonicalize().unwrap();
        let (home, project) = (root.join("home"), root.join("home/project"));
        let stage = Self {
            _folder: folder,
            runtime: TempDir::new().unwrap(),
            home,
            project,
        };
        stage.write("home/.ssh/id_ed25519", SECRET);
        stage.write("home/private.txt", SECRET);
        stage.write("home/project/docs/guide.md", "a guide");
        stage.write("home/project/notes.txt", "some notes");
        stage.git(&["init", "--quiet", "--initial-branch=main"]);
        stage.git(&["add", "--all"]);
        stage.git(&[
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "commit",
            "--quiet",
            "-m",
            "first",
        ]);
        stage
    }

    /// Writes a file below the stage's root, with its folders.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.home.parent().unwrap().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, args: &[&str]) {
        let mut command = Command::new("git");
        command
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1");
        match command.args(args).current_dir(&self.project).output() {
            Ok(output) => assert!(
                output.status.success(),
                "git {args:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            ),
            // Without git there is still something to protect.
            Err(_) => self.write("home/project/.git/HEAD", "ref: refs/heads/main\n"),
        }
    }

    /// The user's configuration: servers by name, each `{command, args, …}`.
    pub(crate) fn servers(&self, servers: &Value) {
        self.configure(&json!({ "mcpServers": servers }));
    }

    /// The user's whole configuration.
    pub(crate) fn configure(&self, config: &Value) {
        self.write("home/.config/creance/config.json", &config.to_string());
    }

    /// The user's policies.
    pub(crate) fn policy(&self, text: &str) {
        self.write("home/.config/creance/policies/test.cedar", text);
    }

    /// The whole environment of the gateway and of its commands.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let home = |below: &str| path_text(&self.home.join(below));
        vec![
            ("HOME", home("")),
            ("XDG_CONFIG_HOME", home(".config")),
            ("XDG_STATE_HOME", home(".local/state")),
            ("XDG_DATA_HOME", home(".local/share")),
            ("XDG_CACHE_HOME", home(".cache")),
            ("XDG_RUNTIME_DIR", path_text(self.runtime.path())),
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("LANG", "C.UTF-8".to_string()),
        ]
    }

    /// The gateway as a client starts it.
    pub(crate) fn gateway(&self) -> Value {
        let env: Map<String, Value> = self
            .environment()
            .into_iter()
            .map(|(k, v)| (k.into(), v.into()))
            .collect();
        json!({ "command": env!("CARGO_BIN_EXE_creance"), "args": ["serve"], "env": env, "cwd": path_text(&self.project) })
    }

    /// One command of the binary, in the project.
    pub(crate) fn creance(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_creance"));
        command
            .args(args)
            .current_dir(&self.project)
            .env_clear()
            .envs(self.environment());
        command
    }

    /// Runs one command of the binary to its end: exit code, and all that it said.
    #[track_caller]
    pub(crate) fn says(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = self.creance(args).output().unwrap();
        let words = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&words).into())
    }

    /// What one command of the binary prints as JSON, and its exit code.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> (Option<i32>, Value) {
        let output = self.creance(args).output().unwrap();
        let parsed = serde_json::from_slice(&output.stdout);
        let said = || String::from_utf8_lossy(&output.stderr).into_owned();
        (
            output.status.code(),
            parsed.unwrap_or_else(|e| panic!("{e}: {}", said())),
        )
    }

    /// The chain of the audit log holds.
    #[track_caller]
    pub(crate) fn audit_verifies(&self) {
        let (code, words) = self.says(&["audit", "verify"]);
        assert_eq!(code, Some(0), "{words}");
    }
}

/// What a server must read outside the system: the packages and, where a version manager keeps
/// them elsewhere, the interpreters.
pub(crate) fn read_paths() -> Vec<String> {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("real");
    let programs = [
        ("node", "-p", "process.execPath"),
        ("python3", "-c", "import sys; print(sys.base_prefix)"),
    ];
    let ask = |(name, flag, code): (&str, &str, &str)| {
        let output = Command::new(name).args([flag, code]).output().ok()?;
        let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        let folder = if path.is_file() {
            path.parent()?.parent()?.to_path_buf()
        } else {
            path
        };
        (!folder.starts_with("/usr") && folder.is_dir()).then(|| path_text(&folder))
    };
    programs
        .into_iter()
        .filter_map(ask)
        .chain([path_text(&root)])
        .collect()
}

/// A node server of `real/package.json`, as a user configures it.
pub(crate) fn node_server(node: &real::Node, name: &str, args: &[&str]) -> Value {
    let mut all = vec![node.server(name)];
    all.extend(args.iter().map(ToString::to_string));
    json!({ "command": path_text(&node.program), "args": all, "readPaths": read_paths() })
}
