//! Files as they are found, hostile ones too.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{Configuration, Files, read_all};

pub(super) struct World {
    root: tempfile::TempDir,
}

impl World {
    pub(super) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["user", "org", "project/.creance"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        Self { root }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(super) fn read(&self) -> Configuration {
        let files = Files::new(&self.path("user"), Some(&self.path("project")));
        read_all(
            &files.with_org(self.path("org/config.json")),
            &BTreeMap::new(),
        )
    }

    /// The project's `.mcp.json` gains nothing, the user's server is there, and `want` is said.
    fn check_refused(&self, want: &str) {
        self.write("user/config.json", &entry("mine", "/bin/mine"));
        let all = self.read();
        assert_eq!(ids(&all), ["user/mine"]);
        let said: Vec<String> = all.problems.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].contains(".mcp.json") && said[0].contains(want),
            "{said:?}"
        );
    }
}

pub(super) fn entry(name: &str, command: &str) -> String {
    format!(r#"{{"mcpServers": {{"{name}": {{"command": "{command}"}}}}}}"#)
}

pub(super) fn ids(all: &Configuration) -> Vec<String> {
    all.servers
        .iter()
        .map(|server| server.id.to_string())
        .collect()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn nothing_there_is_nothing_wrong() {
    let all = World::new().read();
    assert_eq!((all.servers.len(), all.problems.len()), (0, 0));
    let files = Files::new(Path::new("/nowhere"), None);
    assert_eq!(files.user(), Path::new("/nowhere/config.json"));
}

/// SHOWS 6: a project's server with the name of the user's is another server, and that is said.
#[test]
fn a_project_replaces_no_server() {
    let world = World::new();
    world.write("user/config.json", &entry("github", "/bin/mine"));
    world.write("project/.mcp.json", &entry("GitHub", "/bin/evil"));
    world.write("project/.creance/config.json", &entry("tool", "/bin/tool"));
    let all = world.read();
    assert_eq!(ids(&all), ["user/github", "project/tool", "project/GitHub"]);
    assert_eq!(all.servers[0].command(), "/bin/mine");
    assert_eq!(all.notices.len(), 1);
    assert!(
        all.notices[0].starts_with("project/GitHub ("),
        "{:?}",
        all.notices
    );
    assert_eq!(all.problems, []);
}

#[test]
fn two_files_of_a_project_define_a_server_once() {
    let world = World::new();
    world.write("project/.creance/config.json", &entry("x", "/bin/one"));
    world.write("project/.mcp.json", &entry("x", "/bin/two"));
    let all = world.read();
    assert_eq!(
        (ids(&all), all.servers[0].command()),
        (vec!["project/x".to_owned()], "/bin/one")
    );
    assert!(
        all.problems[0]
            .to_string()
            .contains("mcpServers.x is defined otherwise by")
    );
    world.write("project/.mcp.json", &entry("x", "/bin/one"));
    assert_eq!(world.read().problems, []);
}

#[test]
fn settings_come_from_user_and_organisation() {
    let world = World::new();
    world.write(
        "user/config.json",
        r#"{"toolNames": "plain", "startTimeoutMs": 5}"#,
    );
    world.write("org/config.json", r#"{"toolNames": "mcp"}"#);
    world.write("project/.mcp.json", r#"{"startTimeoutMs": 1}"#);
    let all = world.read();
    assert_eq!(all.settings.start_timeout_ms(), 5);
    if is_root() {
        assert_eq!(all.settings.tool_names(), crate::config::ToolNames::Mcp);
        assert_eq!(all.problems.len(), 1);
    } else {
        assert_eq!(all.settings.tool_names(), crate::config::ToolNames::Plain);
        assert!(
            all.problems
                .iter()
                .any(|p| p.to_string().contains("does not belong to root"))
        );
    }
}

/// SHOWS 6: links, FIFOs, large files, deep JSON, bytes that are no text.
#[test]
fn hostile_files_of_a_project_gain_nothing() {
    let file = "project/.mcp.json";
    let link = World::new();
    link.write("secret", &entry("evil", "/bin/evil"));
    symlink(link.path("secret"), link.path(file)).unwrap();
    link.check_refused("symbolic link, which is not followed");

    let fifo = World::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, fifo.path(file), kind, mode, 0).unwrap();
    fifo.check_refused("is not a regular file");

    let folder = World::new();
    fs::create_dir(folder.path(file)).unwrap();
    folder.check_refused("is not a regular file");

    let large = World::new();
    let sparse = fs::File::create(large.path(file)).unwrap();
    sparse.set_len(1 << 30).unwrap();
    large.check_refused("is larger than 1048576 bytes");

    let deep = World::new();
    deep.write(file, &"[".repeat(500_000));
    deep.check_refused("depth");

    let bytes = World::new();
    fs::write(bytes.path(file), b"{\"a\": \"\xff\"}").unwrap();
    bytes.check_refused("is not UTF-8 text (byte 7)");
}

#[test]
fn a_linked_folder_of_a_project_is_refused() {
    let world = World::new();
    fs::create_dir(world.path("elsewhere")).unwrap();
    world.write("elsewhere/config.json", &entry("evil", "/bin/evil"));
    fs::remove_dir(world.path("project/.creance")).unwrap();
    symlink(world.path("elsewhere"), world.path("project/.creance")).unwrap();
    let all = world.read();
    assert_eq!(ids(&all), [""; 0]);
    assert!(
        all.problems[0]
            .to_string()
            .contains("symbolic link, which is not followed"),
        "{:?}",
        all.problems
    );
}

#[test]
fn foreign_owners_are_refused() {
    if !is_root() {
        eprintln!("skipped: only root can give a file away");
        return;
    }
    let world = World::new();
    for (name, want) in [
        ("project/.mcp.json", "belongs to another user"),
        ("user/config.json", "does not belong to you"),
        ("org/config.json", "does not belong to root"),
    ] {
        world.write(name, &entry("evil", "/bin/evil"));
        std::os::unix::fs::chown(world.path(name), Some(12_345), None).unwrap();
        let all = world.read();
        assert_eq!(ids(&all), [""; 0]);
        assert!(
            all.problems[0].to_string().contains(want),
            "{:?}",
            all.problems
        );
        fs::remove_file(world.path(name)).unwrap();
    }
}

#[test]
fn a_file_that_everybody_may_change_is_nobodys_word() {
    for (name, mode) in [("user/config.json", 0o666), ("user", 0o777)] {
        let world = World::new();
        world.write("user/config.json", &entry("x", "/bin/x"));
        fs::set_permissions(world.path(name), fs::Permissions::from_mode(mode)).unwrap();
        let all = world.read();
        assert_eq!(ids(&all), [""; 0], "{name}");
        assert!(
            all.problems[0].to_string().contains("change"),
            "{:?}",
            all.problems
        );
    }
}

#[test]
fn a_group_may_not_speak_for_the_organisation() {
    if !is_root() {
        eprintln!("skipped: only root can write an organisation's file");
        return;
    }
    let world = World::new();
    world.write("org/config.json", &entry("x", "/bin/x"));
    assert_eq!(ids(&world.read()), ["org/x"]);
    std::os::unix::fs::chown(world.path("org/config.json"), None, Some(12_345)).unwrap();
    let mode = fs::Permissions::from_mode(0o664);
    fs::set_permissions(world.path("org/config.json"), mode).unwrap();
    let all = world.read();
    assert_eq!(ids(&all), [""; 0]);
    assert!(
        all.problems[0].to_string().contains("by a group"),
        "{:?}",
        all.problems
    );
}
