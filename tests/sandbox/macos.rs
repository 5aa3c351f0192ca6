//! What the profile holds on a Mac: tried from inside, looked at from outside.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use creance::{Exit, Grant, Launch, internal};

const BACKEND: &str = "macos-seatbelt";

struct World {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["home/.ssh", "home/project/.git/hooks", "temp"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (file, text) in [
            ("home/.ssh/id_rsa", "SECRET-KEY"),
            ("home/notes.txt", "SECRET-NOTES"),
            ("home/project/.env", "SECRET-ENV"),
            ("home/project/a.txt", "plain"),
        ] {
            fs::write(root.join(file), text).unwrap();
        }
        Self { _dir: dir, root }
    }

    fn run(&self, script: &str) -> (String, Exit) {
        let project = self.root.join("home/project");
        let mut grant = Grant {
            home: Some(self.root.join("home")),
            write: vec![project.clone()],
            protect: vec![project.join(".git/hooks"), project.join(".creance")],
            hide: vec![self.root.join("home/.ssh"), project.join(".env")],
            temp: Some(self.root.join("temp")),
            ..Grant::default()
        };
        grant.env.0.insert("PATH".into(), "/usr/bin:/bin".into());
        let launch = Launch {
            program: "/bin/sh".into(),
            name: "sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: project,
            stamps: Vec::new(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut running = internal::start(BACKEND, &launch, &grant).await.unwrap();
            let (out, err, exit) = running.finish(b"").await;
            (out + &err, exit)
        })
    }
}

pub(crate) fn main() {
    let offered = creance::examine().backends;
    let works = offered
        .iter()
        .any(|b| b.name == BACKEND && b.failure.is_none());
    assert!(works, "{offered:?}");
    let world = World::new();
    let at = |path: &str| world.root.join(path);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // (script, whether it succeeds)
    for (script, want) in [
        (
            "echo made > made.txt && cat a.txt && echo t > \"$TMPDIR/t\"".to_owned(),
            true,
        ),
        ("echo planted > .git/hooks/pre-commit".to_owned(), false),
        ("echo planted > .GIT/HOOKS/pre-commit".to_owned(), false),
        ("mv .git away".to_owned(), false),
        ("mkdir .creance".to_owned(), false),
        ("mkdir .Creance".to_owned(), false),
        ("cat .env".to_owned(), false),
        ("mv .env shown && cat shown".to_owned(), false),
        ("cat ../notes.txt".to_owned(), false),
        ("cat ../.ssh/id_rsa".to_owned(), false),
        ("ln ../.ssh/id_rsa here && cat here".to_owned(), false),
        ("ls ..".to_owned(), false),
        ("echo x > ../outside".to_owned(), false),
        (format!("/usr/bin/nc -z -w 1 127.0.0.1 {port}"), false),
        ("open -a Calculator".to_owned(), false),
        (
            "osascript -e 'tell app \"Finder\" to beep'".to_owned(),
            false,
        ),
        ("kill -0 1".to_owned(), false),
        ("exit 0".to_owned(), true),
    ] {
        let (said, exit) = world.run(&script);
        assert_eq!(exit.success(), want, "{script}: {exit} {said}");
        assert!(!said.contains("SECRET"), "{script}: {said}");
    }
    assert!(at("home/project/made.txt").exists());
    assert!(!at("home/outside").exists() && !at("home/project/.creance").exists());
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "it reached the machine");

    // The end of the program is the end of what it left in its group.
    let (said, exit) = world.run("sleep 600 & echo $!; exit 7");
    assert_eq!(exit.code, Some(7), "{said}");
    std::thread::sleep(Duration::from_millis(200));
    let left = std::process::Command::new("/bin/kill")
        .args(["-0", said.trim()])
        .output()
        .unwrap();
    assert!(!left.status.success(), "{} lives", said.trim());
    println!("{BACKEND}: all held");
}
