//! What a start must see to: stamps of hashed files, placeholders, errors that name the step.

use std::fs;
use std::os::unix::fs::MetadataExt;

use creance::FileStamp;

use crate::cases::namespaces;
use crate::world::{World, backends, run, snapshot};

/// A hashed file that changed after the hash is not started.
pub(crate) fn stamps() {
    for backend in backends() {
        let world = World::new();
        let script = world.project.join("server.js");
        fs::write(&script, "one").unwrap();
        let found = fs::metadata(&script).unwrap();
        let stamp = FileStamp {
            path: script.clone(),
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            changed_ns: i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec()),
        };
        let mut launch = world.shell("echo ran");
        launch.stamps = vec![stamp];
        assert_eq!(run(&backend, &launch, &world.grant()).unwrap().out, "ran\n");
        fs::write(&script, "two").unwrap();
        let error = run(&backend, &launch, &world.grant()).err().unwrap();
        assert!(
            error.contains("changed after it was checked"),
            "{backend}: {error}"
        );
        fs::remove_file(&script).unwrap();
        let error = run(&backend, &launch, &world.grant()).err().unwrap();
        assert!(error.contains("disappeared"), "{backend}: {error}");
    }
}

/// Placeholders go away, also with two sandboxes in one project; what a person put there stays.
pub(crate) fn placeholders() {
    for backend in namespaces() {
        let world = World::new();
        let before = snapshot(&world.project);
        crate::world::block_on(async {
            let wait = world.shell("echo up; read x; mkdir .creance/x 2>/dev/null || echo guarded");
            let mut first = creance::internal::start(&backend, &wait, &world.grant())
                .await
                .unwrap();
            assert_eq!(first.line().await, "up");
            let mut second = creance::internal::start(&backend, &wait, &world.grant())
                .await
                .unwrap();
            assert_eq!(second.line().await, "up");
            let (out, _, _) = first.finish(b"\n").await;
            assert_eq!(out, "guarded\n");
            assert!(
                world.project.join(".creance").is_dir(),
                "the second one still needs it"
            );
            // A client on the machine reads it meanwhile.
            let read = fs::read_to_string(world.project.join(".mcp.json")).unwrap();
            assert_eq!(read, "{}\n", "{backend}");
            fs::write(world.project.join(".envrc"), "mine").unwrap();
            let (out, _, _) = second.finish(b"\n").await;
            assert_eq!(
                out, "guarded\n",
                "{backend}: the first one took the guard away"
            );
        });
        assert_eq!(
            fs::read_to_string(world.project.join(".envrc")).unwrap(),
            "mine"
        );
        fs::remove_file(world.project.join(".envrc")).unwrap();
        assert_eq!(snapshot(&world.project), before, "{backend}");
    }
}

/// What git runs from a submodule's repository and finds by a work tree's pointer stays as it is.
pub(crate) fn submodules() {
    for backend in namespaces() {
        let world = World::new();
        let git = world.project.join(".git");
        for (file, text) in [
            ("modules/sub/HEAD", "ref: refs/heads/main\n"),
            ("modules/sub/config", "[core]\n"),
            ("modules/sub/objects/x", "x"),
            ("worktrees/w/commondir", "../..\n"),
        ] {
            fs::create_dir_all(git.join(file).parent().unwrap()).unwrap();
            fs::write(git.join(file), text).unwrap();
        }
        let before = snapshot(&world.project);
        let script = "cd .git; for f in modules/sub/hooks/pre-commit modules/sub/config \
                modules/sub/commondir worktrees/w/commondir; do
                mkdir -p $(dirname $f) 2>/dev/null; echo evil >> $f && echo wrote $f
            done
            mv modules/sub modules/other && echo moved; mv modules other && echo moved
            cat modules/sub/commondir
            echo y > modules/sub/objects/y && rm modules/sub/objects/y && echo end";
        let out = run(&backend, &world.shell(script), &world.grant()).unwrap();
        assert_eq!(out.out, ".\nend\n", "{backend}: {}", out.err);
        assert_eq!(snapshot(&world.project), before, "{backend}");
    }
}

/// Main and keeper are killed at once: what they leave is known as theirs, and goes with the next
/// start. What a person made of a name meanwhile stays.
pub(crate) fn leftovers() {
    for backend in namespaces() {
        let world = World::new();
        let before = snapshot(&world.project);
        let args = ["abandoned", "wait", &backend, world.home.to_str().unwrap()];
        let mut main = std::process::Command::new(std::env::current_exe().unwrap())
            .args(args)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(
            &mut std::io::BufReader::new(main.stdout.take().unwrap()),
            &mut line,
        )
        .unwrap();
        let keeper = rustix::process::Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        main.kill().unwrap();
        rustix::process::kill_process(keeper, rustix::process::Signal::KILL).unwrap();
        main.wait().unwrap();
        fs::write(world.project.join(".envrc"), "mine").unwrap();
        fs::write(world.project.join(".mcp.json"), "{ }\n").unwrap();
        // The processes of the tree hold locks until they are gone.
        for _ in 0..100 {
            run(&backend, &world.shell("true"), &world.grant()).unwrap();
            if !world.project.join(".creance").exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        for (name, text) in [(".envrc", "mine"), (".mcp.json", "{ }\n")] {
            assert_eq!(
                fs::read_to_string(world.project.join(name)).unwrap(),
                text,
                "{backend}"
            );
            fs::remove_file(world.project.join(name)).unwrap();
        }
        assert_eq!(snapshot(&world.project), before, "{backend}");
    }
}

/// The main process of the test above.
pub(crate) fn main(args: &[String]) {
    let [_, backend, home] = args else {
        panic!("{args:?}")
    };
    let world = World::at(std::path::Path::new(home));
    crate::world::block_on(async {
        let launch = world.shell("echo up; sleep 60");
        let mut running = creance::internal::start(backend, &launch, &world.grant())
            .await
            .unwrap();
        assert_eq!(running.line().await, "up");
        println!("{}", running.pid());
        std::future::pending::<()>().await;
    });
}
