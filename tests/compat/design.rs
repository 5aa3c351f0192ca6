//! What fails by design: the way out is named, and it is one.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::thread;

use crate::stage::{Line, Stage, check, tools};
use crate::tools::{GIT, NODE, PYTHON, SCRIPT, User};

const LISTEN: &str = r#"node -e 'require("net").createServer().listen(process.env.TMPDIR + "/x.pipe",
    () => { console.log("listens"); process.exit(); }).on("error", e => { console.log(e.message); process.exit(7); })'"#;

#[test]
fn the_grant_is_named_and_helps() {
    let fails = |name, script, code, says| Line {
        code,
        ..Line::new(name, &[PYTHON], script, says)
    };
    check(&[
        fails(
            "a write outside",
            "mkdir ../other",
            1,
            &["Read-only file system", "--write PATH"],
        ),
        fails(
            "a read in the home folder",
            "cat ../private.txt",
            1,
            &["No such file", "--read PATH"],
        ),
        Line {
            options: &["--read", "../private.txt"],
            ..Line::new("a granted read", &[], "cat ../private.txt", &["private"])
        },
        fails(
            "a network",
            "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 5)'",
            1,
            &["Network is unreachable", "--network"],
        ),
        Line {
            code: 7,
            ..Line::new(
                "a Unix socket",
                &[NODE],
                LISTEN,
                &["listen EPERM", "--sockets"],
            )
        },
        Line {
            options: &["--sockets"],
            ..Line::new("a granted Unix socket", &[NODE], LISTEN, &["listens"])
        },
    ]);
}

/// A command that succeeds is told nothing, and what was granted is not offered.
#[test]
fn only_what_is_lacking_is_named() {
    for user in User::all() {
        let stage = Stage::new(user, Vec::new());
        let (_, said) = stage.run(&[], "echo fine");
        assert_eq!(said, "fine\n", "{user:?}");
        let (code, said) = stage.run(&["--sockets", "--network"], "exit 5");
        assert_eq!(code, Some(5), "{user:?}: {said}");
        assert!(!said.contains("--network"), "{user:?}: {said}");
        assert!(!said.contains("--sockets"), "{user:?}: {said}");
    }
}

/// `--socket` opens the way to one socket of the machine, not to its neighbour.
#[test]
fn one_socket_of_the_machine() {
    for user in User::all() {
        let Some(found) = tools("a socket of the machine", &[PYTHON], user) else {
            continue;
        };
        let stage = Stage::new(user, found);
        let listen = |name: &str| {
            let listener = UnixListener::bind(stage.home.join(name)).unwrap();
            thread::spawn(move || echo(&listener));
        };
        listen("granted.sock");
        listen("other.sock");
        let client = "cat > c.py <<'END'
import socket
for name in ('granted', 'other'):
    try:
        s = socket.socket(socket.AF_UNIX); s.connect('../' + name + '.sock')
        s.sendall(b'hello'); print(name, s.recv(5))
    except OSError as error: print(name, error.strerror)
END
python3 c.py";
        let (_, said) = stage.run(&["--socket", "../granted.sock"], client);
        assert_eq!(
            said, "granted b'hello'\nother No such file or directory\n",
            "{user:?}"
        );
        let (_, said) = stage.run(&[], client);
        let refused = "Operation not permitted";
        assert_eq!(
            said,
            format!("granted {refused}\nother {refused}\n"),
            "{user:?}"
        );
    }
}

fn echo(listener: &UnixListener) {
    for caller in listener.incoming() {
        let mut caller = caller.unwrap();
        let mut said = [0; 5];
        caller.read_exact(&mut said).unwrap();
        caller.write_all(&said).unwrap();
    }
}

/// A guarded file is written once it is named and a person agrees, just then; else it stays.
#[test]
fn a_guarded_file_by_name() {
    for user in User::all() {
        let Some(found) = tools("a guarded file", &[GIT], user) else {
            continue;
        };
        let stage = Stage::new(user, found);
        stage.outside("git init -q -b main .");
        let change = "git config a.b c";
        let (code, said) = stage.run(&[], change);
        assert_ne!(code, Some(0), "{user:?}: {said}");
        assert!(said.contains("--write FILE asks"), "{user:?}: {said}");
        let grant = ["--write", ".git/config"];
        let (code, said) = stage.run(&grant, change);
        assert_eq!(code, Some(4), "nobody can answer, {user:?}: {said}");
        if SCRIPT.find(user).is_err() {
            println!("skipped: an answer as {user:?}: no `script`");
            continue;
        }

        let (shown, code) = answer(&stage, "run --write .git/config -- git config a.b c");
        assert_eq!(code, Some(0), "{user:?}: {shown}");
        let config = std::fs::read_to_string(stage.project.join(".git/config")).unwrap();
        assert!(config.contains("b = c"), "{user:?}: {config}");
    }
}

/// Runs a command of the binary at a terminal of its own, and agrees for this once.
#[track_caller]
fn answer(stage: &Stage, args: &str) -> (String, Option<i32>) {
    let line = format!("'{}' {args}", env!("CARGO_BIN_EXE_creance"));
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    stage.dress(&mut command);
    command.env("TERM", "dumb");
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut terminal = child.stdout.take().unwrap();
    let (mut shown, mut bytes) = (String::new(), [0; 4096]);
    let mut keys = child.stdin.take();
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
        if shown.contains("[N]o:")
            && let Some(keys) = keys.as_mut()
        {
            keys.write_all(b"o\r").unwrap();
            shown = shown.replace("[N]o:", "(answered)");
        }
    }
    drop(keys);
    (shown, child.wait().unwrap().code())
}
