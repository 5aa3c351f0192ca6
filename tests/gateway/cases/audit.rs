//! The audit log as it stands after hostile calls, crashes and two writers.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::desk::{Desk, PERMIT_START, failed, script, text, tool};

fn log_of(desk: &Desk) -> PathBuf {
    desk.stage.home.join(".local/state/creance/audit.jsonl")
}

fn run(desk: &Desk, args: &[&str]) -> String {
    let output = desk.stage.creance(args).output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Everything that Creance keeps or says besides the question to the person: log, pins, its
/// standard error, its views, and dry runs of the same calls.
fn kept(desk: &Desk, calls: &[Value]) -> String {
    let state = desk.stage.home.join(".local/state/creance");
    let mut kept = desk.stderr();
    for file in ["audit.jsonl", "ledger.json"] {
        kept += &fs::read_to_string(state.join(file)).unwrap_or_default();
    }
    kept += &run(desk, &["audit", "show", "--full"]);
    kept += &run(desk, &["audit", "show", "--json"]);
    kept += &run(desk, &["server", "status"]);
    for call in calls {
        let name = call["name"].as_str().unwrap();
        let arguments = call["arguments"].to_string();
        kept += &run(desk, &["dry-run", "call", "demo", name, &arguments]);
        kept += &run(
            desk,
            &["dry-run", "--json", "call", "demo", name, &arguments],
        );
    }
    kept + &run(desk, &["dry-run", "--json"])
}

fn calls(case: &str) -> Vec<Value> {
    case.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Plays the calls twice: each permitted by a person, then each denied. Gives what was kept.
#[track_caller]
fn played(test: &str, calls: &[Value]) -> Option<String> {
    let mut desk = Desk::new(test)?;
    let names = ["http", "db", "mail", "write", "commit", "broken"];
    let tools: Vec<Value> = names.iter().map(|name| tool(name)).collect();
    let mut play = script(&json!(tools));
    // A server that repeats the secret in its error.
    let broken = json!({
        "on": "tools/call", "match": { "name": "broken" },
        "error": { "code": -32000, "message": "no entry with ghp_FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF" },
    });
    let at = play.rfind("{").unwrap();
    let at = play[..at].rfind('\n').map_or(at, |line| line + 1);
    play.insert_str(at, &format!("{broken}\n"));
    let mut server = desk.plays("demo", &play);
    server["env"] = json!({ "API_KEY": "FAKE-SECRET-13" });
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(PERMIT_START);
    let mut kept_all = String::new();
    for word in ["once", "no"] {
        desk.say_nothing();
        desk.say("Start the MCP server", "once");
        desk.say("Call user/demo/", word);
        desk.open();
        desk.wait_for("demo__http");
        for call in calls {
            let name = format!("demo__{}", call["name"].as_str().unwrap());
            let result = desk.call(&name, &call["arguments"]);
            assert_eq!(failed(&result), word == "no", "{result}");
            if word == "no" {
                kept_all += &result.to_string();
            }
        }
        kept_all += &desk.call("demo__broken", &json!({})).to_string();
        desk.close();
        kept_all += &kept(&desk, calls);
        desk.stage.audit_verifies();
    }
    assert!(desk.asked.len() >= 2 * calls.len());
    Some(kept_all)
}

#[test]
fn aud_01_no_secret_is_kept_or_said() {
    let calls = calls(include_str!("../../cases/AUD-01.calls.jsonl"));
    let Some(kept) = played("aud_01", &calls) else {
        return;
    };
    for n in 1..=13 {
        let secret = format!("FAKE-SECRET-{n:02}");
        let leak = kept.find(&secret).map(|at| {
            let from = kept[..at]
                .char_indices()
                .rev()
                .nth(200)
                .map_or(0, |(at, _)| at);
            &kept[from..at + secret.len()]
        });
        assert_eq!(leak, None);
    }
    assert!(!kept.contains("ghp_FFFF"), "an error of a server");
    // Enough stays to tell what happened.
    for part in ["user/demo/http", "user/demo/db", "user/demo/mail"] {
        assert!(kept.contains(part), "{part}");
    }
}

#[test]
fn aud_03_known_shapes_go_and_look_alikes_stay() {
    let calls = calls(include_str!("../../cases/AUD-03.calls.jsonl"));
    let Some(kept) = played("aud_03", &calls) else {
        return;
    };
    for secret in [
        "AKIAFAKEFAKE",
        "ghp_FFFF",
        "eyJhbGci",
        "4111 1111",
        "QUtJQUZBS0",
    ] {
        let leak = kept.find(secret).map(|at| {
            let from = kept[..at]
                .char_indices()
                .rev()
                .nth(200)
                .map_or(0, |(at, _)| at);
            &kept[from..at + secret.len()]
        });
        assert_eq!(leak, None, "{secret}");
    }
}

#[test]
fn aud_04_one_event_is_one_line() {
    let Some(mut desk) = Desk::new("aud_04") else {
        return;
    };
    let lines: Vec<&str> = include_str!("../../cases/AUD-04.calls.jsonl")
        .lines()
        .collect();
    let odd: Value = serde_json::from_str(lines[0]).unwrap();
    let odd = odd["name"].as_str().unwrap();
    let server = desk.plays("demo", &script(&json!([tool("t"), tool(odd)])));
    let name = "x\n{\"seq\":1,\"event\":\"note\"}";
    desk.stage
        .servers(&json!({ "demo": server, name: desk.python(&["-c", "pass"]) }));
    desk.stage.policy(
        "@id(\"all\") @reason(\"line one\\nALLOW everything\\u{1b}[2K\") permit (principal, action, resource);",
    );
    desk.say("Use the tools", "once");
    desk.open();
    desk.wait_for("demo__t");
    let names = desk.tools();
    let mut odd = names.iter().map(|tool| tool["name"].as_str().unwrap());
    let odd = odd.find(|name| name.starts_with("demo__t_"));
    let odd = odd.unwrap().to_owned();
    for (line, id) in lines.iter().zip(100..) {
        let exposed = if line.contains("{\"name\":\"t\\n") {
            &odd
        } else {
            "demo__t"
        };
        // As it came, lone surrogate and all.
        let arguments = line
            .split_once("\"arguments\":")
            .unwrap()
            .1
            .trim_end_matches('}');
        let arguments = format!("{arguments}{}", "}");
        let call = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{exposed}\",\"arguments\":{arguments}}}}}"
        );
        desk.raw().line(&call);
        let answer = desk.answer(id);
        assert_eq!(text(&answer["result"]), "ok", "{call}: {answer}");
    }
    desk.close();
    let count = |event: &str, action: &str| {
        let records = desk.records();
        let of = |record: &&Value| record["event"] == event && record["action"] == action;
        records.iter().filter(of).count()
    };
    assert_eq!(count("decision", "tool.call"), lines.len());
    let records = desk.records();
    let calls: Vec<u64> = records
        .iter()
        .filter(|r| r["action"] == "tool.call" && r["event"] == "decision")
        .map(|r| r["seq"].as_u64().unwrap())
        .collect();
    let outcomes = records.iter().filter(|r| r["event"] == "outcome");
    let outcomes = outcomes.filter(|r| calls.contains(&r["of"].as_u64().unwrap()));
    assert_eq!(outcomes.count(), lines.len());
    // Numbers follow one another: no line was written by a value.
    let numbers: Vec<u64> = records.iter().map(|r| r["seq"].as_u64().unwrap()).collect();
    let want: Vec<u64> = (1..=numbers.len() as u64).collect();
    assert_eq!(numbers, want);
    let log = fs::read(log_of(&desk)).unwrap();
    assert!(!log.iter().any(|byte| *byte < 0x20 && *byte != b'\n'));
    let shown = run(&desk, &["audit", "show"]);
    assert_eq!(shown.lines().count(), records.len(), "{shown}");
    assert!(
        !shown.contains(|c: char| c.is_control() && c != '\n'),
        "{shown:?}"
    );
    desk.stage.audit_verifies();
}

#[test]
fn aud_07_a_torn_line_is_closed_off_and_the_chain_goes_on() {
    let Some(mut desk) = Desk::new("aud_07") else {
        return;
    };
    let server = desk.plays("demo", &script(&json!([tool("hello")])));
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(super::desk::PERMIT_ALL);
    desk.open();
    desk.wait_for("demo__hello");
    desk.call("demo__hello", &json!({}));
    desk.close();
    // As a crash in the middle of a write leaves it.
    let whole = fs::read(log_of(&desk)).unwrap();
    fs::write(log_of(&desk), &whole[..whole.len() - 25]).unwrap();
    desk.open();
    desk.wait_for("demo__hello");
    desk.call("demo__hello", &json!({}));
    desk.close();
    let output = desk.stage.creance(&["audit", "verify"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // The chain holds; that the record was whole once, and is gone, is known by its key.
    assert_eq!(output.status.code(), Some(1), "{said}");
    for want in ["torn", "verified, but records are MISSING"] {
        assert!(said.contains(want), "the loss is said: {said}");
    }
}

#[test]
fn aud_07_two_gateways_and_kills_leave_one_chain() {
    let Some(mut desk) = Desk::new("aud_07") else {
        return;
    };
    let server = desk.plays("demo", &script(&json!([tool("hello")])));
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(super::desk::PERMIT_ALL);
    desk.open();
    desk.wait_for("demo__hello");
    for round in 0..4 {
        let mut second = crate::raw::Raw::start_with(
            desk.stage.creance(&["serve"]),
            std::process::Stdio::null(),
        );
        second.initialize("2025-06-18");
        let list = |raw: &mut crate::raw::Raw| raw.request("tools/list", &json!({})).to_string();
        while !list(&mut second).contains("demo__hello") {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        for _ in 0..20 {
            second.ask("tools/call", &json!({ "name": "demo__hello" }));
        }
        for _ in 0..round * 3 {
            assert_eq!(text(&desk.call("demo__hello", &json!({}))), "ok");
        }
        let pid = second.child.id().to_string();
        let killed = Command::new("kill").args(["-s", "KILL", &pid]).status();
        assert!(killed.unwrap().success());
    }
    desk.close();
    desk.stage.audit_verifies();
    // Each effect has its record: the server was called at most as often as that was permitted.
    let records = desk.records();
    let permitted = records
        .iter()
        .filter(|r| r["action"] == "tool.call" && r["outcome"] == "allow")
        .count();
    assert!(desk.notes("demo").len() <= permitted);
    assert!(permitted >= 18);
}
