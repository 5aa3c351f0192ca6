//! Files as they are found, hostile ones too, and edits that keep what people wrote.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;
use crate::request::Source;

struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["user", "org", "project/.creance"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self) -> Configuration {
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

fn entry(name: &str, command: &str) -> String {
    format!(r#"{{"mcpServers": {{"{name}": {{"command": "{command}"}}}}}}"#)
}

fn ids(all: &Configuration) -> Vec<String> {
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
    link.check_refused("is a link");

    let fifo = World::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, fifo.path(file), kind, mode, 0).unwrap();
    fifo.check_refused("is no regular file");

    let folder = World::new();
    fs::create_dir(folder.path(file)).unwrap();
    folder.check_refused("is no regular file");

    let large = World::new();
    let sparse = fs::File::create(large.path(file)).unwrap();
    sparse.set_len(1 << 30).unwrap();
    large.check_refused("is larger than 1024 KiB");

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
        all.problems[0].to_string().contains("is a link"),
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

#[test]
fn a_users_file_may_be_a_link_and_stays_one() {
    let world = World::new();
    fs::create_dir(world.path("dotfiles")).unwrap();
    world.write("dotfiles/c.json", &entry("x", "/bin/x"));
    symlink(
        world.path("dotfiles/c.json"),
        world.path("user/config.json"),
    )
    .unwrap();
    assert_eq!(ids(&world.read()), ["user/x"]);
    let file = world.path("user/config.json");
    add(&file, "y", &json!({"command": "/bin/y"}), &BTreeMap::new()).unwrap();
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
    assert_eq!(ids(&world.read()), ["user/x", "user/y"]);
}

const COMMENTED: &str = r#"// mine
{
  // all of them
  "mcpServers": {
    "a": { "command": "/bin/a", "args": ["//", ",}"], }, // keep a
    /* b is next */
    "b": {
      "command": "/bin/b"
    }
  },
  "toolNames": "mcp" // keep me
}
"#;

#[test]
fn edits_keep_comments_and_layout() {
    let world = World::new();
    world.write("user/config.json", COMMENTED);
    let file = world.path("user/config.json");
    let entry = json!({"command": "/bin/c \"q\" \u{1b} ü \\", "args": ["a\nb", ""], "env": {"A b": "1"}, "network": true});
    assert_eq!(
        add(&file, "c \"quoted\"", &entry, &BTreeMap::new()).unwrap(),
        None
    );
    let text = fs::read_to_string(&file).unwrap();
    for kept in [
        "// mine",
        "// all of them",
        r#"["//", ",}"], }, // keep a"#,
        "/* b is next */",
        "// keep me",
    ] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    let all = world.read();
    assert_eq!(ids(&all), ["user/a", "user/b", "user/c \"quoted\""]);
    assert_eq!(all.servers[2].args(), ["a\nb", ""]);
    remove(&file, "c \"quoted\"").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), COMMENTED);
    remove(&file, "a").unwrap();
    assert_eq!(ids(&world.read()), ["user/b"]);
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("/* b is next */")
    );
}

#[test]
fn a_new_file_is_private() {
    let world = World::new();
    let file = world.path("user/deep/er/config.json");
    add(&file, "x", &json!({"command": "/bin/x"}), &BTreeMap::new()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(
        text,
        "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"/bin/x\"\n    }\n  }\n}\n"
    );
}

#[test]
fn a_faulty_entry_is_not_saved_and_a_missing_variable_is_said() {
    let world = World::new();
    world.write("user/config.json", COMMENTED);
    let file = world.path("user/config.json");
    let try_add = |name: &str, entry: serde_json::Value| {
        let error = add(&file, name, &entry, &BTreeMap::new())
            .unwrap_err()
            .to_string();
        assert_eq!(fs::read_to_string(&file).unwrap(), COMMENTED);
        assert!(error.starts_with("nothing was saved: "), "{error}");
        error
    };
    assert!(try_add("a", json!({"command": "x"})).contains("is there already"));
    assert!(try_add("n", json!({"comand": "x"})).contains("did you mean `command`?"));
    assert!(try_add("n", json!({"command": 1})).contains("must be a text"));
    assert!(try_add("", json!({"command": "x"})).contains("has no name"));
    assert!(
        remove(&file, "zzz")
            .unwrap_err()
            .to_string()
            .contains("there is no server")
    );
    let said = add(
        &file,
        "n",
        &json!({"command": "${NOT_SET}"}),
        &BTreeMap::new(),
    )
    .unwrap();
    assert_eq!(said.unwrap().what(), "mcpServers.n.command needs NOT_SET");
}

/// SBX-13: what cannot be saved is an error, and nothing is said to be saved.
#[test]
fn sbx_13_a_file_that_cannot_be_written_is_an_error() {
    let world = World::new();
    world.write("user/config.json", COMMENTED);
    let file = world.path("user/config.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let entry = json!({"command": "x"});
    let error = add(&file, "n", &entry, &BTreeMap::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("nothing was saved") && error.contains("read-only"),
        "{error}"
    );
    assert!(remove(&file, "a").is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), COMMENTED);
    let broken = world.path("user/broken.json");
    for text in ["{\"mcpServers\": oops}", "[]", "{\"mcpServers\": []}"] {
        fs::write(&broken, text).unwrap();
        assert!(
            add(&broken, "n", &entry, &BTreeMap::new()).is_err(),
            "{text}"
        );
        assert_eq!(fs::read_to_string(&broken).unwrap(), text);
    }
    let in_file = world.path("user/config.json/x.json");
    assert!(add(&in_file, "n", &entry, &BTreeMap::new()).is_err());
}

#[test]
fn edits_at_the_same_time_lose_nothing() {
    let world = World::new();
    let file = world.path("user/config.json");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let file = &file;
            scope.spawn(move || {
                let entry = json!({"command": "/bin/x"});
                add(file, &format!("s{number}"), &entry, &BTreeMap::new()).unwrap();
            });
        }
    });
    assert_eq!(world.read().servers.len(), 8);
    assert!(
        world
            .read()
            .servers
            .iter()
            .all(|server| server.id.source == Source::User)
    );
}
