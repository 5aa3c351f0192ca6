//! A cloned repository whose files are no files, too large, broken, or somebody else's: none of it is
//! used, each is said, and what is good beside it still holds.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::hostile::{mcp, policy, says};
use crate::stage::Stage;
use crate::up::{Up, run, stage, text};

#[test]
fn a_broken_policy_of_a_project_costs_only_itself() {
    let stage = stage();
    policy(&stage, "10-bad.cedar", "forbid (principal, action");
    policy(
        &stage,
        "20-name.cedar",
        "@id(\"x\") forbid (principal, action == Action::\"no.such\", resource);",
    );
    policy(&stage, "30-huge.cedar", &"/".repeat(2 << 20));
    policy(&stage, "40-\u{1b}[2J\n.cedar", "");
    symlink(
        "/etc/passwd",
        stage.project.join(".creance/policies/50-link.cedar"),
    )
    .unwrap();
    fifo(&stage, ".creance/policies/60-fifo.cedar");
    let forbid = "@id(\"never\") @reason(\"r\") forbid (principal, action == Action::\"server.start\", resource) when { context.first_time };";
    policy(&stage, "90-good.cedar", forbid);
    let names = [
        "10-bad.cedar",
        "20-name.cedar",
        "30-huge.cedar",
        "40-",
        "50-link.cedar",
        "60-fifo.cedar",
    ];
    for command in [&["policy", "check"][..], &["doctor"], &["server", "status"]] {
        says(&stage, command, &names);
    }
    says(&stage, &["policy", "list"], &["project/90-good/never"]);
    // The repository's own rule still holds.
    let up = Up::answering(&stage, "always");
    assert!(up.status.contains("denied"), "{}", up.status);
}

#[test]
fn folders_of_a_project_that_are_links_are_not_followed() {
    for (link, said) in [
        (".creance/policies", "policy check"),
        (".creance", "config check"),
    ] {
        let stage = stage();
        let target = stage.home.join("elsewhere");
        stage.write(
            "home/elsewhere/10.cedar",
            "@id(\"x\") permit (principal, action, resource);",
        );
        stage.write(
            "home/elsewhere/config.json",
            r#"{"mcpServers":{"linked":{"command":"sh"}}}"#,
        );
        fs::create_dir_all(stage.project.join(link).parent().unwrap()).unwrap();
        symlink(target, stage.project.join(link)).unwrap();
        let args: Vec<&str> = said.split(' ').collect();
        says(&stage, &args, &["link"]);
        let list = run(stage.creance(&["server", "list"]));
        assert!(!list.contains("project/linked"), "{list}");
        let list = stage.creance(&["policy", "list"]).output().unwrap().stdout;
        let list = String::from_utf8(list).unwrap();
        assert!(
            list.contains("builtin/") && !list.contains("project/"),
            "{list}"
        );
    }
}

fn fifo(stage: &Stage, below: &str) {
    let made = Command::new("mkfifo")
        .arg(stage.project.join(below))
        .status();
    assert!(made.unwrap().success());
}

#[test]
fn a_configuration_that_is_no_plain_file_is_not_read() {
    type Plant = fn(&Stage);
    let plants: [(Plant, &str); 5] = [
        (
            |stage| {
                stage.write(
                    "home/private.json",
                    r#"{"mcpServers":{"linked":{"command":"sh"}}}"#,
                );
                symlink("../private.json", stage.project.join(".mcp.json")).unwrap();
            },
            "link",
        ),
        (|stage| fifo(stage, ".mcp.json"), "not a regular file"),
        (
            |stage| fs::create_dir(stage.project.join(".mcp.json")).unwrap(),
            "not a regular file",
        ),
        (
            |stage| {
                let file = File::create(stage.project.join(".mcp.json")).unwrap();
                file.set_len(1 << 30).unwrap();
            },
            "larger than",
        ),
        (
            |stage| {
                let text = "[".repeat(200_000);
                stage.write("home/project/.mcp.json", &text);
            },
            ".mcp.json",
        ),
    ];
    for (plant, why) in plants {
        let stage = stage();
        plant(&stage);
        for command in [&["config", "check"][..], &["doctor"], &["server", "status"]] {
            let said = says(&stage, command, &[".mcp.json", why]);
            assert!(!said.contains("project/linked"), "{said}");
        }
        let output = stage.creance(&["config", "check"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        // The user's own server is not touched by it.
        let up = Up::answering(&stage, "always");
        assert!(
            up.status.contains("user/t: connected, 1 tools"),
            "{}",
            up.status
        );
    }
}

#[test]
fn home_and_root_are_no_projects() {
    let stage = stage();
    let config = json!({ "mcpServers": { "planted": { "command": "sh" } } }).to_string();
    stage.write("home/.mcp.json", &config);
    stage.write("home/.git/HEAD", "ref: refs/heads/main\n");
    for folder in [stage.home.clone(), "/".into()] {
        let mut command = stage.creance(&["server", "list"]);
        command.current_dir(&folder);
        let said = run(command);
        assert!(!said.contains("planted: "), "{said}");
        if folder == stage.home {
            assert!(
                said.contains(".mcp.json") && said.contains("no project"),
                "{said}"
            );
        }
    }
}

#[test]
fn files_of_another_user_are_not_the_projects() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let stage = stage();
    if stage.project.metadata().unwrap().uid() != 0 {
        println!("files_of_another_user_are_not_the_projects: skipped: only root gives files away");
        return;
    }
    mcp(&stage, &json!({ "theirs": { "command": "sh" } }));
    chown(stage.project.join(".mcp.json"), Some(65534), None).unwrap();
    let said = says(&stage, &["config", "check"], &[".mcp.json", "another user"]);
    assert!(!said.contains("project/theirs"), "{said}");
    // A mark that somebody else planted above makes no project.
    chown(stage.project.join(".git"), Some(65534), None).unwrap();
    fs::create_dir_all(stage.project.join("deep")).unwrap();
    let mut doctor = stage.creance(&["doctor", "--json"]);
    doctor.current_dir(stage.project.join("deep"));
    let output = doctor.output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        report["project"],
        json!(stage.project.join("deep")),
        "{report}"
    );
}

#[test]
fn a_server_that_cannot_be_saved_is_said_to_be_unsaved() {
    let stage = stage();
    let file = stage.home.join(".config/creance/config.json");
    let before = fs::read(&file).unwrap();
    let mut rights = file.metadata().unwrap().permissions();
    rights.set_readonly(true);
    fs::set_permissions(&file, rights).unwrap();
    for args in [
        &["server", "add", "new", "--", "sh"][..],
        &["server", "remove", "t"],
    ] {
        let output = stage.creance(args).output().unwrap();
        let said = text(&output);
        assert!(!output.status.success(), "{said}");
        assert!(
            said.contains("nothing was saved") && said.contains("read-only"),
            "{said}"
        );
        assert!(
            !said.contains("added") && !said.contains("removed"),
            "{said}"
        );
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    assert!(run(stage.creance(&["server", "list"])).contains("user/t"));
}
