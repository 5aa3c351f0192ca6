//! Programs found and hashed; what changes the digest, and what is said to be unpinned.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::*;
use crate::grant::Network;

/// A home, a folder of programs and a project in a temporary folder.
struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self {
            root: tempfile::tempdir().unwrap(),
        };
        for program in ["node", "python3", "sh", "uvx", "docker", "tool", "env"] {
            world.program(&format!("bin/{program}"), &format!("\u{7f}ELF {program}"));
        }
        world.program("bin/npx", "\u{7f}ELF npx");
        world.write("p/.keep", "");
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn program(&self, name: &str, text: &str) {
        self.write(name, text);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn try_find(&self, line: &str) -> Result<Artefact, ProgramError> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let path = format!(":.:{}", self.path("bin").display());
        find(&Wanted {
            command: &words[0],
            args: &words[1..],
            cwd: &self.path("p"),
            path: &path,
            home: &self.path("home"),
            project: Some(&self.path("p")),
            npm_caches: &[self.path("private/npm"), self.path("home/.npm")],
            network: Network::None,
        })
    }

    fn find(&self, line: &str) -> Artefact {
        self.try_find(line).unwrap()
    }

    /// A change of each file changes the digest, and back.
    fn check_pins(&self, line: &str, files: &[&str]) {
        let before = self.find(line);
        assert_eq!(before.unpinned, None, "{line}");
        assert!(before.digest.is_some(), "{line}");
        for file in files {
            let old = fs::read(self.path(file)).unwrap();
            fs::write(self.path(file), [&old[..], b"\n"].concat()).unwrap();
            let changed = self.find(line);
            assert_ne!(before.digest, changed.digest, "{line}: {file}");
            assert_ne!(before.stamps, changed.stamps, "{line}: {file}");
            fs::write(self.path(file), old).unwrap();
            assert_eq!(before.digest, self.find(line).digest, "{line}: {file}");
        }
    }

    fn check_unpinned(&self, line: &str, why: &str) {
        let found = self.find(line);
        let unpinned = found.unpinned.clone().unwrap_or_default();
        assert!(unpinned.contains(why), "{line}: {found:?}");
        assert!(found.parts.contains_key("program"), "{line}");
    }
}

fn part_names(artefact: &Artefact) -> Vec<&str> {
    artefact.parts.keys().map(String::as_str).collect()
}

#[test]
fn programs_are_pinned_by_content() {
    let world = World::new();
    world.check_pins("tool --x", &["bin/tool"]);
    world.write("p/x.js", "run()");
    world.check_pins("node --no-warnings x.js", &["bin/node", "p/x.js"]);
    world.check_pins("node x", &["p/x.js"]);
    world.write("p/y.py", "run()");
    world.write("p/uv.lock", "");
    world.check_pins("python3 -u y.py", &["bin/python3", "p/y.py", "p/uv.lock"]);
    world.write("p/z.sh", "run");
    world.check_pins("sh z.sh", &["bin/sh", "p/z.sh"]);
}

#[test]
fn wrappers_and_interpreters_are_pinned() {
    let world = World::new();
    world.program("bin/env", "\u{7f}ELF env");
    world.write("p/x.js", "run()");
    world.check_pins("env A=1 node x.js", &["bin/env", "bin/node", "p/x.js"]);
    let env = world.path("bin/env");
    world.program("bin/starter", &format!("#!{} node\nrun()", env.display()));
    world.check_pins("starter", &["bin/starter", "bin/env", "bin/node"]);
}

/// SHOWS 4: a changed node script and a changed lock file.
#[test]
fn npm_packages_are_pinned_with_their_lock_file() {
    let world = World::new();
    world.write("app/package-lock.json", "{}");
    world.write("app/node_modules/.package-lock.json", "{}");
    world.write("app/node_modules/@s/srv/package.json", "{}");
    world.write("app/node_modules/@s/srv/lib/deep.js", "x");
    let env = world.path("bin/node");
    world.program(
        "app/node_modules/@s/srv/dist/index.js",
        &format!("#!{}\nrun()", env.display()),
    );
    fs::create_dir_all(world.path("app/node_modules/.bin")).unwrap();
    symlink(
        "../@s/srv/dist/index.js",
        world.path("app/node_modules/.bin/srv"),
    )
    .unwrap();
    let files = [
        "bin/node",
        "app/package-lock.json",
        "app/node_modules/.package-lock.json",
        "app/node_modules/@s/srv/package.json",
        "app/node_modules/@s/srv/lib/deep.js",
        "app/node_modules/@s/srv/dist/index.js",
    ];
    world.check_pins("node ../app/node_modules/@s/srv/dist/index.js", &files);
    world.check_pins("../app/node_modules/.bin/srv", &files);
}

#[test]
fn npx_is_pinned_from_a_warm_cache() {
    let world = World::new();
    world.check_unpinned("npx -y srv@1.2.3", "not in its cache");
    let cache = "home/.npm/_npx/0123456789abcdef";
    let write = |name: &str, text: &str| world.write(&format!("{cache}/{name}"), text);
    write("package.json", r#"{"_npx": {"packages": ["srv@1.2.3"]}}"#);
    write("node_modules/.package-lock.json", "{}");
    write("node_modules/srv/package.json", "{}");
    write("node_modules/srv/index.js", "x");
    let files: Vec<String> = [
        "node_modules/.package-lock.json",
        "node_modules/srv/package.json",
        "node_modules/srv/index.js",
    ]
    .map(|name| format!("{cache}/{name}"))
    .to_vec();
    let files: Vec<&str> = files
        .iter()
        .map(String::as_str)
        .chain(["bin/npx"])
        .collect();
    world.check_pins("npx -y srv@1.2.3 /data", &files);
    world.check_unpinned("npx -y srv", "not in its cache");
    world.check_unpinned("npx -y ../../../x", "not in its cache");
    assert_eq!(world.find("npx -y srv@1.2.3 /data").name, "npx");
    world.write("p/node_modules/srv/package.json", "{}");
    let local = world.find("npx -y srv@1.2.3");
    assert!(local.project_local && local.warnings[0].contains("installed in the working folder"));
}

/// npx writes to its cache and asks the registry even about what is there: node starts it instead.
#[test]
fn a_cached_package_starts_without_npx() {
    let world = World::new();
    let install = |cache: &str, asked: &str, bin: &str, script: &str| {
        let write =
            |name: &str, text: &str| world.write(&format!("{cache}/_npx/0123/{name}"), text);
        write(
            "package.json",
            &format!(r#"{{"_npx": {{"packages": ["{asked}"]}}}}"#),
        );
        write("node_modules/.package-lock.json", "{}");
        write("node_modules/@s/srv/package.json", bin);
        write("node_modules/@s/srv/run.js", script);
    };
    world.program("bin/env", "\u{7f}ELF env");
    let script = "#!/usr/bin/env node\nrun()";
    let one = r#"{"bin": {"any": "run.js"}}"#;
    install("home/.npm", "@s/srv@1.2.3", one, script);
    let home = "home/.npm/_npx/0123/node_modules/@s/srv/run.js";
    let line = "npx -y @s/srv@1.2.3 --x -y";
    world.check_pins(line, &["bin/node", home]);
    let found = world.find(line);
    assert_eq!(
        (found.program, found.name),
        (world.path("bin/node"), "node".to_owned())
    );
    assert_eq!(
        found.args,
        [&*world.path(home).display().to_string(), "--x", "-y"]
    );
    // The private cache is what npx would take once it is there.
    install("private/npm", "@s/srv@1.2.3", one, script);
    let private = world.path("private/npm/_npx/0123/node_modules/@s/srv/run.js");
    assert_eq!(world.find(line).args[0], private.display().to_string());
    let several = r#"{"bin": {"any": "package.json", "srv": "./run.js"}}"#;
    install("private/npm", "@s/srv@1.2.3", several, script);
    assert_eq!(world.find(line).args[0], private.display().to_string());
    for (bin, script) in [
        (r#"{"bin": {"a": "run.js", "b": "package.json"}}"#, script),
        (r#"{"bin": "../../.package-lock.json"}"#, script),
        (one, "#!/usr/bin/env -S node --flag\nrun()"),
        (one, "#!/bin/sh\nrun"),
    ] {
        install("private/npm", "@s/srv@1.2.3", bin, script);
        assert_eq!(world.find(line).name, "npx", "{bin} {script}");
    }
    for other in [
        "npx -p other @s/srv@1.2.3",
        "npx -c x @s/srv@1.2.3",
        "env A=1 npx -y @s/srv@1.2.3",
    ] {
        assert_ne!(world.find(other).name, "node", "{other}");
    }
}

#[test]
fn python_modules_are_pinned_with_their_environment() {
    let world = World::new();
    fs::create_dir_all(world.path("venv/bin")).unwrap();
    symlink(world.path("bin/python3"), world.path("venv/bin/python")).unwrap();
    let site = "venv/lib/python3.12/site-packages";
    let write = |name: &str, text: &str| world.write(&format!("{site}/{name}"), text);
    world.write("venv/pyvenv.cfg", "home = /usr/bin");
    write("srv/__init__.py", "");
    write("srv/__main__.py", "run()");
    write("srv/__pycache__/x.pyc", "1");
    write("srv-1.0.dist-info/RECORD", "srv/__init__.py,,");
    write("dep-2.0.dist-info/RECORD", "dep.py,,");
    let python = world.path("venv/bin/python");
    let module = format!("{} -m srv", python.display());
    let files: Vec<String> = [
        "srv/__main__.py",
        "srv-1.0.dist-info/RECORD",
        "dep-2.0.dist-info/RECORD",
    ]
    .map(|name| format!("{site}/{name}"))
    .to_vec();
    let files: Vec<&str> = files
        .iter()
        .map(String::as_str)
        .chain(["bin/python3", "venv/pyvenv.cfg"])
        .collect();
    world.check_pins(&module, &files);
    let starter = format!(
        "#!{}\nimport re\nimport sys\nfrom srv.cli import main\n",
        python.display()
    );
    world.program("venv/bin/srv", &starter);
    world.check_pins(&world.path("venv/bin/srv").display().to_string(), &files);
    let before = world.find(&module).digest;
    write("srv/__pycache__/x.pyc", "2");
    assert_eq!(before, world.find(&module).digest);
    world.check_unpinned("python3 -m nowhere", "was not found");
    world.check_unpinned("python3 -m a/../b", "name is none");
}

#[test]
fn what_cannot_be_pinned_is_said() {
    let world = World::new();
    for (line, why) in [
        ("uvx srv==1.0", "fetches or builds"),
        ("docker run mcp/x", "by its digest"),
        ("sh -c id", "stands in the arguments"),
        ("node -e 1", "stands in the arguments"),
        ("node", "cannot be told"),
        ("node missing.js", "was not found"),
        ("python3 .", "is a folder"),
    ] {
        world.check_unpinned(line, why);
    }
    world.program("home/.pyenv/shims/python3", "\u{7f}ELF");
    let shim = world.path("home/.pyenv/shims/python3");
    world.check_unpinned(
        &format!("{} x.py", shim.display()),
        "chooses the real program",
    );
    let before = world.find("uvx srv").digest;
    world.program("bin/uvx", "\u{7f}ELF other");
    assert_ne!(
        before,
        world.find("uvx srv").digest,
        "the runner itself is hashed"
    );
}

/// An empty or relative entry of PATH must not let the working folder name programs.
#[test]
fn the_working_folder_names_no_program() {
    let world = World::new();
    world.program("p/evil", "\u{7f}ELF");
    let error = world.try_find("evil").unwrap_err().to_string();
    assert!(error.contains("is in no folder of PATH"), "{error}");
    let local = world.find("./evil");
    assert!(local.project_local, "{local:?}");
    assert!(local.warnings[0].contains("lies in the project"));
}

#[test]
fn odd_files_are_refused_or_said() {
    let world = World::new();
    for (line, want) in [
        ("missing", "is in no folder of PATH"),
        ("./missing", "cannot be found"),
        ("../bin", "is no regular file"),
        ("./.keep", "cannot be executed"),
    ] {
        let error = world.try_find(line).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
    let fifo = world.path("p/fifo.js");
    let made = rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    );
    made.unwrap();
    let found = world.find("node fifo.js");
    assert!(found.unpinned.is_some(), "{found:?}");
    fs::set_permissions(world.path("bin/tool"), fs::Permissions::from_mode(0o757)).unwrap();
    assert!(world.find("tool").warnings[0].contains("every user of this machine may change"));
}

#[test]
fn links_are_followed() {
    let world = World::new();
    symlink("tool", world.path("bin/alias")).unwrap();
    let found = world.find("alias");
    assert_eq!(found.program, world.path("bin/tool"));
    assert_eq!(part_names(&found), ["program"]);
    assert_eq!(found.stamps[0].path, world.path("bin/tool"));
    assert!(Path::new(&found.stamps[0].path).is_absolute());
}

#[test]
fn a_module_of_the_project_is_said() {
    let world = World::new();
    world.write("p/srv/__main__.py", "run()");
    let found = world.find("python3 -m srv");
    assert!(found.project_local, "{found:?}");
    world.check_pins("python3 -m srv", &["p/srv/__main__.py"]);
}

#[test]
fn large_files_are_hashed_again_when_they_change() {
    let world = World::new();
    let large = |end: &str| format!("\u{7f}ELF{}{end}", "x".repeat(3 << 20));
    world.program("bin/large", &large("a"));
    let first = world.find("large");
    assert_eq!(first, world.find("large"));
    world.program("bin/large", &large("b"));
    assert_ne!(first.digest, world.find("large").digest);
}
