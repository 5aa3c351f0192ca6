//! A log that cannot be written: nothing happens without its record, and it is said.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::real::path_text;

use super::desk::{Desk, PERMIT_START, failed, script, text, tool};

#[test]
fn aud_06_no_effect_without_its_record() {
    let Some(mut desk) = Desk::new("aud_06") else {
        return;
    };
    let tools = json!([tool("allowed"), tool("denied"), tool("asked")]);
    let server = desk.plays("demo", &script(&tools));
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(&format!(
        "{PERMIT_START}\n@id(\"allowed\") @reason(\"Fine.\")\n\
         permit (principal, action == Action::\"tool.call\", resource == Tool::\"user/demo/allowed\");\n\
         @id(\"denied\") @reason(\"Never.\")\n\
         forbid (principal, action == Action::\"tool.call\", resource == Tool::\"user/demo/denied\") when {{ context.args_bytes >= 0 }};"
    ));
    // The soft limit alone, so that any user can make room again.
    let limited = include_str!("../../cases/AUD-06.run.sh").replace("ulimit -f", "ulimit -S -f");
    desk.stage.write("limit.sh", &limited);
    let limit = path_text(&desk.stage.home.with_file_name("limit.sh"));
    let folder = path_text(&desk.stage.home.with_file_name("limited"));
    let mut command = Command::new("sh");
    command
        .args([&limit, &folder, env!("CARGO_BIN_EXE_creance"), "serve"])
        .current_dir(&desk.stage.project)
        .env_clear()
        .envs(desk.stage.environment());
    desk.say("Call user/demo/asked?", "once");
    desk.open_as(command);
    desk.wait_for("demo__allowed");
    let mut done = 0;
    let full = loop {
        let result = desk.call("demo__allowed", &json!({}));
        if failed(&result) {
            break text(&result);
        }
        done += 1;
        assert!(done < 1000, "the limit holds");
    };
    assert!(done > 2, "{full}");
    // Whether the record of a decision or of an outcome is the first that has no room.
    let said = [
        "nothing is done without its audit record",
        "its outcome could not be recorded",
    ];
    assert!(said.iter().any(|said| full.contains(said)), "{full}");
    for name in ["allowed", "denied", "asked"] {
        let result = desk.call(&format!("demo__{name}"), &json!({}));
        assert!(failed(&result), "{name}: {result}");
    }
    let status = desk.status();
    assert!(
        status.contains("the audit log cannot be written"),
        "{status}"
    );
    let permitted = |desk: &Desk| {
        let records = desk.records();
        let allow = records
            .iter()
            .filter(|r| r["action"] == "tool.call" && r["outcome"] == "allow");
        allow.count()
    };
    // The last effect may lack its outcome, but never its decision.
    assert_eq!(desk.notes("demo").len(), permitted(&desk));
    desk.stage.audit_verifies();

    // Room is back: it goes on, without a restart.
    let pid = desk.raw().child.id().to_string();
    let raised = Command::new("prlimit")
        .args(["--pid", &pid, "--fsize=unlimited:unlimited"])
        .status();
    assert!(raised.unwrap().success());
    let result = desk.call("demo__allowed", &json!({}));
    assert_eq!(text(&result), "ok", "{result}");
    assert!(!desk.status().contains("the audit log cannot be written"));
    assert_eq!(desk.notes("demo").len(), permitted(&desk));
    let status = desk.close();
    assert_eq!(
        status.code(),
        Some(1),
        "records that failed are said at the end"
    );
    let said = desk.stderr();
    assert!(
        said.contains("audit records could not be written"),
        "{said}"
    );
    assert!(
        said.contains("the audit log can be written again"),
        "{said}"
    );
    desk.stage.audit_verifies();
}

#[test]
fn aud_06_a_log_that_is_gone_or_read_only_stops_effects() {
    let Some(mut desk) = Desk::new("aud_06") else {
        return;
    };
    let server = desk.plays("demo", &script(&json!([tool("hello")])));
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(super::desk::PERMIT_ALL);
    desk.open();
    desk.wait_for("demo__hello");
    assert_eq!(text(&desk.call("demo__hello", &json!({}))), "ok");
    // A folder in the place of the log.
    let log = desk.stage.home.join(".local/state/creance/audit.jsonl");
    let aside = log.with_file_name("aside.jsonl");
    fs::rename(&log, &aside).unwrap();
    fs::create_dir(&log).unwrap();
    let before = desk.notes("demo").len();
    let result = desk.call("demo__hello", &json!({}));
    assert!(failed(&result), "{result}");
    assert_eq!(desk.notes("demo").len(), before);
    fs::remove_dir(&log).unwrap();
    fs::rename(&aside, &log).unwrap();
    assert_eq!(text(&desk.call("demo__hello", &json!({}))), "ok");
    desk.stage.audit_verifies();
}
