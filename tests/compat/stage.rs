//! A home folder with a project in it, owned by one user, and commands run there by `creance run`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::tools::{Found, ORDINARY, Tool, User};

/// One thing that people do, as a shell script in the project.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// What it is called in messages.
    pub(crate) name: &'a str,
    pub(crate) needs: &'a [Tool],
    /// What is done before, outside the sandbox.
    pub(crate) before: &'a str,
    /// Options of `creance run`.
    pub(crate) options: &'a [&'a str],
    pub(crate) script: &'a str,
    /// The exit code.
    pub(crate) code: i32,
    /// Words that are said, each.
    pub(crate) says: &'a [&'a str],
}

impl<'a> Line<'a> {
    /// A line that succeeds and says something.
    pub(crate) const fn new(
        name: &'a str,
        needs: &'a [Tool],
        script: &'a str,
        says: &'a [&'a str],
    ) -> Self {
        Self {
            name,
            needs,
            before: "",
            options: &[],
            script,
            code: 0,
            says,
        }
    }
}

/// Runs each line as each user, in a project of its own.
#[track_caller]
pub(crate) fn check(lines: &[Line<'_>]) {
    for user in User::all() {
        for line in lines {
            let Some(found) = tools(line.name, line.needs, user) else {
                continue;
            };
            let stage = Stage::new(user, found);
            stage.outside(line.before);
            let (code, said) = stage.run(line.options, line.script);
            let what = format!("{} as {user:?}: {said}", line.name);
            assert_eq!(code, Some(line.code), "{what}");
            for words in line.says {
                assert!(said.contains(words), "no `{words}` in {what}");
            }
        }
    }
}

/// The programs of a line, or `None` after saying why the line is skipped.
#[track_caller]
pub(crate) fn tools(name: &str, needs: &[Tool], user: User) -> Option<Vec<Found>> {
    let mut all = Vec::new();
    for tool in needs {
        match tool.find(user) {
            Ok(found) => all.push(found),
            Err(why) => {
                // Only who runs the tests must have everything.
                let required = std::env::var("CREANCE_REQUIRE_REAL").is_ok_and(|v| v == "1");
                let may = tool.is_optional() || user == User::Ordinary || !required;
                assert!(
                    may,
                    "{name} may not be skipped (CREANCE_REQUIRE_REAL=1): {why}"
                );
                println!("skipped: {name} as {user:?}: {why}");
                return None;
            }
        }
    }
    Some(all)
}

/// Folders of one line; gone when it ends.
#[derive(Debug)]
pub(crate) struct Stage {
    folder: TempDir,
    user: User,
    tools: Vec<Found>,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
}

impl Stage {
    pub(crate) fn new(user: User, tools: Vec<Found>) -> Self {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, project) = (root.join("home"), root.join("home/project"));
        let stage = Self {
            folder,
            user,
            tools,
            home,
            project,
        };
        stage.write("home/project/readme.txt", "a project\n");
        stage.write("home/private.txt", "private");
        // What a question would ask is settled here, but for what only a fresh answer allows.
        stage.write(
            "home/.config/creance/policies/test.cedar",
            "@id(\"wishes\")\n@reason(\"a test\")\npermit (principal, action in \
             [Action::\"sandbox\", Action::\"server.tools\", Action::\"tool\"], resource);\n\
             @id(\"starts\")\n@reason(\"a test, in a full sandbox\")\n\
             permit (principal, action in Action::\"start\", resource) when {\n\
             context.confinement.writes == Level::\"enforced\" &&\n\
             context.confinement.secrets == Level::\"enforced\" &&\n\
             context.confinement.network == Level::\"enforced\" };\n",
        );
        stage
    }

    /// Writes a file below the stage's root, with its folders.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A shell script in the project, not confined.
    #[track_caller]
    pub(crate) fn outside(&self, script: &str) {
        self.own();
        let mut command = Command::new("/bin/sh");
        command.args(["-euc", script]);
        let (code, said) = self.ended(command);
        assert_eq!(
            code,
            Some(0),
            "outside, as {:?}: {script}: {said}",
            self.user
        );
    }

    /// A shell script in the project, confined: exit code, and all that it said.
    #[track_caller]
    pub(crate) fn run(&self, options: &[&str], script: &str) -> (Option<i32>, String) {
        let mut args = vec!["run"];
        args.extend(options);
        args.extend(["--", "/bin/sh", "-euc", script]);
        self.own();
        self.ended(self.creance(&args))
    }

    /// A command of the binary, with what the tools of this stage need.
    pub(crate) fn creance(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_creance"));
        let (first, rest) = args.split_first().unwrap();
        command.arg(first);
        let granted = self.tools.iter().filter_map(Found::granted);
        for folder in granted.filter(|_| *first == "run") {
            command.arg("--read").arg(folder);
        }
        command.args(rest);
        self.dress(&mut command);
        command
    }

    /// Lets a command run here: its user, folder and environment.
    pub(crate) fn dress(&self, command: &mut Command) {
        let mut path: Vec<&Path> = self.tools.iter().map(Found::folder).collect();
        path.extend([
            Path::new("/usr/local/bin"),
            Path::new("/usr/bin"),
            Path::new("/bin"),
        ]);
        command
            .current_dir(&self.project)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("LANG", "C.UTF-8")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        self.user.starts(command);
    }

    #[track_caller]
    fn ended(&self, mut command: Command) -> (Option<i32>, String) {
        self.dress(&mut command);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let words = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&words).into())
    }

    /// Gives everything to the user.
    pub(crate) fn own(&self) {
        if self.user == User::Me {
            return;
        }
        let mut open = vec![self.folder.path().to_path_buf()];
        while let Some(path) = open.pop() {
            lchown(&path, Some(ORDINARY), Some(ORDINARY)).unwrap();
            let is_folder = fs::symlink_metadata(&path).unwrap().is_dir();
            if is_folder {
                let entries = fs::read_dir(&path).unwrap();
                open.extend(entries.map(|entry| entry.unwrap().path()));
            }
        }
    }
}
