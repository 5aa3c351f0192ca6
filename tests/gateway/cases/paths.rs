//! Paths in arguments: judged where they lead, not how they are written.

use std::process::Command;

use serde_json::{Value, json};

use crate::real::path_text;

use super::desk::{Desk, PERMIT_START, failed, script, text, tool};

#[test]
fn sec_07_a_path_is_judged_by_where_it_leads() {
    let Some(mut desk) = Desk::new("sec_07") else {
        return;
    };
    let root = path_text(&desk.stage.project.join("root"));
    desk.stage
        .write("setup.sh", include_str!("../../cases/SEC-07.setup.sh"));
    let setup = desk.stage.home.with_file_name("setup.sh");
    let made = Command::new("sh").arg(setup).arg(&root).status();
    assert!(made.unwrap().success());
    let server = desk.plays("demo", &script(&json!([tool("read_file")])));
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(&format!(
        "{PERMIT_START}\n@id(\"proj\") @reason(\"The folder proj may be read.\")\n\
         permit (principal, action == Action::\"tool.call\", resource) when {{ context.every_path in Path::\"{root}/proj\" }};\n\
         @id(\"only-proj\") @reason(\"Nothing else.\")\n\
         forbid (principal, action == Action::\"tool.call\", resource) unless {{ context.every_path in Path::\"{root}/proj\" }};"
    ));
    desk.open();
    desk.wait_for("demo__read_file");
    let mut rows = 0;
    for row in include_str!("../../cases/SEC-07.paths.tsv").lines().skip(1) {
        let (path, want) = row.split_once('\t').unwrap();
        let path = path.replace("ROOT", &root);
        let result = desk.call("demo__read_file", &json!({ "path": path }));
        // What is not decoded is a name inside: the server then finds no such file.
        let allowed = want != "deny";
        assert_eq!(!failed(&result), allowed, "{row}: {result}");
        assert_eq!(
            text(&result).contains("only-proj"),
            !allowed,
            "{row}: {result}"
        );
        rows += 1;
    }
    assert_eq!(rows, 13);
    desk.close();
    // The record names the real target of a link.
    let denied: Vec<String> = desk
        .records()
        .iter()
        .filter(|record| record["action"] == "tool.call" && record["outcome"] == "deny")
        .map(|record| record["facts"].to_string())
        .collect();
    let real = format!("{root}/proj_secret/key.txt");
    assert_eq!(
        denied.iter().filter(|facts| facts.contains(&real)).count(),
        6,
        "{denied:#?}"
    );
}

#[test]
fn sec_08_paths_and_dashes_of_arguments_can_be_ruled() {
    let Some(mut desk) = Desk::new("sec_08") else {
        return;
    };
    let repo = path_text(&desk.stage.project);
    let home = path_text(&desk.stage.home);
    let names = ["git_add", "git_show", "git_branch", "git_log", "git_init"];
    let tools: Vec<Value> = names.iter().map(|name| tool(name)).collect();
    let server = desk.plays("git", &script(&json!(tools)));
    desk.stage.servers(&json!({ "git": server }));
    desk.stage.policy(&format!(
        "{PERMIT_START}\n@id(\"git\") @reason(\"Git in this repository.\")\n\
         permit (principal, action == Action::\"tool.call\", resource in Server::\"user/git\");\n\
         @id(\"repo\") @reason(\"Paths stay in the repository.\")\n\
         forbid (principal, action == Action::\"tool.call\", resource) unless {{ context.every_path in Path::\".\" }};\n\
         @id(\"dashes\") @reason(\"No options.\")\n\
         forbid (principal, action == Action::\"tool.call\", resource) when {{ !context.option_like_args.isEmpty() }};"
    ));
    desk.open();
    desk.wait_for("git__git_init");
    let mut rows = 0;
    for row in include_str!("../../cases/SEC-08.calls.jsonl").lines() {
        let call = row.replace("ROOT/repo", &repo).replace("HOME", &home);
        let call: Value = serde_json::from_str(&call).unwrap();
        let name = format!("git__{}", call["name"].as_str().unwrap());
        let result = desk.call(&name, &call["arguments"]);
        assert_eq!(!failed(&result), call["want"] == "allow", "{row}: {result}");
        rows += 1;
    }
    assert_eq!((rows, desk.notes("git").len()), (10, 3));
    desk.close();

    // Where a person is asked, the question shows the resolved path and the dash.
    desk.stage.policy(PERMIT_START);
    desk.say("Call user/git/git_add?", "no");
    desk.open();
    desk.wait_for("git__git_add");
    let arguments = json!({ "repo_path": repo, "files": ["docs/../notes.txt", "--force"] });
    desk.call("git__git_add", &arguments);
    let asked = desk.asked.join("");
    assert!(
        asked.contains(&format!("files.0 is {repo}/notes.txt")),
        "{asked}"
    );
    assert!(
        asked.contains("begins with a dash, which some programs take as an option: files.1"),
        "{asked}"
    );
}
