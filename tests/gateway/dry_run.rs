//! `creance dry-run` for a whole configuration, for a candidate, and for a recorded session: what
//! people read on 80 columns, and what programs get.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hostile::tame;
use crate::real::path_text;
use crate::stage::Stage;
use crate::up::{SERVER, Up, program};

/// The servers of the reference configuration, by the names that their users give them.
const SERVERS: [&str; 8] = [
    "files",
    "everything",
    "memory",
    "sequential-thinking",
    "git",
    "time",
    "fetch",
    "sqlite",
];

const POLICIES: &str = r#"
@id("no-metadata-by-name") @reason("Nobody needs it.")
forbid (principal, action == Action::"sandbox.network", resource == Host::"internal.example.org");
@id("fresh") @reason("The whole network is agreed to each time.")
@requires("approved_now")
forbid (principal, action == Action::"sandbox.network", resource == Network::"whole")
unless { context.approved_now };
@id("echo") @reason("It only says it back.")
permit (principal, action == Action::"tool.call", resource == Tool::"user/files/echo");
"#;

/// A stage whose paths have the same length everywhere, so that lines break at the same places.
fn stage() -> Stage {
    let folder = TempDir::with_prefix_in("dry-run-", "/tmp").unwrap();
    let stage = Stage::within(folder);
    stage.write("home/project/docs/description.txt", "says it back");
    program(&stage, "home/tools/server", SERVER);
    stage
}

/// Whether servers can start in a full sandbox here; says so where they cannot.
fn confines(stage: &Stage, test: &str) -> bool {
    let works = stage.json(&["doctor", "--json"]).0 == Some(0);
    if !works {
        eprintln!("{test}: skipped: no full sandbox here");
    }
    works
}

fn eight(stage: &Stage) {
    let server = |more: &Value| {
        let mut entry = json!({ "command": stage.home.join("tools/server") });
        for (name, value) in more.as_object().unwrap() {
            entry[name] = value.clone();
        }
        entry
    };
    let folder = stage.project.join("docs");
    let hosts = json!({ "network": ["api.github.com", "*.wikipedia.org", "internal.example.org"] });
    stage.servers(&json!({
        "files": server(&json!({ "args": ["--root", folder], "writePaths": [folder] })),
        "everything": server(&json!({ "env": { "MODE": "all", "API_TOKEN": "x" } })),
        "memory": server(&json!({ "readPaths": [stage.home.join("private.txt")] })),
        "sequential-thinking": server(&json!({})),
        "git": server(&json!({ "args": ["--repository", "."] })),
        "time": server(&json!({ "enabled": false })),
        "fetch": server(&hosts),
        "sqlite": server(&json!({ "network": true, "command": "./gone" })),
    }));
    stage.policy(POLICIES);
}

/// What a dry run prints, with the temporary folder's name made the same everywhere.
#[track_caller]
fn printed(stage: &Stage, args: &[&str]) -> String {
    let output = stage.creance(args).env("COLUMNS", "80").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let root = path_text(stage.home.parent().unwrap());
    text.replace(&root, "/tmp/dry-run-000000")
}

#[track_caller]
fn fits(text: &str) {
    for line in text.lines().filter(|line| !line.starts_with("creance: ")) {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
        assert_eq!(line.trim_end(), line, "ends with blanks: {line}");
    }
}

/// The table at the end: one row a server.
fn rows(text: &str) -> Vec<&str> {
    let lines = text.lines().skip_while(|line| !line.starts_with("server "));
    lines.skip(1).take_while(|line| !line.is_empty()).collect()
}

#[test]
fn eight_servers_are_read_on_80_columns() {
    let stage = stage();
    if !confines(&stage, "eight_servers_are_read_on_80_columns") {
        return;
    }
    // One of them is agreed to and has told its tools.
    eight(&stage);
    let config = stage.home.join(".config/creance/config.json");
    let all: Value = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
    let files = all["mcpServers"]["files"].clone();
    stage.servers(&json!({ "files": files }));
    drop(Up::answering(&stage, "always"));
    stage.configure(&all);

    let text = printed(&stage, &["dry-run"]);
    fits(&text);
    tame(&text);
    assert_eq!(rows(&text).len(), SERVERS.len(), "{text}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/dry-run.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let want = fs::read_to_string(&file).unwrap();
    assert_eq!(
        text, want,
        "`UPDATE=1 cargo test --test gateway dry_run` takes it"
    );

    // Programs get all of it.
    let (code, report) = stage.json(&["dry-run", "--json"]);
    assert_eq!(code, Some(0));
    let servers = report.as_array().unwrap();
    let names: Vec<&str> = servers
        .iter()
        .map(|s| s["server"].as_str().unwrap())
        .collect();
    assert_eq!(names, SERVERS.map(|name| format!("user/{name}")));
    for server in servers {
        let name = &server["server"];
        if name == "user/sqlite" {
            assert!(
                server["error"].as_str().unwrap().contains("gone"),
                "{server}"
            );
            continue;
        }
        assert_eq!(server["enabled"], name != "user/time", "{server}");
        for part in server["parts"].as_array().unwrap() {
            assert!(part[1]["outcome"].is_string(), "{part}");
            assert!(part[2][0]["policy"].is_string(), "{part}");
        }
        let tools = server["tools"].as_array().unwrap();
        assert_eq!(tools.last().unwrap()["tool"], Value::Null, "{server}");
        assert_eq!(tools.len(), if name == "user/files" { 2 } else { 1 });
    }
    assert_eq!(servers[0]["tools"][0]["tool"], "echo");
    assert_eq!(servers[0]["tools"][0]["outcome"]["outcome"], "allow");
    assert!(!report.to_string().contains("API_TOKEN\":\"x"), "{report}");
}

/// Names, paths and reasons that want to be more than a cell.
#[test]
fn hostile_texts_stay_in_their_cells() {
    let stage = stage();
    let long = "x".repeat(300);
    let odd = [
        "\u{1b}[2J\u{1b}[Hserver",
        "a\nserver  start  read\nuser/fine  allow",
        "\u{202e}evil\u{2066}",
        "\u{7f}\u{9b}31m",
        &long,
        "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
    ];
    let server = json!({
        "command": stage.home.join("tools/server"),
        "args": odd,
        "readPaths": [stage.home.join(&long[..200])],
    });
    let mut servers = json!({});
    for name in odd {
        servers[name] = server.clone();
    }
    stage.servers(&servers);
    let reason = "line one\\nuser/fine  allow\\u{1b}[2J";
    stage.policy(&format!(
        "@id(\"odd\") @reason(\"{reason}\")\nforbid (principal, action == Action::\"sandbox.read\", resource);"
    ));
    for args in [&["dry-run"][..], &["dry-run", "--json"]] {
        let text = printed(&stage, args);
        tame(&text);
        assert!(
            !text.lines().any(|line| line.starts_with("user/fine")),
            "{text}"
        );
    }
    let text = printed(&stage, &["dry-run"]);
    for line in text.lines() {
        let columns: usize = line
            .chars()
            .map(|c| if c > '\u{2fff}' { 2 } else { 1 })
            .sum();
        assert!(columns <= 80, "{columns}: {line}");
    }
}

#[test]
fn colours_are_for_terminals_alone() {
    let stage = stage();
    eight(&stage);
    let plain = printed(&stage, &["dry-run"]);
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let at_a_terminal = |environment: &[(&str, &str)]| {
        let line = format!(
            "stty cols 80 rows 24; '{}' dry-run",
            env!("CARGO_BIN_EXE_creance")
        );
        let output = Command::new("script")
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .current_dir(&stage.project)
            .env_clear()
            .envs(stage.environment())
            .env("TERM", "xterm")
            .envs(environment.iter().copied())
            .output()
            .ok()?;
        Some(String::from_utf8(output.stdout).unwrap())
    };
    let Some(shown) = at_a_terminal(&[]) else {
        println!("skipped: colours_are_for_terminals_alone: `script` is not there");
        return;
    };
    assert!(shown.contains("\u{1b}[1;31mdeny\u{1b}[0m"), "{shown:?}");
    assert!(shown.contains("\u{1b}[1;33mask\u{1b}[0m"), "{shown:?}");
    let none = at_a_terminal(&[("NO_COLOR", "1")]).unwrap();
    assert!(!none.contains('\u{1b}'), "{none:?}");
    fits(&none.replace('\r', ""));
}

fn candidate(stage: &Stage, text: &str) -> String {
    stage.write("candidate/test.cedar", text);
    path_text(&stage.home.with_file_name("candidate"))
}

#[test]
fn a_candidate_is_compared_grant_by_grant() {
    let stage = stage();
    stage.servers(&json!({ "t": { "command": stage.home.join("tools/server") } }));
    let same = candidate(&stage, "");
    let args = ["dry-run", "--fail-on-change", "--candidate", &same];
    let (code, said) = stage.says(&args);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("the other store"), "{said}");
    // A grant, and a tool: the start as a whole stays a question with the second.
    let write = r#"@id("w") @reason("Nothing is written.") forbid (principal, action == Action::"sandbox.write", resource);"#;
    let tool = r#"@id("t") @reason("No tools.") forbid (principal, action == Action::"tool.call", resource);"#;
    for (policy, id, kind) in [
        (write, "user/test/w", "write"),
        (tool, "user/test/t", "tool"),
    ] {
        let path = candidate(&stage, policy);
        let said = printed(&stage, &["dry-run", "--candidate", &path]);
        fits(&said);
        let lines: Vec<&str> = said.lines().collect();
        let at = lines
            .iter()
            .position(|line| line.contains("the other store"))
            .unwrap();
        assert!(lines[at].contains("deny"), "{said}");
        assert!(lines[at - 1].trim_start().starts_with(kind), "{said}");
        assert!(said.contains(id), "{said}");
        assert!(rows(&said)[0].ends_with("yes"), "{said}");
        let (code, said) = stage.says(&["dry-run", "--candidate", &path, "--fail-on-change"]);
        assert_eq!(code, Some(1), "{said}");
    }
    // Who cannot be judged may be judged otherwise.
    stage.servers(&json!({ "t": { "command": "./gone" } }));
    let (code, said) = stage.says(&args);
    assert_eq!(code, Some(1), "{said}");
    // A candidate that cannot be used is no candidate.
    let path = candidate(&stage, "forbid (principal, action, resource) when { 1 };");
    let (code, said) = stage.says(&["dry-run", "--candidate", &path]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("test.cedar:1"), "{said}");
}

#[test]
fn a_recorded_session_is_decided_again() {
    let stage = stage();
    stage.policy(r#"@id("runs") @reason("Commands run.") permit (principal, action, resource);"#);
    for _ in 0..2 {
        let (code, said) = stage.says(&["run", "--", "/bin/true"]);
        assert_eq!(code, Some(0), "{said}");
    }
    let log = path_text(&stage.home.join(".local/state/creance/audit.jsonl"));
    let again = ["dry-run", "--audit", &log, "--fail-on-change"];
    let (code, said) = stage.says(&again);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("(2 times)") && said.contains(" 0 otherwise"),
        "{said}"
    );
    fits(&printed(&stage, &again));
    let (wide, narrow) = (
        said.lines().count(),
        printed(&stage, &again).lines().count(),
    );
    assert!(wide <= narrow, "what programs read is not broken: {said}");

    // A candidate beside the policies in force.
    let no = r#"@id("no") @reason("Not today.") forbid (principal, action == Action::"exec.run", resource);"#;
    let path = candidate(&stage, no);
    let (code, said) = stage.says(&[&again[..], &["--candidate", &path]].concat());
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("with the other store") && said.contains("user/test/no"),
        "{said}"
    );
    let (_, report) = stage.json(&["dry-run", "--audit", &log, "--candidate", &path, "--json"]);
    let case = &report[0];
    assert_eq!(
        [
            &case["recorded"],
            &case["now"]["outcome"]["outcome"],
            &case["other"]["outcome"]["outcome"]
        ],
        ["allow", "allow", "deny"],
        "{report}"
    );
    assert_eq!((&case["times"], &case["same"]), (&json!(2), &json!(false)));

    // Other policies in force than when it was recorded.
    stage.policy(no);
    let (code, said) = stage.says(&again);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("Not today."), "{said}");
    assert_eq!(stage.says(&again[..3]).0, Some(0));

    // One run of two; a line that is torn; what makes no sense.
    let lines = fs::read_to_string(&log).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let run = first["run"].as_str().unwrap();
    let (code, said) = stage.says(&["dry-run", "--audit", &log, "--run", run]);
    assert!(code == Some(0) && !said.contains("times"), "{said}");
    let torn = path_text(&stage.home.join("torn.jsonl"));
    fs::write(&torn, &lines[..lines.len() - 30]).unwrap();
    let (code, said) = stage.says(&["dry-run", "--audit", &torn]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("1 lines are no records"), "{said}");
    let gone = path_text(&stage.home.join("gone.jsonl"));
    for (args, code, want) in [
        (&["--audit", &*gone][..], 1, "gone.jsonl"),
        (&["--audit", &log, "start", "t"], 2, "two dry runs"),
        (&["--run", "x"], 2, "--audit"),
    ] {
        let (got, said) = stage.says(&[&["dry-run"][..], args].concat());
        assert_eq!(got, Some(code), "{args:?}: {said}");
        assert!(said.contains(want), "{args:?}: {said}");
    }
}
