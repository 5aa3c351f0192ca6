//! Edits that keep what people wrote, or change nothing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use super::tests::{World, entry, ids};
use super::{add, remove};
use crate::request::Source;

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
