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
