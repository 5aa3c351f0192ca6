//! A home, a project, secrets and listeners to attack, and the grant of an ordinary server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use creance::{Confinement, Exit, Grant, Launch, guarded, internal};

pub(crate) struct World {
    /// Removed with it; a world that another process made is not.
    _dir: Option<tempfile::TempDir>,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) temp: PathBuf,
}

pub(crate) struct Output {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) exit: Exit,
    pub(crate) confinement: Confinement,
}

pub(crate) fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The backends of this machine that work; the others are named with the reason.
pub(crate) fn backends() -> Vec<String> {
    let forced = std::env::var("CREANCE_TEST_BACKEND").ok();
    let mut working = Vec::new();
    for backend in creance::examine().backends {
        if forced
            .as_ref()
            .is_some_and(|forced| *forced != backend.name)
        {
            continue;
        }
        match backend.failure {
            None => working.push(backend.name),
            Some(why) => println!("skipped {}: {why}", backend.name),
        }
    }
    assert!(
        !working.is_empty() || forced.is_some(),
        "no backend works here"
    );
    working
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let at = |name: &str| root.join(name);
        let world = Self {
            home: at("home"),
            project: at("home/project"),
            outside: at("outside"),
            temp: at("temp"),
            _dir: Some(dir),
        };
        for folder in [
            "home/.ssh",
            "home/.aws",
            "home/project/.git/hooks",
            "home/project/.git/objects",
            "outside",
            "temp",
            "home/.tool",
        ] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (file, text) in [
            ("home/.ssh/id_rsa", "SECRET-KEY"),
            ("home/.aws/credentials", "SECRET-AWS"),
            ("home/.bashrc", "rc"),
            ("home/notes.txt", "notes"),
            ("home/.tool/data", "tool"),
            ("home/.tool/token", "SECRET-TOKEN"),
            ("home/project/.env", "SECRET-ENV"),
            ("home/project/a.txt", "a"),
            ("home/project/.git/hooks/pre-commit", "hook"),
            ("home/project/.git/config", "[core]\n"),
            ("outside/target.txt", "target"),
        ] {
            fs::write(at(file), text).unwrap();
        }
        world
    }

    /// The world that another process made around this home.
    pub(crate) fn at(home: &Path) -> Self {
        let root = home.parent().unwrap();
        Self {
            _dir: None,
            home: home.to_owned(),
            project: home.join("project"),
            outside: root.join("outside"),
            temp: root.join("temp"),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.home.parent().unwrap().to_owned()
    }

    pub(crate) fn grant(&self) -> Grant {
        let mut grant = Grant {
            home: Some(self.home.clone()),
            read: vec![self.home.join(".tool"), self.outside.clone()],
            write: vec![self.project.clone()],
            protect: protect(&self.project),
            hide: vec![
                self.home.join(".ssh"),
                self.home.join(".tool/token"),
                self.project.join(".env"),
                "/etc/shadow".into(),
            ],
            temp: Some(self.temp.clone()),
            ..Grant::default()
        };
        grant.read.push(std::env::current_exe().unwrap());
        grant.env.0.insert("PATH".into(), path_variable());
        grant
            .env
            .0
            .insert("HOME".into(), self.home.display().to_string());
        grant
    }

    pub(crate) fn shell(&self, script: &str) -> Launch {
        Launch {
            program: fs::canonicalize("/bin/sh").unwrap(),
            name: "sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: self.project.clone(),
            stamps: Vec::new(),
        }
    }
}

/// Where this machine has git and python3, of the places that a sandbox shows.
pub(crate) fn path_variable() -> String {
    "/usr/local/bin:/usr/bin:/bin".to_owned()
}

pub(crate) fn protect(project: &Path) -> Vec<PathBuf> {
    guarded::PROTECTED
        .iter()
        .map(|name| project.join(name))
        .collect()
}

/// Runs a program to its end.
pub(crate) fn run(backend: &str, launch: &Launch, grant: &Grant) -> Result<Output, String> {
    block_on(async {
        let mut running = internal::start(backend, launch, grant).await?;
        let (out, err, exit) = running.finish(b"").await;
        Ok(Output {
            out,
            err,
            exit,
            confinement: running.confinement.clone(),
        })
    })
}

/// Everything below a folder, with its text: to see that nothing changed.
pub(crate) fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                all.push((path.clone(), Vec::new()));
                open.push(path);
            } else {
                all.push((path.clone(), fs::read(&path).unwrap_or_default()));
            }
        }
    }
    all.sort();
    all
}
