//! Servers of other clients: imported, listed, served; the gateway in a client's file and the way
//! back; files that strangers made.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::raw::Raw;
use crate::stage::Stage;

/// Each client, its file in the home folder, and what stands there.
const FILES: [(&str, &str, &str); 8] = [
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        include_str!("../cases/import/claude-desktop.json"),
    ),
    (
        "claude-code",
        ".claude.json",
        include_str!("../cases/import/claude-code.json"),
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        include_str!("../cases/import/cursor.json"),
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        include_str!("../cases/import/vscode.json"),
    ),
    (
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        include_str!("../cases/import/windsurf.json"),
    ),
    (
        "zed",
        ".config/zed/settings.json",
        include_str!("../cases/import/zed.json"),
    ),
    (
        "codex",
        ".codex/config.toml",
        include_str!("../cases/import/codex.toml"),
    ),
    (
        "gemini",
        ".gemini/settings.json",
        include_str!("../cases/import/gemini.json"),
    ),
];

/// Parts of the samples that are secrets.
const SECRETS: [&str; 4] = ["ghp_16C7", "hunter2", "sk-live", "gm-77aa"];

fn stage() -> Stage {
    let stage = Stage::new();
    if cfg!(target_os = "macos") {
        return stage;
    }
    for (_, file, text) in FILES {
        stage.write(&format!("home/{file}"), text);
    }
    stage
}

fn config(stage: &Stage) -> PathBuf {
    stage.home.join(".config/creance/config.json")
}

/// A text without its line ends.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn no_secret(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn servers_of_eight_clients_are_shown_added_once_and_served() {
    let stage = stage();
    let (code, shown) = stage.says(&["server", "import", "--dry-run"]);
    assert_eq!(code, Some(0), "{shown}");
    // Policies stand as they are written.
    let mut policies = false;
    for line in shown.lines() {
        policies = (policies || line == "policies") && line != "to know";
        assert!(policies || line.chars().count() <= 80, "{line}");
    }
    no_secret(&shown);
    for part in [
        "GITHUB_PERSONAL_ACCESS_TOKEN",
        "is called `GitHub (work)` there",
        "permit (",
        "of other projects",
    ] {
        assert!(flat(&shown).contains(part), "{part}: {shown}");
    }
    assert!(!config(&stage).exists());
    // Nobody is there to say yes.
    let (code, said) = stage.says(&["server", "import"]);
    assert_eq!(code, Some(4), "{said}");
    assert!(!config(&stage).exists());

    let (code, said) = stage.says(&["server", "import", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    no_secret(&said);
    let written = fs::read_to_string(config(&stage)).unwrap();
    no_secret(&written);
    let read: Value = serde_json::from_str(&written).unwrap();
    let servers = &read["mcpServers"];
    assert_eq!(servers["github"]["env"]["GITHUB_TOKEN"], "${GITHUB_TOKEN}");
    assert_eq!(servers["time"]["timeoutMs"], 45_000);
    assert_eq!(servers["tracker"]["env"]["TRACKER_KEY"], "${TRACKER_KEY}");
    assert_eq!(servers["unused"]["enabled"], false);
    // What permits was shown, and is not written without a word of its own.
    let policies = stage.home.join(".config/creance/policies/imported.cedar");
    let text = fs::read_to_string(&policies).unwrap();
    assert!(
        text.contains("forbid") && !text.contains("permit ("),
        "{text}"
    );
    let (code, said) = stage.says(&["policy", "check"]);
    assert_eq!(code, Some(0), "{said}");

    let (code, said) = stage.says(&["server", "import", "--yes", "--permits"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::read_to_string(config(&stage)).unwrap(), written);
    let text = fs::read_to_string(&policies).unwrap();
    assert!(text.contains("permit ("), "{text}");
    let (code, said) = stage.says(&["policy", "check"]);
    assert_eq!(code, Some(0), "{said}");
    let before = text;
    let (_, said) = stage.says(&["server", "import", "--yes", "--permits"]);
    assert_eq!(fs::read_to_string(&policies).unwrap(), before, "{said}");

    served(&stage, servers);
}

/// Every server that was imported is one that the gateway names.
fn served(stage: &Stage, servers: &Value) {
    let mut command = stage.creance(&["serve"]);
    for name in ["GITHUB_TOKEN", "TRACKER_KEY", "DATABASE_URL"] {
        command.env(name, "x");
    }
    let mut raw = Raw::start(command);
    raw.initialize("2025-11-25");
    let status = json!({ "name": "creance_status", "arguments": {} });
    let said = raw.request("tools/call", &status);
    let text = said["result"]["content"][0]["text"].as_str().unwrap();
    for name in ["github", "filesystem", "time", "tracker", "postgres"] {
        assert!(!servers[name].is_null(), "{servers}");
        assert!(text.contains(name), "{name}: {text}");
    }
    raw.leave();
}

#[cfg(target_os = "linux")]
#[test]
fn export_and_rollback_leave_every_byte() {
    let stage = stage();
    assert_eq!(stage.says(&["server", "import", "--yes"]).0, Some(0));
    for (client, file, original) in FILES {
        let path = stage.home.join(file);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let (code, report) = stage.json(&["server", "export", "--to", client, "--all", "--json"]);
        assert_eq!(code, Some(0), "{client}: {report}");
        let now = fs::read_to_string(&path).unwrap();
        assert!(
            now.contains("creance") && now.contains("serve"),
            "{client}: {now}"
        );
        let copy = Path::new(report["backup"].as_str().unwrap());
        assert_eq!(copy.metadata().unwrap().mode() & 0o777, 0o600, "{client}");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640, "{client}");
        assert_eq!(fs::read_to_string(copy).unwrap(), original, "{client}");
        // Once more is nothing more.
        let (code, again) = stage.json(&["server", "export", "--to", client, "--all", "--json"]);
        assert_eq!(
            (code, &again["unchanged"]),
            (Some(0), &json!(true)),
            "{client}"
        );
        let back = ["server", "export", "--to", client, "--rollback"];
        fs::write(&path, format!("{now}\n")).unwrap();
        let (code, said) = stage.says(&back);
        assert_eq!(code, Some(1), "{client}: {said}");
        assert!(said.contains("changed since"), "{client}: {said}");
        fs::write(&path, &now).unwrap();
        let (code, said) = stage.says(&back);
        assert_eq!(code, Some(0), "{client}: {said}");
        assert_eq!(fs::read(&path).unwrap(), original.as_bytes(), "{client}");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640, "{client}");
        assert_eq!(stage.says(&back).0, Some(1), "{client}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_creance_does_not_have_stays_in_the_client() {
    let stage = stage();
    let (code, report) = stage.json(&["server", "export", "--to", "zed", "--json"]);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["removed"], json!([]), "{report}");
    let (_, said) = stage.says(&["server", "export", "--to", "zed", "--rollback"]);
    assert!(said.contains("is what it was"), "{said}");
    stage.says(&["server", "import", "--yes"]);
    let (_, report) = stage.json(&["server", "export", "--to", "zed", "--json"]);
    assert_eq!(report["removed"], json!(["time", "old"]), "{report}");
    assert_eq!(report["kept"][0][0], "mcp-server-context7", "{report}");
    let text = fs::read_to_string(stage.home.join(".config/zed/settings.json")).unwrap();
    for kept in ["// Zed settings", "/* servers */", "One Dark", "context7"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    // A changed file is put back by force alone, and what stood there is kept.
    let path = stage.home.join(".config/zed/settings.json");
    fs::write(&path, "{}").unwrap();
    let back = [
        "server",
        "export",
        "--to",
        "zed",
        "--rollback",
        "--force",
        "--json",
    ];
    let (code, report) = stage.json(&back);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(fs::read_to_string(&path).unwrap(), FILES[5].2);
    assert_eq!(
        fs::read_to_string(report["kept"].as_str().unwrap()).unwrap(),
        "{}"
    );
}

/// A file that was not there is gone again.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_the_export_made_is_taken_away() {
    let stage = Stage::new();
    let (code, said) = stage.says(&["server", "export", "--to", "cursor"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("start the client once"), "{said}");
    fs::create_dir(stage.home.join(".cursor")).unwrap();
    let (code, said) = stage.says(&["server", "export", "--to", "cursor"]);
    assert_eq!(code, Some(0), "{said}");
    let path = stage.home.join(".cursor/mcp.json");
    let read: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(read["mcpServers"]["creance"]["args"], json!(["serve"]));
    let (code, said) = stage.says(&["server", "export", "--to", "cursor", "--rollback"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(!path.exists());
}

/// Links, FIFOs, folders, other bytes: each is said, costs itself, and nothing waits or is written.
#[cfg(target_os = "linux")]
#[test]
fn strangers_files_cost_themselves() {
    let stage = stage();
    let at = |below: &str| stage.home.join(below);
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim.json");
    fs::write(&victim, FILES[2].2).unwrap();
    fs::remove_file(at(".cursor/mcp.json")).unwrap();
    symlink(&victim, at(".cursor/mcp.json")).unwrap();
    fs::remove_file(at(".claude.json")).unwrap();
    let made = Command::new("mkfifo").arg(at(".claude.json")).status();
    assert!(made.unwrap().success());
    fs::write(at(".gemini/settings.json"), b"{\"mcpServers\": \xff}").unwrap();
    fs::remove_file(at(".codex/config.toml")).unwrap();
    fs::create_dir(at(".codex/config.toml")).unwrap();
    fs::write(at(".codeium/windsurf/mcp_config.json"), "[".repeat(100_000)).unwrap();
    let real = at("dotfiles/zed.json");
    stage.write("home/dotfiles/zed.json", FILES[5].2);
    fs::remove_file(at(".config/zed/settings.json")).unwrap();
    symlink(&real, at(".config/zed/settings.json")).unwrap();

    let (code, said) = stage.says(&["server", "import", "--dry-run"]);
    assert_eq!(code, Some(0), "{said}");
    let flat = flat(&said);
    for part in [
        "leads out of your home folder",
        "is not a regular file",
        "is not UTF-8 text",
        "is a link to",
    ] {
        assert!(flat.contains(part), "{part}: {flat}");
    }
    assert!(
        said.contains("filesystem") && said.contains("mcp-server-time"),
        "{said}"
    );

    for client in ["cursor", "claude-code", "gemini", "codex", "windsurf"] {
        let (code, said) = stage.says(&["server", "export", "--to", client]);
        assert_eq!(code, Some(1), "{client}: {said}");
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), FILES[2].2);
    // A link within the home stays one, and its file is what changes.
    let (code, said) = stage.says(&["server", "export", "--to", "zed", "--all"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("is a link to"), "{said}");
    assert!(at(".config/zed/settings.json").is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("creance"));
    let (code, said) = stage.says(&["server", "export", "--to", "zed", "--rollback"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::read_to_string(&real).unwrap(), FILES[5].2);
}

/// A project's file is shown as such, and becomes the user's only when that is said.
#[cfg(target_os = "linux")]
#[test]
fn a_projects_servers_are_taken_over_when_asked_for() {
    let stage = Stage::new();
    stage.write("home/project/.vscode/mcp.json", FILES[3].2);
    let (code, plan) = stage.json(&["server", "import", "--dry-run", "--json"]);
    assert_eq!(code, Some(0), "{plan}");
    assert_eq!(plan["servers"][0]["step"], "project", "{plan}");
    assert_eq!(plan["servers"][0]["of_project"], true, "{plan}");
    let file = [
        "server",
        "import",
        "--dry-run",
        "--json",
        "--file",
        ".vscode/mcp.json",
    ];
    assert_eq!(stage.json(&file).1["servers"][0]["step"], "project");
    let (_, plan) = stage.json(&[&file[..], &["--project"]].concat());
    assert_eq!(plan["servers"][0]["step"], "add", "{plan}");
    assert!(plan["servers"][0]["entry"]["network"].is_null(), "{plan}");
    // A link in the project leads nowhere.
    fs::remove_file(stage.project.join(".vscode/mcp.json")).unwrap();
    stage.write("home/private.json", FILES[3].2);
    symlink(
        stage.home.join("private.json"),
        stage.project.join(".vscode/mcp.json"),
    )
    .unwrap();
    let (code, said) = stage.says(&["server", "import", "--file", ".vscode/mcp.json"]);
    assert_eq!(code, Some(2), "{said}");
    let (_, plan) = stage.json(&["server", "import", "--dry-run", "--json", "--project"]);
    assert_eq!(plan["servers"], json!([]), "{plan}");
}
