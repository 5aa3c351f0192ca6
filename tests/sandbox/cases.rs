//! The public cases (`tests/cases/sandbox`), links and work trees.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use creance::{Grant, Launch};

use crate::world::{World, backends, path_variable, protect, run, snapshot};

struct Case {
    id: &'static str,
    /// Below the case's root.
    write: &'static [&'static str],
    read: &'static [&'static str],
    hide: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        id: "SBX-01",
        write: &["wt"],
        read: &[],
        hide: &[],
    },
    Case {
        id: "SBX-01",
        write: &["wt", "main"],
        read: &[],
        hide: &[],
    },
    Case {
        id: "SBX-03",
        write: &["repo"],
        read: &[],
        hide: &[],
    },
    Case {
        id: "SBX-04",
        write: &["proj"],
        read: &["."],
        hide: &["home"],
    },
    Case {
        id: "SBX-07",
        write: &["proj"],
        read: &[],
        hide: &[],
    },
    Case {
        id: "SBX-13",
        write: &["proj"],
        read: &["other"],
        hide: &[],
    },
];

pub(crate) fn run_cases(backend: &str) {
    for case in CASES {
        play(case, backend);
    }
    play_socket(backend);
    play_environment(backend);
    println!("  {backend}: public cases as wanted");
}

pub(crate) fn public() {
    for backend in backends() {
        // Without namespaces nothing protects paths inside a writable folder; it says so.
        if backend == "linux-landlock" {
            println!("skipped cases with linux-landlock: it reports protected-paths absent");
            continue;
        }
        run_cases(&backend);
    }
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases/sandbox")
        .join(name)
}

fn play(case: &Case, backend: &str) {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    let setup = fs::read_to_string(file(&format!("{}.setup.sh", case.id))).unwrap();
    let done = Command::new("/bin/sh")
        .arg("-c")
        .arg(setup)
        .arg("setup")
        .arg(&root)
        .status()
        .unwrap();
    assert!(done.success(), "{}: set-up failed", case.id);
    let at = |names: &[&str]| {
        names
            .iter()
            .map(|name| fs::canonicalize(root.join(name)).unwrap())
            .collect::<Vec<_>>()
    };
    let write = at(case.write);
    let mut grant = Grant {
        home: Some("/nonexistent-home".into()),
        read: at(case.read),
        protect: write.iter().flat_map(|path| protect(path)).collect(),
        write,
        hide: at(case.hide),
        ..Grant::default()
    };
    grant.env.0.insert("PATH".into(), path_variable());
    let probe = fs::read_to_string(file(&format!("{}.probe.sh", case.id))).unwrap();
    let launch = Launch {
        program: fs::canonicalize("/bin/sh").unwrap(),
        name: "sh".into(),
        args: vec![
            "-c".into(),
            probe,
            "probe".into(),
            root.display().to_string(),
        ],
        cwd: grant.write[0].clone(),
        stamps: Vec::new(),
    };
    let hidden: Vec<_> = grant.hide.iter().map(|path| snapshot(path)).collect();
    let output = run_or_panic(backend, &launch, &grant);
    // SBX-04 leaves a copy of the mask, which nobody may enter.
    let _ = Command::new("chmod")
        .args(["-R", "u+rwX"])
        .arg(&root)
        .status();
    compare(case.id, backend, &output);
    let after: Vec<_> = grant.hide.iter().map(|path| snapshot(path)).collect();
    assert_eq!(hidden, after, "{}: a hidden folder changed", case.id);
}

fn run_or_panic(backend: &str, launch: &Launch, grant: &Grant) -> String {
    let output = run(backend, launch, grant).unwrap_or_else(|error| panic!("{backend}: {error}"));
    format!("{}{}", output.out, output.err)
}

fn compare(id: &str, backend: &str, got: &str) {
    let got: BTreeMap<&str, &str> = got
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect();
    for line in fs::read_to_string(file(&format!("{id}.want.tsv")))
        .unwrap()
        .lines()
    {
        let (name, want) = line.split_once('\t').unwrap();
        let have = got.get(name).copied().unwrap_or("no answer");
        assert!(
            want.starts_with(have) || want.contains(&format!("or {have}")),
            "{id} {backend} {name}: {have}, want {want}"
        );
    }
}

/// SBX-10: connecting to a Unix socket of the machine.
fn play_socket(backend: &str) {
    let Some(python) = ["/usr/bin/python3"]
        .into_iter()
        .find(|path| Path::new(path).exists())
    else {
        println!("skipped SBX-10: no /usr/bin/python3");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    let socket = root.join("run/docker.sock");
    fs::create_dir(root.join("run")).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let probe = fs::read_to_string(file("SBX-10.probe.py")).unwrap();
    let launch = Launch {
        program: fs::canonicalize(python).unwrap(),
        name: "python3".into(),
        args: vec!["-c".into(), probe, socket.display().to_string()],
        cwd: "/".into(),
        stamps: Vec::new(),
    };
    let grant = Grant {
        read: vec![root],
        ..Grant::default()
    };
    compare("SBX-10", backend, &run_or_panic(backend, &launch, &grant));
}

/// SBX-17: the environment is what was granted, nothing of ours.
fn play_environment(backend: &str) {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    let mut grant = Grant {
        temp: Some(root.clone()),
        ..Grant::default()
    };
    for (name, value) in [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/"),
        ("LANG", "C"),
        ("MY_SERVER_KEY", "k"),
    ] {
        grant.env.0.insert(name.into(), value.into());
    }
    let launch = Launch {
        program: fs::canonicalize("/usr/bin/env").unwrap(),
        name: "env".into(),
        args: Vec::new(),
        cwd: "/".into(),
        stamps: Vec::new(),
    };
    let out = run_or_panic(backend, &launch, &grant);
    let mut names: Vec<&str> = out
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "LANG", "MY_SERVER_KEY", "PATH", "TMPDIR"]);
}

pub(crate) fn namespaces() -> Vec<String> {
    backends()
        .into_iter()
        .filter(|name| name != "linux-landlock")
        .collect()
}

/// A protected name that is a link: it starts, the target is protected, the link stays.
pub(crate) fn links() {
    for backend in namespaces() {
        let world = World::new();
        let project = &world.project;
        fs::create_dir_all(project.join("shared/hooks")).unwrap();
        fs::remove_dir_all(project.join(".git/hooks")).unwrap();
        symlink("../shared/hooks", project.join(".git/hooks")).unwrap();
        symlink("settings", project.join(".vscode")).unwrap();
        symlink(world.outside.join("target.txt"), project.join(".mcp.json")).unwrap();
        let script = "echo x > .git/hooks/pre-commit && echo hook
            echo x > shared/hooks/pre-commit && echo target
            rm .git/hooks && echo link
            mv shared shared2 && echo moved
            ln -sfn /tmp .vscode && echo dangling
            mkdir -p settings && echo x > settings/tasks.json && echo created
            echo x > .mcp.json && echo outside
            rm .mcp.json && echo gone
            echo done";
        let out = run(&backend, &world.shell(script), &world.grant()).unwrap();
        assert_eq!(out.out, "done\n", "{backend}: {}", out.err);
        assert_eq!(out.confinement.backend, backend);
        assert!(out.confinement.holds(), "{}", out.confinement);
        assert!(
            !project.join("settings").exists(),
            "{backend}: the placeholder was left"
        );
        assert!(project.join(".vscode").is_symlink());
    }
}

/// SBX-03 and SBX-01: what git must still be able to do.
pub(crate) fn git_works() {
    for backend in namespaces() {
        let world = World::new();
        let repo = world.project.join("repo");
        let git = |script: &str| {
            let done = Command::new("/bin/sh")
                .arg("-c")
                .arg(script)
                .current_dir(&world.project)
                .status()
                .unwrap();
            assert!(done.success());
        };
        git(
            "git init -q repo && cd repo && git config user.name t && git config user.email t@example.test && echo a > a && git add . && git commit -qm 1 && git worktree add -q ../tree -b tree",
        );
        let tree = world.project.join("tree");
        let mut grant = world.grant();
        grant.write = vec![repo.clone(), tree.clone()];
        grant.protect = protect(&repo).into_iter().chain(protect(&tree)).collect();
        let mut launch = world.shell(
            "set -e
            echo b > b; git add b; git commit -qm 2; git branch x; git checkout -q x; git stash list
            git log --oneline | wc -l
            cd ../tree; git status --porcelain; echo c > c; git add c; git commit -qm 3; git log --oneline | wc -l
            ! git config core.hooksPath /tmp 2>/dev/null
            ! mv .git .g 2>/dev/null
            ! sh -c 'echo gitdir: /tmp > .git' 2>/dev/null
            ! sh -c 'echo /tmp > ../repo/.git/worktrees/tree/commondir' 2>/dev/null
            ! sh -c 'echo ../../evil > ../repo/.git/commondir' 2>/dev/null
            ! sh -c 'echo . > x && mv x ../repo/.git/commondir' 2>/dev/null
            ! sh -c 'mkdir -p ../repo/.git/hooks && echo x > ../repo/.git/hooks/pre-commit' 2>/dev/null
            echo done",
        );
        launch.cwd = repo.clone();
        let out = run(&backend, &launch, &grant).unwrap();
        let words: Vec<&str> = out.out.split_whitespace().collect();
        assert_eq!(words, ["2", "2", "done"], "{backend}: {}", out.err);
        git("cd repo && test -z \"$(git status --porcelain)\" && git fsck --no-progress");
    }
}
