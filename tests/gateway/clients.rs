//! The harness itself: each client against a real server with no gateway between them.

use serde_json::{Value, json};

use crate::client::Client;
use crate::raw::Raw;
use crate::real::{self, need, path_text};
use crate::stage::Stage;

#[test]
fn clients_list_call_and_answer() {
    let Some(node) = need(real::node(), "clients_list_call_and_answer") else {
        return;
    };
    let server = json!({ "command": node.program, "args": [node.server("everything")] });
    let steps = json!([
        { "list": "echo" },
        { "call": "echo", "args": { "message": "hello" } },
        { "call": "no-such-tool" },
        { "call": "trigger-elicitation-request" },
        { "list": "no-such-tool", "within_s": 0.2 },
    ]);
    for client in Client::ALL {
        let answers = json!([{ "contains": "Please", "say": "once" }]);
        let Some(got) = client.run(
            "clients_list_call_and_answer",
            &server,
            Some(answers),
            steps.clone(),
        ) else {
            continue;
        };
        let result = |n: usize| &got["results"][n];
        assert!(
            result(0)["tools"]
                .as_array()
                .unwrap()
                .contains(&json!("echo")),
            "{got}"
        );
        assert_eq!(result(1)["text"], "Echo: hello");
        assert_eq!(result(2)["is_error"], true);
        assert!(
            result(3)["text"].as_str().unwrap().contains("accept"),
            "{got}"
        );
        assert_eq!(result(4)["missing"], "no-such-tool");
        assert_eq!(got["asked"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_client_without_elicitation_offers_none() {
    let Some(node) = need(real::node(), "a_client_without_elicitation_offers_none") else {
        return;
    };
    let server = json!({ "command": node.program, "args": [node.server("everything")] });
    for client in Client::ALL {
        let Some(got) = client.run(
            "a_client_without_elicitation_offers_none",
            &server,
            None,
            json!([{ "list": null }]),
        ) else {
            continue;
        };
        let tools = got["results"][0]["tools"].as_array().unwrap();
        assert!(
            !tools.contains(&json!("trigger-elicitation-request")),
            "{got}"
        );
    }
}

#[test]
fn clients_use_the_git_server() {
    let Some(git) = need(real::python_git(), "clients_use_the_git_server") else {
        return;
    };
    let stage = Stage::new();
    let project = path_text(&stage.project);
    let server =
        json!({ "command": git.program("mcp-server-git"), "args": ["--repository", project] });
    let steps = json!([{ "call": "git_log", "args": { "repo_path": project, "max_count": 1 } }]);
    for client in Client::ALL {
        let Some(got) = client.run("clients_use_the_git_server", &server, None, steps.clone())
        else {
            continue;
        };
        assert!(
            got["results"][0]["text"]
                .as_str()
                .unwrap()
                .contains("first"),
            "{got}"
        );
    }
}

#[test]
fn raw_client_sees_exact_messages() {
    let Some(node) = need(real::node(), "raw_client_sees_exact_messages") else {
        return;
    };
    let mut command = std::process::Command::new(&node.program);
    command.arg(node.server("memory"));
    let mut raw = Raw::start(command);
    assert_eq!(
        raw.initialize("2025-06-18")["result"]["protocolVersion"],
        "2025-06-18"
    );
    let id = raw.ask("no/such", &json!({}));
    assert_eq!(raw.answer(id)["error"]["code"], -32601);
    let listed = raw.request("tools/list", &json!({}));
    assert!(
        listed["result"]["tools"]
            .as_array()
            .is_some_and(|t| !t.is_empty()),
        "{listed}"
    );
    assert_eq!(raw.unasked, Vec::<Value>::new());
    raw.leave();
    assert!(raw.child.wait().unwrap().success());
}

#[test]
fn npx_starts_from_its_cache() {
    let Some(cache) = need(real::npx_cache(), "npx_starts_from_its_cache") else {
        return;
    };
    let mut command = std::process::Command::new("npx");
    command
        .args(["-y", real::MEMORY])
        .env("npm_config_cache", cache)
        .env("npm_config_offline", "true");
    let mut raw = Raw::start(command);
    assert_eq!(
        raw.initialize("2025-11-25")["result"]["protocolVersion"],
        "2025-11-25"
    );
}
