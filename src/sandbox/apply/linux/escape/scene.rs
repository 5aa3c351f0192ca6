//! The folders of a scene: a home with secrets, a project in it, places outside, and the grant that
//! an ordinary server would have there.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::probe::PROBE;
use crate::grant::{Environment, Grant, Launch, Limits, guarded};

/// Folders in a temporary one, which goes with the scene.
pub(super) struct Scene {
    root: tempfile::TempDir,
    pub(super) home: PathBuf,
    pub(super) project: PathBuf,
    pub(super) outside: PathBuf,
    pub(super) hidden: PathBuf,
    pub(super) temp: PathBuf,
}

const FOLDERS: &[&str] = &[
    "home/.ssh",
    "home/.aws",
    "home/.tool",
    "home/project/.git/hooks",
    "home/project/.git/objects",
    "home/project/granted",
    "outside",
    "outside/hidden",
    "temp",
];

const FILES: &[(&str, &str)] = &[
    ("home/.ssh/id_rsa", "SECRET-KEY"),
    ("home/.aws/credentials", "SECRET-AWS"),
    ("home/.bashrc", "rc"),
    ("home/notes.txt", "notes"),
    ("home/.tool/data", "tool"),
    ("home/.tool/token", "SECRET-TOKEN"),
    ("home/project/.env", "SECRET-ENV"),
    ("home/project/a.txt", "a"),
    ("home/project/.git/HEAD", "ref: refs/heads/main\n"),
    ("home/project/.git/hooks/pre-commit", "hook"),
    ("home/project/.git/config", "[core]\n"),
    ("outside/target.txt", "target"),
    ("outside/spare.txt", "spare"),
    ("outside/hidden/secret", "SECRET-HIDDEN"),
];

impl Scene {
    /// Makes the folders.
    pub(super) fn new() -> io::Result<Self> {
        let root = tempfile::Builder::new()
            .prefix("creance-escape-")
            .tempdir()?;
        let real = fs::canonicalize(root.path())?;
        for folder in FOLDERS {
            fs::create_dir_all(real.join(folder))?;
        }
        for (file, text) in FILES {
            fs::write(real.join(file), text)?;
        }
        Ok(Self {
            home: real.join("home"),
            project: real.join("home/project"),
            outside: real.join("outside"),
            hidden: real.join("outside/hidden"),
            temp: real.join("temp"),
            root,
        })
    }

    /// The folder of everything.
    pub(super) fn root(&self) -> &Path {
        self.root.path()
    }

    /// This program once more, as a file that would run as another user. Only root can make one.
    pub(super) fn set_user_id_file(&self) {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let file = self.outside.join("set-user-id");
        let made = std::env::current_exe()
            .and_then(|program| fs::copy(program, &file))
            .and_then(|_| std::os::unix::fs::chown(&file, Some(1), Some(1)))
            .and_then(|()| fs::set_permissions(&file, fs::Permissions::from_mode(0o6755)));
        if made.is_err() {
            let _ = fs::remove_file(file);
        }
    }

    /// What an ordinary server gets here.
    pub(super) fn grant(&self) -> io::Result<Grant> {
        let protect = guarded::PROTECTED
            .iter()
            .map(|name| self.project.join(name));
        let mut hide: Vec<PathBuf> = guarded::SYSTEM_SECRETS.iter().map(PathBuf::from).collect();
        hide.extend([
            self.home.join(".ssh"),
            self.home.join(".tool/token"),
            self.project.join(".env"),
            self.hidden.clone(),
        ]);
        Ok(Grant {
            home: Some(self.home.clone()),
            read: vec![
                self.home.join(".tool"),
                self.outside.clone(),
                std::env::current_exe()?,
            ],
            write: vec![self.project.clone(), self.project.join("granted")],
            protect: protect.collect(),
            hide,
            temp: Some(self.temp.clone()),
            env: Environment([("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into()),
            ..Grant::default()
        })
    }

    /// The same with little to spend.
    pub(super) fn small_grant(&self) -> io::Result<Grant> {
        let limits = Limits {
            memory_bytes: Some(512 << 20),
            processes: Some(310),
            cpu_s: Some(1),
            file_bytes: Some(1 << 20),
            open_files: Some(64),
            ..Limits::default()
        };
        Ok(Grant {
            limits,
            ..self.grant()?
        })
    }

    /// The probe in one of its roles.
    pub(super) fn launch(&self, role: &str, rest: String) -> io::Result<Launch> {
        Ok(Launch {
            program: std::env::current_exe()?,
            name: PROBE.to_owned(),
            args: vec![role.to_owned(), rest],
            cwd: self.project.clone(),
            stamps: Vec::new(),
        })
    }
}

/// Everything below a folder with its text, to see whether anything changed.
pub(super) fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = entry.file_type();
            if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
                open.push(path.clone());
                all.push((path, Vec::new()));
            } else if kind.is_ok_and(|kind| kind.is_file()) {
                let text = fs::read(&path).unwrap_or_default();
                all.push((path, text));
            } else {
                all.push((path, Vec::new()));
            }
        }
    }
    all.sort();
    all
}
