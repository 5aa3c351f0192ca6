//! Eight files of eight clients and what becomes of them; references; secrets; strangers' bytes.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::super::*;

/// A client's file as the tests keep it.
pub(super) fn sample(client: Client) -> &'static str {
    match client {
        Client::ClaudeDesktop => include_str!("../../../../tests/cases/import/claude-desktop.json"),
        Client::ClaudeCode => include_str!("../../../../tests/cases/import/claude-code.json"),
        Client::Cursor => include_str!("../../../../tests/cases/import/cursor.json"),
        Client::VsCode => include_str!("../../../../tests/cases/import/vscode.json"),
        Client::Windsurf => include_str!("../../../../tests/cases/import/windsurf.json"),
        Client::Zed => include_str!("../../../../tests/cases/import/zed.json"),
        Client::Codex => include_str!("../../../../tests/cases/import/codex.toml"),
        Client::Gemini => include_str!("../../../../tests/cases/import/gemini.json"),
    }
}

pub(super) fn text(client: Client, scope: Scope, text: &str) -> ClientText<'_> {
    ClientText {
        client,
        scope,
        file: Path::new("/home/u/file"),
        text,
        project: Some("/home/u/shop"),
    }
}

/// The plan of some files for a user with these servers and this environment.
pub(super) fn planned(
    files: &[(Client, Scope, &str)],
    known: &Value,
    environment: &[(&str, &str)],
    terms: Terms,
) -> Vec<Planned> {
    let servers = files
        .iter()
        .flat_map(|(client, scope, file)| read(&text(*client, *scope, file)).unwrap().servers);
    let environment: BTreeMap<String, String> = environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let empty = Map::new();
    let known = Known {
        servers: known.as_object().unwrap_or(&empty),
        file: Path::new("/home/u/config.json"),
        environment: &environment,
    };
    plan(servers.collect(), known, terms)
}

pub(super) fn own(client: Client, text: &str) -> Vec<Planned> {
    planned(
        &[(client, Scope::User, text)],
        &json!({}),
        &[],
        Terms::default(),
    )
}

pub(super) fn told(planned: &Planned) -> String {
    let mut lines = vec![
        format!(
            "{} / {}: {:?}",
            planned.server.client.title(),
            planned.name,
            planned.step
        ),
        format!("  {}", planned.shown),
    ];
    lines.extend(
        planned
            .moved
            .iter()
            .map(|moved| format!("  secret {} is {}", moved.field, moved.variable)),
    );
    if !planned.missing.is_empty() {
        lines.push(format!("  needs {}", planned.missing.join(", ")));
    }
    lines.extend(
        planned
            .remarks
            .iter()
            .map(|r| format!("  - {} {}", r.field, r.what)),
    );
    lines.extend(planned.rules.iter().map(|rule| {
        format!(
            "  rule {:?} {:?} by {}",
            rule.effect, rule.tools, rule.field
        )
    }));
    lines.join("\n") + "\n"
}

/// All eight in one import, as it is told. `UPDATE=1` writes what is got: read the difference.
#[test]
fn eight_clients() {
    let files = Client::ALL.map(|client| (client, Scope::User, sample(client)));
    let got: String = planned(&files, &json!({}), &[], Terms::default())
        .iter()
        .map(told)
        .collect();
    let want = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/import/want.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(want, &got).unwrap();
    }
    assert_eq!(got, std::fs::read_to_string(want).unwrap());
    for secret in ["ghp_16C7", "hunter2", "sk-live", "gm-77aa"] {
        assert!(!got.contains(secret), "{secret}");
    }
}

/// What was imported once is there already, whatever the order and whichever client is asked.
#[test]
fn a_second_import_adds_nothing() {
    let files = Client::ALL.map(|client| (client, Scope::User, sample(client)));
    for keep_secrets in [false, true] {
        let terms = Terms {
            keep_secrets,
            projects: false,
        };
        let first = planned(&files, &json!({}), &[], terms);
        let added = first.iter().filter(|planned| planned.step == Step::Add);
        let known: Map<String, Value> = added
            .map(|planned| (planned.name.clone(), planned.entry.clone()))
            .collect();
        let known = Value::Object(known);
        for planned in planned(&files, &known, &[], Terms::default()) {
            assert_ne!(planned.step, Step::Add, "{}", planned.name);
        }
        for file in &files {
            for planned in planned(std::slice::from_ref(file), &known, &[], Terms::default()) {
                assert_ne!(planned.step, Step::Add, "{}", planned.name);
            }
        }
    }
}

#[test]
fn references_stay_references() {
    let check = |client: Client, raw: &str, want: Result<&str, &str>| {
        let file = json!({ client.servers_key(): { "a": { "command": raw } },
            "inputs": [{ "id": "my-key", "password": true, "default": "x" }] });
        let planned = own(client, &file.to_string()).remove(0);
        let got = match &planned.step {
            Step::Refused(why) => Err(why.as_str()),
            _ => Ok(planned.entry["command"].as_str().unwrap()),
        };
        match want {
            Ok(want) => assert_eq!(got, Ok(want), "{client:?} {raw}"),
            Err(part) => assert!(got.unwrap_err().contains(part), "{client:?} {raw}: {got:?}"),
        }
    };
    use Client::{ClaudeCode, ClaudeDesktop, Cursor, Gemini, VsCode, Windsurf, Zed};
    for (client, raw, want) in [
        (ClaudeDesktop, "${A}", Ok("$${A}")),
        (ClaudeDesktop, "$${A}", Ok("$$${A}")),
        (ClaudeDesktop, "a$b", Ok("a$b")),
        (Zed, "${A:-x}", Ok("$${A:-x}")),
        (ClaudeCode, "${A}/${B:-c}", Ok("${A}/${B:-c}")),
        (ClaudeCode, "${A-b}", Ok("$${A-b}")),
        (ClaudeCode, "$A", Ok("$A")),
        (ClaudeCode, "$${A}", Err("directly before a variable")),
        (Cursor, "${env:A}${/}b", Ok("${A}/b")),
        (Cursor, "${userHome}/b", Ok("${HOME}/b")),
        (Cursor, "${workspaceFolder}", Ok(".")),
        (Cursor, "${workspaceFolder}/run", Ok("./run")),
        (
            Cursor,
            "x${workspaceFolder}",
            Err("another folder in each project"),
        ),
        (Cursor, "${A}", Ok("$${A}")),
        (Cursor, "${env:A b}", Ok("$${env:A b}")),
        (VsCode, "${input:my-key}", Ok("${MY_KEY}")),
        (VsCode, "${input:none}", Err("does not describe")),
        (VsCode, "${command:x}", Err("value of the editor")),
        (Windsurf, "${env:A}", Ok("${A}")),
        (Windsurf, "${file:/etc/passwd}", Err("content of a file")),
        (Gemini, "$A/x", Ok("${A}/x")),
        (Gemini, "${A}", Ok("${A}")),
        (Gemini, "100$", Ok("100$")),
        (Gemini, "$1", Ok("$1")),
    ] {
        check(client, raw, want);
    }
}

#[test]
fn names_and_clashes() {
    let file = |name: &str, command: &str| {
        json!({ "mcpServers": { name: { "command": command } } }).to_string()
    };
    let one = |name: &str| own(Client::Cursor, &file(name, "a")).remove(0).name;
    for (name, want) in [
        ("plain", "plain"),
        ("My Server", "My-Server"),
        ("a.b/c", "a-b-c"),
        ("a__b", "a_b"),
        ("  ", "server"),
        ("数据", "数据"),
        ("caf\u{e9}", "caf\u{e9}"),
        ("../../etc", "etc"),
        ("a\u{1b}[2J", "a-2J"),
    ] {
        assert_eq!(one(name), want, "{name:?}");
    }
    let (a, b) = (file("x", "a"), file("x", "b"));
    let both = [
        (Client::Cursor, Scope::User, &*a),
        (Client::Windsurf, Scope::User, &*b),
    ];
    let steps = |known: Value| -> Vec<(String, Step)> {
        let planned = planned(&both, &known, &[], Terms::default());
        planned.into_iter().map(|p| (p.name, p.step)).collect()
    };
    let named = |first: Step, second: (&str, Step)| {
        vec![("x".to_owned(), first), (second.0.to_owned(), second.1)]
    };
    assert_eq!(
        steps(json!({})),
        named(Step::Add, ("x-windsurf", Step::Add))
    );
    // Another server of the user's keeps its name and stays as it is.
    let other = json!({ "x": { "command": "mine" } });
    assert_eq!(steps(other), named(Step::Taken, ("x", Step::Taken)));
    let first = json!({ "x": { "command": "a" } });
    assert_eq!(steps(first), named(Step::There, ("x", Step::Taken)));
}

fn entry(client: Client, fields: Value, environment: &[(&str, &str)]) -> Planned {
    let file = json!({ client.servers_key(): { "s": fields } }).to_string();
    let files = [(client, Scope::User, &*file)];
    planned(&files, &json!({}), environment, Terms::default()).remove(0)
}

#[test]
fn secrets_become_references() {
    for (fields, environment, pointer, want) in [
        (
            json!({ "command": "a", "env": { "API_KEY": "v4lue" } }),
            &[][..],
            "/env/API_KEY",
            "${API_KEY}",
        ),
        (
            json!({ "command": "a", "env": { "API_KEY": "v4lue" } }),
            &[("API_KEY", "other")],
            "/env/API_KEY",
            "${S_API_KEY}",
        ),
        (
            json!({ "command": "a", "env": { "API_KEY": "v4lue" } }),
            &[("API_KEY", "v4lue")],
            "/env/API_KEY",
            "${API_KEY}",
        ),
        (
            json!({ "command": "a", "env": { "MAX_TOKENS": "4096" } }),
            &[],
            "/env/MAX_TOKENS",
            "4096",
        ),
        (
            json!({ "command": "a", "env": { "KEY_FILE": "/a/b" } }),
            &[],
            "/env/KEY_FILE",
            "/a/b",
        ),
        (
            json!({ "command": "a", "env": { "API_KEY": "${OTHER}" } }),
            &[],
            "/env/API_KEY",
            "${OTHER}",
        ),
    ] {
        let got = entry(Client::ClaudeCode, fields.clone(), environment);
        let text = got.shown.pointer(pointer).and_then(Value::as_str);
        assert_eq!(text, Some(want), "{fields}");
    }
}

#[test]
fn secrets_of_arguments_and_headers_become_references() {
    for (fields, environment, pointer, want) in [
        (
            json!({ "command": "a", "args": ["--api-key", "v4lue"] }),
            &[],
            "/args/1",
            "${S_API_KEY}",
        ),
        (
            json!({ "command": "a", "args": ["--api-key=v4lue"] }),
            &[],
            "/args/0",
            "--api-key=${S_API_KEY}",
        ),
        (
            json!({ "command": "a", "args": ["-e", "TOKEN=v4lue"] }),
            &[],
            "/args/1",
            "TOKEN=${S_TOKEN}",
        ),
        (
            json!({ "command": "a", "args": ["--api-key", "--next"] }),
            &[],
            "/args/1",
            "--next",
        ),
        (
            json!({ "url": "https://a.example", "headers": { "Authorization": "Bearer v4lue" } }),
            &[],
            "/headers/Authorization",
            "Bearer ${S_AUTHORIZATION}",
        ),
        (
            json!({ "url": "https://a.example", "headers": { "Authorization": "Bearer ${T}" } }),
            &[],
            "/headers/Authorization",
            "Bearer ${T}",
        ),
    ] {
        let got = entry(Client::ClaudeCode, fields.clone(), environment);
        let text = got.shown.pointer(pointer).and_then(Value::as_str);
        assert_eq!(text, Some(want), "{fields}");
    }
}

#[test]
fn times_become_milliseconds() {
    let c = Client::ClaudeCode;
    for (client, key, value, to, want) in [
        (c, "timeout", json!(90_000), "timeoutMs", Some(90_000)),
        (
            Client::Gemini,
            "timeout",
            json!(1_500),
            "timeoutMs",
            Some(1_500),
        ),
        (Client::Zed, "timeout", json!(45), "timeoutMs", Some(45_000)),
        (c, "timeout", json!(-1), "timeoutMs", None),
        (c, "timeout", json!("9"), "timeoutMs", None),
        (c, "timeout", json!(1e300), "timeoutMs", None),
    ] {
        let got = entry(client, json!({ "command": "a", key: value }), &[]);
        assert_eq!(
            got.entry.get(to).and_then(Value::as_u64),
            want,
            "{client:?} {value}"
        );
        assert_eq!(got.remarks.is_empty(), want.is_some(), "{client:?} {value}");
    }
}

/// What a cloned repository says opens nothing and permits nothing, and is taken over only when it
/// was asked for.
#[test]
fn a_project_never_widens() {
    let vscode = (Client::VsCode, Scope::Project, sample(Client::VsCode));
    let gemini = (Client::Gemini, Scope::Project, sample(Client::Gemini));
    let of = |terms| planned(&[vscode, gemini], &json!({}), &[], terms);
    for planned in of(Terms::default()) {
        let kept = matches!(planned.step, Step::OfProject | Step::Refused(_));
        assert!(kept, "{}: {:?}", planned.name, planned.step);
    }
    let terms = Terms {
        projects: true,
        ..Terms::default()
    };
    for planned in of(terms) {
        for key in ["network", "writePaths", "readPaths"] {
            assert!(planned.entry.get(key).is_none(), "{}: {key}", planned.name);
        }
        assert!(
            planned
                .rules
                .iter()
                .all(|rule| rule.effect != Effect::Permit)
        );
    }
    let near = json!({ "servers": { "near": { "url": "http://127.0.0.1:8080/mcp" } } }).to_string();
    for (scope, adds) in [(Scope::User, true), (Scope::Project, false)] {
        let files = [(Client::VsCode, scope, &*near)];
        let planned = planned(&files, &json!({}), &[], terms).remove(0);
        assert_eq!(
            planned.step == Step::Add,
            adds,
            "{scope:?}: {:?}",
            planned.step
        );
    }
}
