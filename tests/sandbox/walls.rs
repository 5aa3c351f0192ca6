//! The set-up itself: that every wall is there, that each step's failure is named and the program
//! never ran, that nothing on the machine changes what is taken.
#![expect(
    unsafe_code,
    reason = "entering namespaces to take away what a set-up needs"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use creance::{Grant, Launch};

use crate::world::{World, backends, run, uid};

/// Inside the inner wall everything of the outer one is still there, and more.
pub(crate) fn second_wall() {
    let backends = backends();
    let facts = |backend: &str| {
        let world = World::new();
        let script = "grep '^Seccomp_filters:' /proc/self/status; \
            touch /dev/birdcage/x /tmp/birdcage-root/x 2>/dev/null && echo writable; \
            echo end";
        let out = run(backend, &world.shell(script), &world.grant()).unwrap();
        assert!(
            out.out.ends_with("end\n"),
            "{backend}: {}{}",
            out.out,
            out.err
        );
        assert!(!out.out.contains("writable"), "{backend}: {}", out.out);
        out.out
    };
    let filters = |backend: &str| -> usize {
        let out = facts(backend);
        let line = out
            .lines()
            .find_map(|line| line.strip_prefix("Seccomp_filters:"));
        line.unwrap().trim().parse().unwrap()
    };
    if !backends.contains(&"linux-l3".to_owned()) || !backends.contains(&"linux-ns".to_owned()) {
        println!("skipped second_wall: linux-l3 or linux-ns does not work here");
        return;
    }
    assert_eq!(
        filters("linux-l3"),
        filters("linux-ns") + 2,
        "birdcage loads two filters"
    );
    assert!(!std::path::Path::new("/tmp/birdcage-root").exists());
    // The machine's own /tmp is granted: the wall that would leave its folder there is not taken.
    let world = World::new();
    let mut grant = world.grant();
    grant.read.push("/tmp".into());
    let out = run("linux-l3", &world.shell("echo ran"), &grant).unwrap();
    assert_eq!(
        (out.out.as_str(), out.confinement.backend.as_str()),
        ("ran\n", "linux-ns")
    );
    assert!(!std::path::Path::new("/tmp/birdcage-root").exists());
}

/// However short a program lives, its end is told as it was.
pub(crate) fn short_lives() {
    for backend in backends() {
        let world = World::new();
        for round in 0..40 {
            let out = run(&backend, &world.shell("exit 3"), &world.grant()).unwrap();
            assert_eq!(
                out.exit.to_string(),
                "exited with code 3",
                "{backend}, round {round}"
            );
        }
    }
}

/// A step that fails is named, and the program never ran.
pub(crate) fn errors() {
    for backend in backends() {
        let world = World::new();
        let check = |launch: &Launch, grant: &Grant, want: &str| {
            let error = run(&backend, launch, grant).err().unwrap_or_default();
            assert!(error.contains(want), "{backend}: `{error}`, want `{want}`");
        };
        let shell = world.shell("echo ran");
        let mut launch = shell.clone();
        launch.program = world.project.join("absent");
        check(&launch, &world.grant(), "exec: ");
        launch = shell.clone();
        launch.cwd = world.home.join("notes");
        check(&launch, &world.grant(), "cwd: ");
        let mut grant = world.grant();
        grant.write.push(world.outside.join("absent"));
        check(&shell, &grant, "does not exist: create it first");
        grant.write = vec!["/".into()];
        check(&shell, &grant, "cannot be granted");
        grant.write = vec!["a/b".into()];
        check(&shell, &grant, "not an absolute");
        grant = world.grant();
        grant.home = Some("/".into());
        check(&shell, &grant, "holds the system");
        if uid() == 0 {
            let mut grant = world.grant();
            fs::create_dir(world.path().join("other")).unwrap();
            std::os::unix::fs::chown(world.path().join("other"), Some(1000), Some(1000)).unwrap();
            grant.write.push(world.path().join("other"));
            check(&shell, &grant, "belongs to another user");
        }
        assert!(
            !world.project.join(".creance").exists(),
            "{backend}: a placeholder was left"
        );
    }
}

/// What is taken away from the machine, the backend, and the step that must be named.
const FAULTS: &[(&str, u32, &str, &str)] = &[
    ("max_user_namespaces", 0, "linux-l3", "user-namespace: "),
    ("max_user_namespaces", 0, "linux-ns", "user-namespace: "),
    (
        "max_user_namespaces",
        0,
        "linux-ns-noproc",
        "user-namespace: ",
    ),
    // Birdcage gets none for its process 1, or none for its last step.
    ("max_user_namespaces", 1, "linux-l3", "birdcage: "),
    ("max_user_namespaces", 2, "linux-l3", "birdcage: "),
    ("max_user_namespaces", 1, "linux-ns", "ran"),
    ("max_user_namespaces", 3, "linux-l3", "ran"),
    ("max_pid_namespaces", 0, "linux-ns", "namespaces: "),
    ("max_pid_namespaces", 1, "linux-l3", "birdcage: "),
    ("max_net_namespaces", 0, "linux-ns", "namespaces: "),
    ("max_ipc_namespaces", 0, "linux-ns", "namespaces: "),
    ("max_mnt_namespaces", 0, "linux-ns", "mounts: "),
    // A detached mount counts as one.
    ("max_mnt_namespaces", 1, "linux-l3", "view: "),
];

/// Set-up faults made by the kernel itself, one step after the other.
pub(crate) fn faults() {
    let works = backends();
    for (name, value, backend, want) in FAULTS {
        if !works.iter().any(|known| known == backend) {
            continue;
        }
        let got = limited(name, *value, &["start", backend]);
        let Some(got) = got else { return };
        assert!(
            got.contains(want) && (*want == "ran") == got.contains("ran"),
            "{name}={value} {backend}: `{got}`, want `{want}`"
        );
    }
}

/// SBX-11: a machine without user namespaces says so, and is weaker only under its own name.
pub(crate) fn no_namespaces() {
    let Some(got) = limited("max_user_namespaces", 0, &["doctor"]) else {
        return;
    };
    for want in [
        "linux-l3         no: user-namespace",
        "raise `sysctl user.max_user_namespaces`",
        "chosen     linux-landlock",
        "ok false",
    ] {
        assert!(got.contains(want), "no `{want}` in:\n{got}");
    }
    for backend in ["auto", "linux-landlock", "none"] {
        let got = limited("max_user_namespaces", 0, &["start", backend]).unwrap();
        let name = if backend == "auto" {
            "linux-landlock"
        } else {
            backend
        };
        assert!(
            got.starts_with(&format!("ran {name} holds false")),
            "{backend}: {got}"
        );
    }
    refused_by_policy();
    said_by_doctor();
}

/// `creance doctor` says what is not enforced, how to mend it, and ends with code 1.
fn said_by_doctor() {
    let Some(program) = option_env!("CARGO_BIN_EXE_creance") else {
        println!("skipped the doctor: built without the command line");
        return;
    };
    let world = World::new();
    let (home, project) = (
        world.home.to_str().unwrap(),
        world.project.to_str().unwrap(),
    );
    let action = ["exec", program, home, project, "doctor", "--json"];
    let got = limited("max_user_namespaces", 0, &action).unwrap();
    for want in [
        r#""stage": "user-namespace""#,
        r#""errno": 28"#,
        r#""max_user_namespaces": 0"#,
        "above 0 (it is 0)",
        "code Some(1)",
    ] {
        assert!(got.contains(want), "no `{want}` in:\n{got}");
    }
}

/// The whole product refuses to start there unless policy says otherwise.
fn refused_by_policy() {
    let Some(program) = option_env!("CARGO_BIN_EXE_creance") else {
        println!("skipped the refusal: built without the command line");
        return;
    };
    let world = World::new();
    let got = limited(
        "max_user_namespaces",
        0,
        &[
            "exec",
            program,
            world.home.to_str().unwrap(),
            world.project.to_str().unwrap(),
            "run",
            "--",
            "sh",
            "-c",
            "echo it-ran",
        ],
    );
    let got = got.unwrap();
    assert!(!got.contains("it-ran"), "{got}");
    for want in [
        "code Some(3)",
        "whose sandbox does not enforce",
        "linux-landlock: writes weakened",
    ] {
        assert!(got.contains(want), "no `{want}` in:\n{got}");
    }
}

/// SBX-11: no tool of the machine is asked, so a false one changes nothing.
pub(crate) fn false_tools() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let called = dir.path().join("called");
    for tool in ["bwrap", "unshare", "mount", "newuidmap", "newgidmap", "sh"] {
        let text = format!("#!/bin/sh\necho {tool} >> {}\nexit 1\n", called.display());
        fs::write(dir.path().join(tool), text).unwrap();
        fs::set_permissions(dir.path().join(tool), fs::Permissions::from_mode(0o755)).unwrap();
    }
    for path in [dir.path().display().to_string(), String::new()] {
        let out = Command::new(std::env::current_exe().unwrap())
            .args(["setup", "start", "auto"])
            .env("PATH", path)
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.starts_with("ran linux-"), "{out}");
        assert!(out.contains("holds true"), "{out}");
    }
    assert!(!called.exists(), "a false tool was called");
}

/// Runs this program where the kernel gives only so many namespaces of one kind.
fn limited(name: &str, value: u32, action: &[&str]) -> Option<String> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["setup", "limit", name, &value.to_string()])
        .args(action)
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    if let Some(why) = out.strip_prefix("skipped ") {
        println!("skipped {name}={value}: {}", why.trim());
        return None;
    }
    Some(out + &String::from_utf8_lossy(&output.stderr))
}

/// The actions above, in a process of their own.
pub(crate) fn main(args: &[String]) {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["limit", name, value, rest @ ..] => {
            if let Err(error) = limit(name, value) {
                println!("skipped {name}: {error}");
                return;
            }
            act(rest);
        }
        other => act(other),
    }
}

fn act(action: &[&str]) {
    match action {
        ["doctor"] => {
            let report = creance::examine();
            println!("{report}ok {}", report.ok());
        }
        ["start", backend] => {
            let world = World::new();
            match run(backend, &world.shell("echo ran"), &world.grant()) {
                Ok(out) => println!(
                    "{} {} holds {}",
                    out.out.trim(),
                    out.confinement.backend,
                    out.confinement.holds()
                ),
                Err(error) => println!("{error}"),
            }
        }
        ["exec", program, home, project, args @ ..] => {
            let output = Command::new(program)
                .args(args)
                .current_dir(project)
                .env_clear()
                .env("HOME", home)
                .env("PATH", "/usr/bin:/bin")
                .output()
                .unwrap();
            println!(
                "{}{}code {:?}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr),
                output.status.code()
            );
        }
        other => panic!("{other:?}"),
    }
}

fn limit(name: &str, value: &str) -> std::io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    // SAFETY: this process has one thread, and no descriptor table is unshared.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWUSER) }?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write(
        "/proc/self/uid_map",
        format!("{uid} {uid} 1\n", uid = uid.as_raw()),
    )?;
    fs::write(
        "/proc/self/gid_map",
        format!("{gid} {gid} 1\n", gid = gid.as_raw()),
    )?;
    fs::write(format!("/proc/sys/user/{name}"), value)
}
