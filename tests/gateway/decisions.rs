//! Policy seen from the client: what is permitted, asked and forbidden, each with its reason, and
//! no way around it by `..` or by a link.

use std::fs;

use serde_json::{Value, json};

use crate::client::Client;
use crate::real::{self, need, path_text};
use crate::stage::{Stage, node_server};

/// Read below `docs/` only, ask before writing, never move.
const POLICY: &str = r#"
@id("start")
@reason("The test's own server.")
permit (principal, action in [Action::"start", Action::"sandbox"], resource);

@id("tool-list")
@reason("The test's own server.")
permit (principal, action == Action::"server.tools", resource);

@id("read-docs")
@reason("Documentation may be read.")
permit (principal, action == Action::"tool.call", resource == Tool::"user/files/read_text_file")
when { context.every_path in Path::"./docs" };

@id("only-docs")
@reason("Only documentation may be read.")
forbid (principal, action == Action::"tool.call", resource == Tool::"user/files/read_text_file")
unless { context.every_path in Path::"./docs" };

@id("no-moves")
@reason("Files stay where they are.")
forbid (principal, action == Action::"tool.call", resource == Tool::"user/files/move_file")
when { context.args_bytes >= 0 };
"#;

/// A stage with the filesystem server and the policy above.
fn stage(node: &real::Node) -> Stage {
    let stage = Stage::new();
    stage.servers(&json!({ "files": node_server(node, "filesystem", &["/"]) }));
    stage.policy(POLICY);
    stage
}

fn read(path: String) -> Value {
    json!({ "call": "files__read_text_file", "args": { "path": path } })
}

/// The result is a denial that names the policy and its reason.
#[track_caller]
fn denied(result: &Value, policy: &str, reason: &str) {
    assert_eq!(result["is_error"], true, "{result}");
    let text = result["text"].as_str().unwrap();
    assert!(text.contains(policy) && text.contains(reason), "{result}");
}

#[test]
fn reading_is_bound_to_a_folder() {
    const TEST: &str = "reading_is_bound_to_a_folder";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    for client in Client::ALL {
        let stage = stage(node);
        let at = |below: &str| path_text(&stage.project) + "/" + below;
        #[cfg(unix)]
        std::os::unix::fs::symlink("../notes.txt", stage.project.join("docs/link.md")).unwrap();
        let steps = json!([
            { "list": "files__read_text_file" },
            read(at("docs/guide.md")),
            read(at("notes.txt")),
            read(at("docs/../notes.txt")),
            read(at("docs/link.md")),
            read(at("docs-of-others/a.md")),
        ]);
        let Some(got) = client.run(TEST, &stage.gateway(), None, steps) else {
            continue;
        };
        let result = |n: usize| &got["results"][n];
        assert!(
            result(1)["text"].as_str().unwrap().contains("a guide"),
            "{got}"
        );
        for n in 2..=5 {
            denied(result(n), "only-docs", "Only documentation may be read.");
        }
        assert!(!got.to_string().contains("some notes"), "{got}");
        stage.audit_verifies();
    }
}

/// Writes `new.txt` through the gateway, with this answer to the question about it.
fn write(client: Client, test: &str, stage: &Stage, answers: Option<Value>) -> Option<Value> {
    let path = path_text(&stage.project.join("new.txt"));
    let call =
        json!({ "call": "files__write_file", "args": { "path": path, "content": "written" } });
    let steps = json!([{ "list": "files__write_file" }, call, call]);
    client.run(test, &stage.gateway(), answers, steps)
}

#[test]
fn writing_asks_the_person() {
    const TEST: &str = "writing_asks_the_person";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    // (answer, whether the file is there afterwards, how many questions two equal calls take)
    for (say, written, questions) in [
        ("once", true, 2),
        ("session", true, 1),
        ("no", false, 2),
        ("decline", false, 2),
    ] {
        for client in Client::ALL {
            let stage = stage(node);
            let answers = json!([{ "contains": "write_file", "say": say }]);
            let Some(got) = write(client, TEST, &stage, Some(answers)) else {
                continue;
            };
            let asked = got["asked"].as_array().unwrap();
            assert_eq!(asked.len(), questions, "{say}: {got}");
            assert!(
                asked[0].as_str().unwrap().contains("new.txt"),
                "the question shows what it is about: {got}"
            );
            assert_eq!(
                stage.project.join("new.txt").exists(),
                written,
                "{say}: {got}"
            );
            assert_eq!(got["results"][1]["is_error"], !written, "{say}: {got}");
            stage.audit_verifies();
        }
    }
}

#[test]
fn a_question_that_nobody_can_answer_is_a_no() {
    const TEST: &str = "a_question_that_nobody_can_answer_is_a_no";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    for client in Client::ALL {
        let stage = stage(node);
        let Some(got) = write(client, TEST, &stage, None) else {
            continue;
        };
        assert_eq!(got["results"][1]["is_error"], true, "{got}");
        let way_out = got["results"][1]["text"].as_str().unwrap();
        assert!(
            way_out.contains("creance approve"),
            "the way out is named: {got}"
        );
        assert!(!stage.project.join("new.txt").exists());
    }
}

#[test]
fn moving_is_forbidden() {
    const TEST: &str = "moving_is_forbidden";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    for client in Client::ALL {
        let stage = stage(node);
        let at = |below: &str| path_text(&stage.project.join(below));
        let args = json!({ "source": at("notes.txt"), "destination": at("docs/notes.txt") });
        let steps = json!([{ "list": "files__read_text_file" }, { "call": "files__move_file", "args": args }]);
        let answers = json!([{ "contains": "", "say": "once" }]);
        let Some(got) = client.run(TEST, &stage.gateway(), Some(answers), steps) else {
            continue;
        };
        denied(&got["results"][1], "no-moves", "Files stay where they are.");
        assert_eq!(
            got["asked"],
            json!([]),
            "what is forbidden is not asked: {got}"
        );
        assert_eq!(fs::read_to_string(at("notes.txt")).unwrap(), "some notes");
    }
}
