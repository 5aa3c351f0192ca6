//! Policies that name tools of a real server as actions: locked, decided by their typed arguments, and
//! denied when the tool or the arguments are others.

use std::fs;

use serde_json::{Value, json};

use crate::client::Client;
use crate::real::{self, need, path_text};
use crate::stage::{Stage, node_server};

const ALL: &str = r#"
@id("all")
@reason("The test's own.")
permit (principal, action, resource);
"#;

const TYPED: &str = r#"
@id("no-locks")
@reason("Lock files are written by their tools.")
forbid (principal, action == Action::"user/files/write_file", resource)
when { context.input.path like "*.lock" };

@id("one-edit")
@reason("Edits are rehearsed.")
forbid (principal, action == Action::"user/files/edit_file", resource)
unless { context.input has dryRun && context.input.dryRun };
"#;

/// A stage whose server was agreed to before any policy named its tools.
fn stage(node: &real::Node) -> Stage {
    let stage = Stage::new();
    let project = path_text(&stage.project);
    stage.servers(&json!({ "files": node_server(node, "filesystem", &[&project]) }));
    stage.policy(ALL);
    let (code, said) = stage.says(&["server", "trust", "files"]);
    assert_eq!(code, Some(0), "{said}");
    stage
}

fn lock(stage: &Stage) -> std::path::PathBuf {
    stage.home.join(".config/creance/policies/tools.lock.json")
}

/// Calls through the gateway, in turn.
fn calls(test: &str, stage: &Stage, calls: &[(&str, Value)]) -> Option<Vec<Value>> {
    let mut steps = vec![json!({ "list": "files__write_file" })];
    let call =
        |(tool, args): &(&str, Value)| json!({ "call": format!("files__{tool}"), "args": args });
    steps.extend(calls.iter().map(call));
    let got = Client::Python.run(test, &stage.gateway(), None, steps.into())?;
    let results = got["results"].as_array().unwrap();
    Some(results.iter().skip(1).cloned().collect())
}

#[track_caller]
fn denied(result: &Value, reasons: &[&str]) {
    assert_eq!(result["is_error"], true, "{result}");
    for reason in reasons {
        assert!(
            result["text"].as_str().unwrap().contains(reason),
            "{result}"
        );
    }
}

#[test]
fn a_policy_names_a_tool_and_sees_its_arguments() {
    const TEST: &str = "a_policy_names_a_tool_and_sees_its_arguments";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    let stage = stage(node);
    let (code, said) = stage.says(&["policy", "schema", "--server", "files"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains(r#"action "user/files/write_file" in ["tool.call"]"#),
        "{said}"
    );
    assert!(
        said.contains(r#"input: { "content": String, "path": String }"#),
        "{said}"
    );
    // Without a lock, nothing is permitted, and it is said what to do.
    stage.policy(&format!("{ALL}{TYPED}"));
    let (code, said) = stage.says(&["policy", "check"]);
    assert_eq!(code, Some(1), "{said}");
    let way_out = "creance policy schema --server user/files --write";
    assert!(
        said.contains("test.cedar:8:30: user/test/no-locks") && said.contains(way_out),
        "{said}"
    );
    let (code, said) = stage.says(&["policy", "schema", "--server", "files", "--write"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2 tools locked"), "{said}");
    let kept = fs::read(lock(&stage)).unwrap();
    let (code, said) = stage.says(&["policy", "schema", "--server", "files", "--write"]);
    assert!(code == Some(0) && !said.contains("added"), "{said}");
    assert_eq!(fs::read(lock(&stage)).unwrap(), kept);

    let at = |name: &str| path_text(&stage.project.join(name));
    let write = |name: &str| json!({ "path": at(name), "content": "written" });
    let edit = |dry: Option<bool>| {
        let mut edit =
            json!({ "path": at("notes.txt"), "edits": [{ "oldText": "some", "newText": "no" }] });
        if let Some(dry) = dry {
            edit["dryRun"] = dry.into();
        }
        edit
    };
    let all = [
        ("write_file", write("a.lock")),
        ("write_file", write("a.md")),
        ("write_file", json!({ "path": at("b.md") })),
        (
            "write_file",
            json!({ "path": at("b.md"), "content": "x", "Path": at("a.lock") }),
        ),
        (
            "write_file",
            json!({ "path": [at("b.md")], "content": "x" }),
        ),
        ("edit_file", edit(None)),
        ("edit_file", edit(Some(true))),
        ("read_text_file", json!({ "path": at("notes.txt") })),
    ];
    let Some(got) = calls(TEST, &stage, &all) else {
        return;
    };
    denied(
        &got[0],
        &[
            "user/test/no-locks",
            "Lock files are written by their tools.",
        ],
    );
    assert_eq!(got[1]["is_error"], false, "{}", got[1]);
    let unfit = "do not fit Action::\"user/files/write_file\", which test.cedar:6 names";
    denied(&got[2], &[unfit, "`content` is missing"]);
    denied(
        &got[3],
        &[unfit, "`Path` is not in the tool's input schema"],
    );
    denied(&got[4], &[unfit, "`path` is not a text"]);
    denied(&got[5], &["user/test/one-edit"]);
    assert_eq!(got[6]["is_error"], false, "{}", got[6]);
    assert_eq!(got[7]["is_error"], false, "{}", got[7]);
    assert!(!stage.project.join("a.lock").exists() && !stage.project.join("b.md").exists());
    assert_eq!(fs::read(stage.project.join("a.md")).unwrap(), b"written");
    assert_eq!(
        fs::read(stage.project.join("notes.txt")).unwrap(),
        b"some notes"
    );
    stage.audit_verifies();
    recorded(&stage);
    forecast(&stage, &write("a.lock"), 3);
    forecast(&stage, &write("a.md"), 0);
}

/// The tool's action is on record, and what is on record is decided again as it was.
#[track_caller]
fn recorded(stage: &Stage) {
    let (_, said) = stage.says(&["audit", "show", "--json"]);
    let own = said
        .matches("\"typed_action\":\"user/files/write_file\"")
        .count();
    assert_eq!(own, 5, "{said}");
    assert!(
        !said.contains("\"typed_action\":\"user/files/read_text_file\""),
        "{said}"
    );
    let policies = path_text(&stage.home.join(".config/creance/policies"));
    let (code, said) = stage.says(&["audit", "replay", "--policies", &policies]);
    assert_eq!(code, Some(0), "{said}");
    // Without the rule, two calls that it denied would be allowed; the lock is not needed then.
    let other = path_text(&stage.home.join("other"));
    stage.write("home/other/test.cedar", ALL);
    let (_, said) = stage.says(&["audit", "replay", "--policies", &other]);
    assert!(
        said.contains("user/files/write_file") && said.contains("user/files/edit_file"),
        "{said}"
    );
}

#[track_caller]
fn forecast(stage: &Stage, arguments: &Value, want: i32) {
    let call = [
        "call",
        "files",
        "write_file",
        &arguments.to_string(),
        "--json",
    ];
    let (code, forecast) = stage.json(&[&["dry-run"][..], &call].concat());
    assert_eq!(code, Some(want), "{forecast}");
    let (_, explained) = stage.json(&[&["policy", "explain"][..], &call].concat());
    assert_eq!(explained["verdict"]["because"], forecast["because"]);
    assert_eq!(
        explained["parts"][0]["facts"]["typed_action"],
        "user/files/write_file"
    );
}

#[test]
fn another_tool_and_another_parameter_are_said() {
    const TEST: &str = "another_tool_and_another_parameter_are_said";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    let stage = stage(node);
    stage.policy(&format!("{ALL}{TYPED}"));
    let relock = ["policy", "schema", "--server", "files", "--write"];
    let (code, said) = stage.says(&relock);
    assert_eq!(code, Some(0), "{said}");
    // A parameter that the tool does not have.
    stage.policy(&format!(
        "{ALL}{}",
        TYPED.replace("input.path", "input.file_path")
    ));
    let (code, said) = stage.says(&["policy", "check"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("test.cedar:9:") && said.contains("file_path"),
        "{said}"
    );
    assert!(said.contains("\"path\": String"), "{said}");
    // A tool that the server does not have.
    stage.policy(&format!(
        "{ALL}{}",
        TYPED.replace("write_file", "write_fyle")
    ));
    let (code, said) = stage.says(&relock);
    assert!(
        code != Some(0) && said.contains("write_fyle") && said.contains("write_file"),
        "{said}"
    );
    // The tool as it was locked is not the one that runs.
    stage.policy(&format!("{ALL}{TYPED}"));
    let text = fs::read_to_string(lock(&stage)).unwrap();
    let mut other: Value = serde_json::from_str(&text).unwrap();
    other["tools"]["user/files/write_file"]["digest"] = "0".repeat(64).into();
    stage.write(
        "home/.config/creance/policies/tools.lock.json",
        &other.to_string(),
    );
    let write = || {
        let path = path_text(&stage.project.join("a.md"));
        ("write_file", json!({ "path": path, "content": "written" }))
    };
    let Some(got) = calls(TEST, &stage, &[write()]) else {
        return;
    };
    denied(
        &got[0],
        &[
            "test.cedar:6 names",
            "tools.lock.json",
            "creance policy schema --server user/files --write",
        ],
    );
    let (code, said) = stage.says(&relock);
    assert!(
        code == Some(0) && said.contains("changed  user/files/write_file"),
        "{said}"
    );
    let Some(got) = calls(TEST, &stage, &[write()]) else {
        return;
    };
    assert_eq!(got[0]["is_error"], false, "{}", got[0]);
    // What no policy names any more is not kept.
    stage.policy(ALL);
    let (code, said) = stage.says(&relock);
    assert!(
        code == Some(0) && said.contains("removed  user/files/edit_file"),
        "{said}"
    );
    // A broken lock costs the store.
    stage.write("home/.config/creance/policies/tools.lock.json", "{");
    let (code, said) = stage.says(&["policy", "check"]);
    assert!(
        code == Some(1) && said.contains("tools.lock.json:1:"),
        "{said}"
    );
}

/// A project's policies may name what the user has locked, bring no lock, and cost only themselves.
#[test]
fn a_project_names_tools_at_its_own_cost() {
    const TEST: &str = "a_project_names_tools_at_its_own_cost";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    let stage = stage(node);
    let own = r#"@id("docs") @reason("Documentation alone.") forbid (principal, action == Action::"user/files/write_file", resource) unless { context.input.path like "*.md" };"#;
    stage.write("home/project/.creance/policies/p.cedar", own);
    stage.write("home/project/.creance/policies/tools.lock.json", "{}");
    let (code, said) = stage.says(&["policy", "check"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("user/files/write_file") && said.contains("bring no lock"),
        "{said}"
    );
    let call = |name: &str| {
        let arguments = json!({ "path": path_text(&stage.project.join(name)), "content": "x" });
        let arguments = arguments.to_string();
        stage
            .json(&[
                "dry-run",
                "call",
                "files",
                "write_file",
                &arguments,
                "--json",
            ])
            .0
    };
    assert_eq!(call("a.txt"), Some(0));
    let (code, said) = stage.says(&["policy", "schema", "--server", "files", "--write"]);
    assert!(code == Some(0) && said.contains("1 tool locked"), "{said}");
    assert_eq!((call("a.txt"), call("a.md")), (Some(3), Some(0)));
    // With it, a policy of the user's would miss calls: the project's is left out.
    stage.policy(&format!("{ALL}@id(\"eq\") @reason(\"r\") forbid (principal, action == Action::\"tool.call\", resource) when {{ context.secrets_in_args }};"));
    let (code, said) = stage.says(&["policy", "check"]);
    assert!(
        code == Some(0) && said.contains("the project's policies are left out"),
        "{said}"
    );
    assert_eq!(call("a.txt"), Some(0));
}
