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

/// The result is a denial that names the policy and its reason.
#[track_caller]
fn denied(result: &Value, policy: &str, reason: &str) {
    assert_eq!(result["is_error"], true, "{result}");
    let text = result["text"].as_str().unwrap();
    assert!(text.contains(policy) && text.contains(reason), "{result}");
}

/// One call with the answer that policy must give to it.
struct Case {
    tool: &'static str,
    args: Value,
    want: Want,
}

/// What policy says to a call.
enum Want {
    /// It is allowed, and its result holds this.
    Allow(&'static str),
    /// It is asked.
    Ask,
    /// It is denied by this policy for this reason.
    Deny(&'static str, &'static str),
}

fn cases(stage: &Stage) -> Vec<Case> {
    let at = |below: &str| path_text(&stage.project) + "/" + below;
    let read = |path: String, want| Case {
        tool: "read_text_file",
        args: json!({ "path": path }),
        want,
    };
    let only_docs = || Want::Deny("user/test/only-docs", "Only documentation may be read.");
    vec![
        read(at("docs/guide.md"), Want::Allow("a guide")),
        // This server takes it below `/`, the folder that it serves, and not below its own.
        read("docs/guide.md".to_owned(), only_docs()),
        read(at("docs/../docs/guide.md"), Want::Allow("a guide")),
        read(at("notes.txt"), only_docs()),
        read(at("docs/../notes.txt"), only_docs()),
        read("docs/../notes.txt".to_owned(), only_docs()),
        read(at("docs/link.md"), only_docs()),
        read(at("docs/away/notes.txt"), only_docs()),
        read(at("docs-of-others/a.md"), only_docs()),
        read(at("docs/../../private.txt"), only_docs()),
        Case {
            tool: "write_file",
            args: json!({ "path": at("new.txt"), "content": "written" }),
            want: Want::Ask,
        },
        Case {
            tool: "move_file",
            args: json!({ "source": at("notes.txt"), "destination": at("docs/notes.txt") }),
            want: Want::Deny("user/test/no-moves", "Files stay where they are."),
        },
    ]
}

/// Links out of `docs/`.
fn link_out(stage: &Stage) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("../notes.txt", stage.project.join("docs/link.md")).unwrap();
        symlink("..", stage.project.join("docs/away")).unwrap();
    }
    #[cfg(not(unix))]
    let _ = stage;
}

/// What the client sees of a call that is asked about (and agreed to), allowed or denied.
#[track_caller]
fn seen(case: &Case, result: &Value) {
    match case.want {
        Want::Allow(text) => {
            assert_eq!(result["is_error"], false, "{}: {result}", case.args);
            assert!(result["text"].as_str().unwrap().contains(text), "{result}");
        }
        Want::Ask => assert_eq!(result["is_error"], false, "{result}"),
        Want::Deny(policy, reason) => denied(result, policy, reason),
    }
}

/// The same from `creance dry-run` and `creance policy explain`, with the same policies.
#[track_caller]
fn forecast(stage: &Stage, case: &Case) {
    let call = ["call", "user/files", case.tool, &case.args.to_string()];
    let [dry_run, explain]: [Vec<&str>; 2] = [&["dry-run"][..], &["policy", "explain"]]
        .map(|command| [command, &call, &["--json"]].concat());
    let (code, forecast) = stage.json(&dry_run);
    let (explained, explanation) = stage.json(&explain);
    let (want, word) = match case.want {
        Want::Allow(_) => (0, "allow"),
        Want::Deny(..) => (3, "deny"),
        Want::Ask => (4, "ask"),
    };
    assert_eq!(code, Some(want), "{}: {forecast}", case.args);
    assert_eq!(forecast["outcome"]["outcome"], word, "{forecast}");
    assert_eq!(explained, Some(0));
    assert_eq!(explanation["verdict"]["outcome"], forecast["outcome"]);
    assert_eq!(explanation["verdict"]["because"], forecast["because"]);
    if let Want::Deny(policy, reason) = case.want {
        let because = forecast["because"].as_array().unwrap();
        let names = |part: &&Value| part["policy"] == policy && part["reason"] == reason;
        assert!(because.iter().any(|part| names(&part)), "{forecast}");
        let (code, said) = stage.says(&explain[..explain.len() - 1]);
        assert!(
            code == Some(0) && said.contains(policy) && said.contains(reason),
            "{said}"
        );
    }
}

#[test]
fn clients_dry_runs_and_explanations_say_the_same() {
    const TEST: &str = "clients_dry_runs_and_explanations_say_the_same";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    for client in Client::ALL {
        let stage = stage(node);
        link_out(&stage);
        let cases = cases(&stage);
        let mut steps = vec![json!({ "list": "files__read_text_file" })];
        let called =
            |case: &Case| json!({ "call": format!("files__{}", case.tool), "args": case.args });
        steps.extend(cases.iter().map(called));
        let answers = json!([{ "contains": "write_file", "say": "once" }]);
        let Some(got) = client.run(TEST, &stage.gateway(), Some(answers), steps.into()) else {
            continue;
        };
        for (number, case) in cases.iter().enumerate() {
            seen(case, &got["results"][number + 1]);
        }
        assert!(!got.to_string().contains("some notes"), "{got}");
        let asked = got["asked"].as_array().unwrap();
        assert_eq!(asked.len(), 1, "only what is to be asked is asked: {got}");
        assert_eq!(fs::read(stage.project.join("new.txt")).unwrap(), b"written");
        assert!(stage.project.join("notes.txt").exists());
        stage.audit_verifies();
        if matches!(client, Client::Python) {
            cases.iter().for_each(|case| forecast(&stage, case));
        }
    }
}

fn write(stage: &Stage, file: &str) -> Value {
    let path = path_text(&stage.project.join(file));
    json!({ "call": "files__write_file", "args": { "path": path, "content": "written" } })
}

#[test]
fn writing_asks_the_person() {
    const TEST: &str = "writing_asks_the_person";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    // (answer, whether the file is there afterwards, how many questions two equal calls take)
    let answers = [
        ("once", true, 2),
        ("session", true, 1),
        ("no", false, 2),
        ("decline", false, 2),
    ];
    for client in Client::ALL {
        let stage = stage(node);
        let mut steps = vec![json!({ "list": "files__write_file" })];
        let mut says = Vec::new();
        for (say, ..) in answers {
            let file = format!("by-{say}.txt");
            steps.extend([write(&stage, &file), write(&stage, &file)]);
            says.push(json!({ "contains": file, "say": say }));
        }
        let Some(got) = client.run(TEST, &stage.gateway(), Some(says.into()), steps.into()) else {
            continue;
        };
        let asked = got["asked"].as_array().unwrap();
        for (number, (say, written, questions)) in answers.into_iter().enumerate() {
            let file = format!("by-{say}.txt");
            let about = asked.iter().filter(|q| q.as_str().unwrap().contains(&file));
            assert_eq!(about.count(), questions, "{say}: {got}");
            let there = stage.project.join(&file).exists();
            assert_eq!(there, written, "{say}: {got}");
            for call in [2 * number + 1, 2 * number + 2] {
                let result = &got["results"][call];
                assert_eq!(result["is_error"], !written, "{say}: {got}");
                if !written {
                    denied(result, "a person said no", "builtin/defaults/ask");
                }
            }
        }
        stage.audit_verifies();
    }
}

/// A question that is dismissed in the client, while nobody has `creance approve` open, waits for
/// nobody: the call fails soon, long before the limit of the question.
#[test]
fn a_dismissed_question_is_a_no() {
    const TEST: &str = "a_dismissed_question_is_a_no";
    let Some(node) = need(real::node(), TEST) else {
        return;
    };
    for client in Client::ALL {
        let stage = stage(node);
        let steps = json!([{ "list": "files__write_file" }, write(&stage, "new.txt")]);
        let answers = json!([{ "contains": "new.txt", "say": "cancel" }]);
        let Some(got) = client.run(TEST, &stage.gateway(), Some(answers), steps) else {
            continue;
        };
        denied(
            &got["results"][1],
            "builtin/defaults/ask",
            "creance approve",
        );
        assert_eq!(got["asked"].as_array().unwrap().len(), 1, "{got}");
        assert!(!stage.project.join("new.txt").exists());
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
        stage.configure(&json!({
            "mcpServers": { "files": node_server(node, "filesystem", &["/"]) },
            "questionTimeoutMs": 700,
        }));
        let steps = json!([{ "list": "files__write_file" }, write(&stage, "new.txt")]);
        let Some(got) = client.run(TEST, &stage.gateway(), None, steps) else {
            continue;
        };
        denied(
            &got["results"][1],
            "builtin/defaults/ask",
            "creance approve",
        );
        assert!(!stage.project.join("new.txt").exists());
    }
}
