//! An organisation's bundle in force: the whole way from `policy init` to what `run`, `serve` and
//! `dry-run` decide. `/etc` is another one in a mount namespace of the test's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::raw::Raw;
use crate::real::path_text;
use crate::stage::Stage;

/// A stage on a machine with an organisation.
struct Machine {
    stage: Stage,
    etc: PathBuf,
}

/// Enters namespaces in which this user is root and `/etc` is the folder `$0`.
const ENTER: &str = "mount --bind \"$0\" /etc && exec \"$@\"";

impl Machine {
    /// `None` where no namespace is to be had.
    fn new(test: &str) -> Option<Self> {
        let stage = Stage::new();
        let etc = stage.home.with_file_name("etc");
        std::fs::create_dir_all(etc.join("creance")).unwrap();
        for file in ["passwd", "group", "ld.so.cache", "nsswitch.conf"] {
            let _ = std::fs::copy(Path::new("/etc").join(file), etc.join(file));
        }
        let machine = Self { stage, etc };
        let output = machine.command("/bin/true", &[]).output();
        let works = output.as_ref().is_ok_and(|output| output.status.success());
        if !works {
            eprintln!("{test}: skipped: no `unshare` with a mount namespace: {output:?}");
        }
        works.then_some(machine)
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command
            .args(["-Urm", "/bin/sh", "-c", ENTER])
            .arg(&self.etc)
            .arg(program)
            .args(args)
            .current_dir(&self.stage.project)
            .env_clear()
            .envs(self.stage.environment());
        command
    }

    fn creance(&self, args: &[&str]) -> Command {
        self.command(env!("CARGO_BIN_EXE_creance"), args)
    }

    #[track_caller]
    fn says(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = self.creance(args).output().unwrap();
        let words = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&words).into())
    }

    #[track_caller]
    fn does(&self, args: &[&str]) -> String {
        let (code, said) = self.stage.says(args);
        assert_eq!(code, Some(0), "{args:?}: {said}");
        said
    }

    fn folder(&self) -> String {
        path_text(&self.stage.home.join("acme"))
    }

    /// Bundles and signs what lies in the folder.
    fn release(&self, more: &[&str]) {
        let folder = self.folder();
        let mut args = vec!["policy", "bundle", &folder, "--name", "acme"];
        args.extend(more);
        self.does(&args);
        let key = path_text(&self.stage.home.join("acme-release.key"));
        self.does(&["policy", "sign", &folder, "--key", &key]);
    }

    /// Pins the folder and the key, as root does.
    fn pin(&self) {
        let public = self.stage.home.join("acme-release.pub");
        let public = std::fs::read_to_string(public).unwrap();
        let pinned = json!({ "name": "acme", "bundle": self.folder(), "keys": [public] });
        std::fs::write(
            self.etc.join("creance/organisation.json"),
            pinned.to_string(),
        )
        .unwrap();
    }

    /// The shipped example, released and pinned.
    fn with_example(&self, more: &[&str]) {
        self.does(&["policy", "init", "organisation", &self.folder()]);
        self.does(&[
            "policy",
            "key",
            &path_text(&self.stage.home.join("acme-release")),
        ]);
        self.release(more);
        self.pin();
    }
}

const FORCED: [&str; 6] = ["run", "--", "git", "push", "--force", "origin"];

#[test]
fn a_bundle_is_in_force() {
    let Some(machine) = Machine::new("a_bundle_is_in_force") else {
        return;
    };
    let (_, said) = machine.says(&["policy", "list"]);
    assert!(!said.contains("org/"), "{said}");
    machine.with_example(&[]);
    let (code, said) = machine.says(&["policy", "list"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("bundle acme, revision 1") && said.contains("org/tools/history-rewrite"),
        "{said}"
    );
    // A command, with nobody there to ask.
    let (code, said) = machine.says(&FORCED);
    assert!(matches!(code, Some(3 | 4)), "{code:?}: {said}");
    assert!(said.contains("Published history"), "{said}");
    let (code, said) = machine.says(&["run", "--", "git", "log", "--oneline"]);
    assert_eq!(code, Some(0), "{said}");
    // A dry run: the server is none of the catalogue.
    machine
        .stage
        .servers(&json!({ "files": { "command": "/bin/cat" } }));
    let (code, said) = machine.says(&["dry-run", "start", "user/files"]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("org/servers/approved-servers"), "{said}");
    // A file that was changed after it was signed: the last good one goes on, and that is said.
    let file = PathBuf::from(machine.folder()).join("tools.cedar");
    std::fs::write(&file, "").unwrap();
    let (code, said) = machine.says(&FORCED);
    assert!(matches!(code, Some(3 | 4)), "{code:?}: {said}");
    assert!(
        said.contains("`tools.cedar` is not what was signed"),
        "{said}"
    );
    // Without one nothing is permitted.
    std::fs::remove_file(
        machine
            .stage
            .home
            .join(".cache/creance/organisation.bundle"),
    )
    .unwrap();
    let (code, said) = machine.says(&["run", "--", "/bin/true"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("everything is denied"), "{said}");
    let (code, said) = machine.says(&["policy", "check"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("is not what was signed"), "{said}");
}

#[test]
fn a_bundle_in_shadow_decides_nothing_and_says_what_it_would() {
    let Some(machine) = Machine::new("a_bundle_in_shadow") else {
        return;
    };
    machine.with_example(&["--shadow"]);
    let (code, said) = machine.says(&FORCED);
    // Git itself fails: there is no origin.
    assert!(!matches!(code, Some(3 | 4)), "{code:?}: {said}");
    let (_, said) = machine.says(&["audit", "show", "--json"]);
    assert!(said.contains("shadow-differs"), "{said}");
    assert!(said.contains("org/tools/history-rewrite"), "{said}");
    machine
        .stage
        .servers(&json!({ "files": { "command": "/bin/cat" } }));
    let (code, said) = machine.says(&["dry-run", "--fail-on-change"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the other store"), "{said}");
    machine.release(&[]);
    let (code, said) = machine.says(&FORCED);
    assert!(matches!(code, Some(3 | 4)), "{code:?}: {said}");
}

/// The gateway judges by the bundle too: a start that needs an answer, and nobody there.
#[test]
fn the_gateway_judges_by_it() {
    let Some(machine) = Machine::new("the_gateway_judges_by_it") else {
        return;
    };
    machine.with_example(&[]);
    machine
        .stage
        .policy("@id(\"all\") @reason(\"Everything.\")\npermit (principal, action, resource);");
    // Nobody answers: the question ends soon, and its decision is on record.
    let servers = json!({ "files": { "command": "/bin/cat" } });
    let config = json!({ "mcpServers": servers, "questionTimeoutMs": 2000 });
    machine.stage.configure(&config);
    let mut gateway = Raw::start(machine.creance(&["serve"]));
    let client = json!({ "name": "test", "version": "1" });
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let id = gateway.ask("initialize", &hello);
    gateway.answer(id);
    gateway.notify("notifications/initialized", &json!({}));
    let id = gateway.ask("tools/list", &json!({}));
    gateway.answer(id);
    // Servers are started beside the answer: the decision is on record soon.
    let judged = (0..60).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let (_, log) = machine.says(&["audit", "show", "--json"]);
        log.contains("org/servers/approved-servers")
    });
    drop(gateway);
    assert!(judged, "the start was not judged by the bundle");
}
