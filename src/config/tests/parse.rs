//! Files and what is read from them.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use crate::config::{AuditSync, FILE_MAX, Parsed, Settings, ToolNames, parse};
use crate::grant::Network;
use crate::request::Source;

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect()
}

fn read(text: &str) -> Parsed {
    parse(text, Path::new("f.json"), Source::User, &BTreeMap::new())
}

/// The problems of a file as text, those of servers first.
fn problems(parsed: &Parsed) -> Vec<String> {
    let servers = parsed.servers.iter().filter_map(|s| s.as_ref().err());
    servers
        .chain(&parsed.problems)
        .map(ToString::to_string)
        .collect()
}

fn names(parsed: &Parsed) -> Vec<&str> {
    let servers = parsed.servers.iter().filter_map(|s| s.as_ref().ok());
    servers.map(|server| server.id.name.as_str()).collect()
}

/// `want` is the whole message without `f.json:`.
fn check(text: &str, want: &str) {
    let got = problems(&read(text));
    let got: Vec<&str> = got
        .iter()
        .map(|p| p.trim_start_matches("f.json:"))
        .collect();
    assert_eq!(got, [want], "{text}");
}

#[test]
fn a_whole_entry_is_read() {
    let parsed = read(
        r#"{"mcpServers": {"x": {"type": "stdio", "command": "run", "args": ["a"], "env": {"A": "b"},
            "cwd": "sub", "network": true, "writePaths": ["~/w"], "readPaths": ["/r"],
            "timeoutMs": 5, "startTimeoutMs": 20000, "enabled": false}},
            "toolNames": "mcp", "questionTimeoutMs": 7, "startTimeoutMs": 8, "audit": {"sync": "always"}}"#,
    );
    assert_eq!(problems(&parsed), [""; 0]);
    let server = parsed.servers[0].as_ref().unwrap();
    assert_eq!(server.id.to_string(), "user/x");
    assert_eq!(
        (server.command(), server.args()),
        ("run", vec!["a".to_owned()])
    );
    assert_eq!(server.environment().0, environment(&[("A", "b")]));
    assert_eq!(server.cwd.as_ref().unwrap().value, "sub");
    assert_eq!(server.network, Network::Whole);
    assert_eq!(server.write_paths, [crate::config::Text::plain("~/w")]);
    assert_eq!(
        (server.timeout_ms, server.start_timeout_ms),
        (5, Some(20_000))
    );
    assert!(!server.enabled);
    let settings = &parsed.settings;
    assert_eq!(settings.tool_names(), ToolNames::Mcp);
    assert_eq!(
        (settings.question_timeout_ms(), settings.start_timeout_ms()),
        (7, 8)
    );
    assert_eq!(settings.audit_sync(), AuditSync::Always);
    let rest = read(
        r#"{"audit": {"maxMiB": 1, "maxDays": 2, "keepFiles": 3, "keepDays": 4, "checkpoints": "/x"}}"#,
    );
    let audit = &rest.settings.audit;
    assert_eq!(
        (audit.max_mib, audit.max_days, audit.keep_files),
        (Some(1), Some(2), Some(3))
    );
    assert_eq!(
        (audit.keep_days, audit.checkpoints.as_deref()),
        (Some(4), Some("/x"))
    );
    let bare = read(r#"{"mcpServers": {"x": {"command": "run"}}}"#);
    let bare = bare.servers[0].as_ref().unwrap();
    assert_eq!(
        (bare.timeout_ms, bare.network, bare.enabled),
        (60_000, Network::None, true)
    );
}

#[test]
fn a_fault_names_place_field_and_way_out() {
    let server = |entry: &str| format!("{{\"mcpServers\": {{\"x\": {entry}}}}}");
    let at = |entry: &str, want: &str| check(&server(entry), want);
    at(
        r#"{"command": "r", "arg": []}"#,
        "1:39: mcpServers.x.arg is not a known key; did you mean `args`?",
    );
    at(r#"{"args": []}"#, "1:17: mcpServers.x has no `command`");
    at(
        r#"{"command": " "}"#,
        "1:17: mcpServers.x has an empty `command`",
    );
    at(
        r#"{"command": 1}"#,
        "1:34: mcpServers.x.command must be a text, not a number",
    );
    at(
        r#"{"command": "r", "args": ["a", null]}"#,
        "1:53: mcpServers.x.args[1] must be a text, not null",
    );
    at(
        r#"{"command": "r", "command": "s"}"#,
        "1:39: mcpServers.x.command stands twice",
    );
    at(
        r#"{"command": "r", "comm\u0061nd": "s"}"#,
        "1:39: mcpServers.x.command stands twice",
    );
    at(
        r#"{"command": "r", "env": {"A": "1", "A": "2"}}"#,
        "1:57: mcpServers.x.env.A stands twice",
    );
    at(
        r#"{"command": "r", "env": {"A=B": "1"}}"#,
        "1:47: mcpServers.x.env.A=B is not the name of a variable",
    );
    at(
        r#"{"command": "r\u0000s"}"#,
        "1:34: mcpServers.x.command holds a zero character, which no program can get",
    );
}

#[test]
fn a_fault_says_why_it_is_one() {
    let server = |entry: &str| format!("{{\"mcpServers\": {{\"x\": {entry}}}}}");
    let at = |entry: &str, want: &str| check(&server(entry), want);
    at(
        r#"{"command": "r", "network": ["a.test", "https://b.test"]}"#,
        "1:61: mcpServers.x.network[1] names no host: a host has no scheme: write `example.com` or `example.com:8443`; write `api.example.com`, `api.example.com:8443` or `*.example.com`",
    );
    at(
        r#"{"command": "r", "timeoutMs": 0}"#,
        "1:52: mcpServers.x.timeoutMs must be whole milliseconds from 1 to 86400000",
    );
    at(r#"[]"#, "1:22: mcpServers.x must be an object, not a list");
    check(
        r#"{"toolnames": "mcp"}"#,
        "1:2: toolnames is not a known key; did you mean `toolNames`?",
    );
    check(
        r#"{"toolNames": "x"}"#,
        "1:15: toolNames is `x`, and can be server, mcp, plain",
    );
    check(
        r#"[]"#,
        "1:1: must be an object, not a list; nothing of this file is used",
    );
    check(
        r#"{"mcpServers": []}"#,
        "1:16: mcpServers must be an object of servers by name",
    );
}

#[test]
fn one_bad_server_costs_itself_only() {
    let parsed = read(
        r#"{"mcpServers": {"a": {"command": "r"}, "b": {"comand": "r"}, "c": {"command": "r"}}, "x": 1}"#,
    );
    assert_eq!(names(&parsed), ["a", "c"]);
    assert_eq!(problems(&parsed).len(), 2);
}

#[test]
fn a_name_that_stands_twice_is_used_by_none() {
    for second in ["a", "\\u0061"] {
        let parsed = read(&format!(
            r#"{{"mcpServers": {{"a": {{"command": "good"}}, "b": {{"command": "r"}}, "{second}": {{"command": "evil"}}}}}}"#
        ));
        assert_eq!(names(&parsed), ["b"]);
        assert_eq!(problems(&parsed).len(), 2);
    }
    let parsed = read(
        "{\"mcpServers\": {\"caf\u{e9}\": {\"command\": \"r\"}, \"cafe\u{301}\": {\"command\": \"r\"}}}",
    );
    assert_eq!(names(&parsed), [""; 0]);
}

#[test]
fn hostile_names_are_refused_and_cannot_fake_a_line() {
    for name in ["", "  ", "a\\nb", "a\\u001b[2J", "a\\u202eb", "a\\u3164"] {
        let parsed = read(&format!(
            r#"{{"mcpServers": {{"{name}": {{"command": "r"}}}}}}"#
        ));
        assert_eq!(names(&parsed), [""; 0], "{name}");
        let shown = problems(&parsed).join("");
        assert!(!shown.contains(['\n', '\u{1b}', '\u{202e}']), "{shown:?}");
    }
}

#[test]
fn a_project_has_no_settings() {
    let text = r#"{"mcpServers": {"x": {"command": "r"}}, "questionTimeoutMs": 1, "audit": {}}"#;
    let parsed = parse(text, Path::new("f.json"), Source::Project, &BTreeMap::new());
    assert_eq!(parsed.settings, Settings::default());
    assert_eq!(names(&parsed), ["x"]);
    assert!(
        problems(&parsed)[0].contains("questionTimeoutMs is a setting, and a project has none")
    );
    assert_eq!(problems(&parsed).len(), 2);
}

/// SHOWS 6: deep JSON, large files, broken files; each is said and nothing crashes.
#[test]
fn files_that_cannot_be_read_are_said() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deeper = format!("{{\"mcpServers\":{}", "{\"a\":".repeat(100_000));
    let large = format!("\"{}\"", "x".repeat(FILE_MAX));
    for (text, want) in [
        (deep.as_str(), "depth"),
        (&deeper, "depth"),
        (&large, "larger than 1024 KiB"),
        (
            "{\"mcpServers\": {\n  \"a\": oops}}",
            "f.json:2:8: not JSON",
        ),
        ("{'a': 1}", "not JSON"),
        ("{\"a\" 1}", "not JSON"),
        ("{} {}", "not JSON"),
        ("{\"a\": \"\\ud800\"}", "not JSON"),
    ] {
        let parsed = read(text);
        assert_eq!(parsed.servers.len(), 0);
        assert!(
            problems(&parsed)[0].contains(want),
            "{:?}",
            problems(&parsed)
        );
    }
    assert_eq!(read("\u{feff}{}"), Parsed::default());
    assert_eq!(read(""), Parsed::default());
    assert_eq!(read("// nothing\n"), Parsed::default());
}

#[test]
fn nesting_below_the_bound_is_read_and_refused() {
    for text in [
        format!("{}{}", "[".repeat(500), "]".repeat(500)),
        format!(
            "{{\"mcpServers\": {{\"x\": {}1{}}}}}",
            "{\"a\":".repeat(500),
            "}".repeat(500)
        ),
    ] {
        let parsed = read(&text);
        assert_eq!((names(&parsed).len(), problems(&parsed).len()), (0, 1));
    }
}

proptest! {
    /// Whatever stands in a file, reading ends, and no message holds a control character.
    #[test]
    fn any_text_is_read(text in "[\\[\\]{}:,\"a-c0-9\\\\/* \n\u{1b}\u{e9}u+.-]{0,60}") {
        for problem in problems(&read(&text)) {
            prop_assert!(!problem.contains(char::is_control), "{problem:?}");
        }
    }

    /// Any entry under any name: it is read, or one problem names it.
    #[test]
    fn any_name_is_used_or_refused(name in ".{0,12}", value in ".{0,12}") {
        let file = serde_json::json!({"mcpServers": {&name: {"command": "r", "args": [&value]}}});
        let parsed = read(&file.to_string());
        prop_assert_eq!(names(&parsed).len() + problems(&parsed).len(), 1);
        for problem in problems(&parsed) {
            prop_assert!(!problem.contains(char::is_control), "{problem:?}");
        }
    }
}

/// MCP-09: documented forms expand once; a missing variable disables just its server and names the
/// field; no value is printed.
#[test]
fn mcp_09_variables() {
    let expect: serde_json::Value =
        serde_json::from_str(include_str!("../../../tests/cases/MCP-09.expect.json")).unwrap();
    let env: BTreeMap<String, String> = serde_json::from_value(expect["env"].clone()).unwrap();
    let text = include_str!("../../../tests/cases/MCP-09.mcp.json");
    let parsed = parse(text, Path::new(".mcp.json"), Source::Project, &env);
    let a = parsed.servers[0].as_ref().unwrap();
    assert_eq!(expect["a"]["command"], a.command());
    assert_eq!(expect["a"]["args"], serde_json::json!(a.args()));
    assert_eq!(expect["a"]["env"], serde_json::json!(a.environment().0));
    let b = parsed.servers[1].as_ref().unwrap_err();
    assert_eq!(expect["b"], format!("disabled: {}", b.what()));
    let c = parsed.servers[2].as_ref().unwrap();
    let remote = c.remote.as_ref().unwrap();
    assert_eq!(expect["c"]["url"], remote.address.as_str());
    assert_eq!(
        remote.headers["authorization"].value,
        "Bearer s3cr3t-${HOME}"
    );
    let printed = format!("{parsed:?}{}{b}{}", a.shown(), c.shown());
    assert!(
        !printed.contains("s3cr3t") && !printed.contains("/opt/t"),
        "{printed}"
    );
    assert_eq!(a.secret_names(), ["API_TOKEN", "TOKEN"]);
}

/// MCP-10: comments and trailing commas are read, strings that look like them are unchanged.
#[test]
fn mcp_10_comments() {
    let text = include_str!("../../../tests/cases/MCP-10.mcp.json");
    let parsed = parse(
        text,
        Path::new(".mcp.json"),
        Source::Project,
        &BTreeMap::new(),
    );
    let web = parsed.servers[0].as_ref().unwrap();
    let web = web.remote.as_ref().unwrap();
    assert_eq!(web.address.as_str(), "https://mcp.example.test/mcp");
    let fs = parsed.servers[1].as_ref().unwrap();
    assert_eq!(fs.args(), ["--note", "a, } // not a comment /* either */"]);
}

/// MCP-12: no name is dropped or merged.
#[test]
fn mcp_12_names() {
    let text = include_str!("../../../tests/cases/MCP-12.mcp.json");
    let parsed = read(text);
    assert_eq!(
        names(&parsed),
        ["数据库", "日本語サーバー", "café", "cafe", "my server"]
    );
}
