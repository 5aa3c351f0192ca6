//! Official clients of both eras in front of real servers of both eras.

use serde_json::{Value, json};

use crate::client::Client;
use crate::real::{self, need, path_text};
use crate::stage::{Stage, node_server, read_paths};

use crate::cases::desk::PERMIT_ALL;

/// The Python client in one mode, through the gateway.
#[track_caller]
fn run(test: &str, stage: &Stage, mode: &str, steps: &Value) -> Option<Value> {
    let got = Client::Python.run_as(test, mode, &stage.gateway(), steps.clone())?;
    let mut results = got["results"].as_array().unwrap().iter();
    assert!(results.all(|result| result["missing"].is_null()), "{got}");
    Some(got)
}

#[test]
fn everything_answers_clients_of_both_eras() {
    const TEST: &str = "everything_answers_clients_of_both_eras";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let stage = Stage::new();
        stage.servers(&json!({ "everything": node_server(node, "everything", &[]) }));
        stage.policy(PERMIT_ALL);
        let steps = json!([
            { "list": "everything__echo" },
            { "call": "everything__echo", "args": { "message": "hello" } },
            { "prompts": null },
            { "prompt": "everything__args-prompt", "args": { "city": "Brno" } },
            { "resources": null },
            { "read_first": null },
            { "complete": "everything__completable-prompt", "argument": "department", "value": "E" },
        ]);
        let Some(got) = run(TEST, &stage, mode, &steps) else {
            return;
        };
        let result = |n: usize| &got["results"][n];
        assert_eq!(got["version"], version, "{got}");
        assert!(
            result(1)["text"].as_str().unwrap().contains("hello"),
            "{got}"
        );
        let prompts = result(2).as_array().unwrap();
        assert!(
            prompts.contains(&json!("everything__simple-prompt")),
            "{got}"
        );
        assert!(result(3).to_string().contains("Brno"), "{got}");
        assert!(!result(4).as_array().unwrap().is_empty(), "{got}");
        assert!(result(5).as_u64().unwrap() > 0, "{got}");
        assert!(
            result(6)
                .as_array()
                .unwrap()
                .contains(&json!("Engineering")),
            "{got}"
        );
        stage.audit_verifies();
    }
}

#[test]
fn a_dual_era_server_answers_clients_of_both_eras() {
    const TEST: &str = "a_dual_era_server_answers_clients_of_both_eras";
    let Some(git) = need(real::python_git(), TEST) else {
        return;
    };
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let stage = Stage::new();
        let project = path_text(&stage.project);
        let server = json!({
            "command": path_text(&git.program("mcp-server-git")),
            "args": ["--repository", project],
            "readPaths": read_paths(),
        });
        stage.servers(&json!({ "git": server }));
        stage.policy(PERMIT_ALL);
        let steps = json!([
            { "list": "git__git_log" },
            { "call": "git__git_log", "args": { "repo_path": project, "max_count": 1 } },
        ]);
        let Some(got) = run(TEST, &stage, mode, &steps) else {
            return;
        };
        assert_eq!(got["version"], version, "{got}");
        assert!(
            got["results"][1]["text"]
                .as_str()
                .unwrap()
                .contains("first"),
            "{got}"
        );
    }
}
