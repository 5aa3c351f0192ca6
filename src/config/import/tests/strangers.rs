//! Files that are broken, hostile, or hold secrets.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Map, json};

use super::super::*;
use super::clients::{own, sample, text, told};

#[test]
fn faults_cost_what_they_are_in() {
    for (client, text, want) in [
        (Client::Cursor, "{", "line 1"),
        (Client::Cursor, "[]", "holds no object"),
        (
            Client::Cursor,
            r#"{"mcpServers": []}"#,
            "no object of servers",
        ),
        (
            Client::Cursor,
            r#"{"mcpServers": {}, "mcpServers": {}}"#,
            "stands twice",
        ),
        (Client::Codex, "a = = 1", "line 1: not TOML"),
        (
            Client::Codex,
            "[mcp_servers.a]\n[mcp_servers.a]\n",
            "not TOML",
        ),
    ] {
        let error = read(&super::clients::text(client, Scope::User, text)).unwrap_err();
        assert!(error.contains(want), "{text}: {error}");
    }
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    assert!(read(&text(Client::Cursor, Scope::User, &deep)).is_err());
    let nested = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    assert!(read(&text(Client::Cursor, Scope::User, &nested)).is_err());
    assert!(
        read(&text(Client::Cursor, Scope::User, "\u{feff}{}"))
            .unwrap()
            .servers
            .is_empty()
    );
    let one = r#"{"mcpServers": {"a": {"command": "x", "comm\u0061nd": "y"}, "b": {"command": "z"}, "c": 7,
        "d": {"command": "x", "url": "https://x"}, "e": {"args": []}, "e": {"command": "q"}}}"#;
    let steps: Vec<(String, bool)> = own(Client::Cursor, one)
        .into_iter()
        .map(|planned| (planned.name, planned.step == Step::Add))
        .collect();
    let want = [
        ("a", false),
        ("b", true),
        ("c", false),
        ("d", false),
        ("e", false),
    ];
    let want = want.map(|(name, adds)| (name.to_owned(), adds));
    assert_eq!(steps, want);
}

proptest! {
    /// Nothing that a file can hold is a panic, and no value that was called a secret is shown.
    #[test]
    fn strangers_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0_usize..3_000, of in 0_usize..8) {
        let client = Client::ALL[of];
        let alone = String::from_utf8_lossy(&bytes).into_owned();
        let whole = sample(client);
        let mut at = at.min(whole.len());
        while !whole.is_char_boundary(at) {
            at -= 1;
        }
        let (before, after) = whole.split_at(at);
        let rest: String = after.chars().skip(bytes.len() % 4).collect();
        for text in [alone.clone(), format!("{before}{alone}{after}"), format!("{before}{rest}")] {
            for scope in [Scope::User, Scope::Project] {
                let Ok(found) = read(&super::clients::text(client, scope, &text)) else { continue };
                let empty = Map::new();
                let environment = BTreeMap::new();
                let known = Known { servers: &empty, file: Path::new("/x"), environment: &environment };
                for planned in plan(found.servers, known, Terms { projects: true, ..Terms::default() }) {
                    prop_assert!(!planned.name.is_empty() && !planned.name.contains('/'));
                }
            }
        }
    }

    #[test]
    fn a_secret_is_never_shown(value in "[A-Za-z0-9]{8,40}", place in 0_usize..5) {
        prop_assume!(value.bytes().any(|b| b.is_ascii_digit()));
        let value = format!("zq{value}");
        let fields = match place {
            0 => json!({ "command": "a", "env": { "SOME_TOKEN": value } }),
            1 => json!({ "command": "a", "args": ["--password", value] }),
            2 => json!({ "command": "a", "args": [format!("--secret={value}")] }),
            3 => json!({ "url": "https://a.example", "headers": { "Authorization": format!("Bearer {value}") } }),
            _ => json!({ "url": "https://a.example", "headers": { "X-Api-Key": value } }),
        };
        let text = json!({ "mcpServers": { "s": fields } }).to_string();
        let planned = own(Client::ClaudeCode, &text).remove(0);
        prop_assert_eq!(planned.moved.len(), 1);
        prop_assert!(!told(&planned).contains(&value));
        prop_assert!(!planned.entry.to_string().contains(&value));
    }
}
