//! `creance demo`: nothing gets through, and what decided is named; where the sandbox is weakened,
//! policy starts nothing and the demonstration says what is missing.

use std::process::{Command, Output};

use serde_json::Value;

const DEMO: &str = env!("CARGO_BIN_EXE_creance");

fn report(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// Whether this machine has a full sandbox.
fn full() -> bool {
    let doctor = Command::new(DEMO).args(["doctor", "--json"]).output();
    doctor.is_ok_and(|output| output.status.success())
}

#[test]
fn nothing_gets_through() {
    if !full() {
        println!("skipped nothing_gets_through: this machine has no full sandbox");
        return;
    }
    let output = Command::new(DEMO)
        .args(["demo", "--json"])
        .output()
        .unwrap();
    let report = report(&output);
    assert!(output.status.success(), "{report}");
    assert_eq!(report["held"], true, "{report}");
    assert_eq!(report["audit"]["ok"], true);
    assert_eq!(
        report["audit"]["no_outcome"].as_array().unwrap().len(),
        0,
        "{report}"
    );
    // (what was tried, what happened, by which policy or guarantee)
    let want = [
        ("call note_add", "done", "user/demo/add-notes"),
        (
            "call note_publish",
            "asked; the demo said once; done",
            "builtin/defaults/ask",
        ),
        ("call note_delete", "denied", "user/demo/never-delete"),
        (
            "call note_add after",
            "held back",
            "builtin/guardrails/changed-tools",
        ),
        ("write a file outside", "stopped", "writes: "),
        ("plant a git hook", "stopped", "protected-paths: "),
        ("read ~/.ssh", "stopped", "secrets: "),
        ("connect out", "stopped", "network: "),
        ("fork bomb", "stopped", "limits: "),
    ];
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), want.len(), "{report}");
    for (row, (tried, happened, by)) in rows.iter().zip(want) {
        let holds = |key: &str, part: &str| row[key].as_str().unwrap().contains(part);
        assert!(
            holds("tried", tried) && holds("happened", happened) && holds("by", by),
            "{row}"
        );
        assert!(row["good"] == true && row["weakened"].is_null(), "{row}");
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("The demo answers: once."), "{said}");
}

/// A machine without user namespaces: nothing starts, and each guarantee that is missing is said.
#[test]
fn a_weakened_machine_starts_nothing() {
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" demo --json";
    let weakened = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", forbid, DEMO])
        .output();
    let output = match weakened {
        Ok(output) if !output.stdout.is_empty() => output,
        other => {
            println!("skipped a_weakened_machine_starts_nothing: no such machine here: {other:?}");
            return;
        }
    };
    let report = report(&output);
    assert!(output.status.success(), "{report}");
    assert_eq!(
        (&report["held"], &report["refused"]),
        (&true.into(), &true.into())
    );
    let rows = report["rows"].as_array().unwrap();
    assert!(
        rows[0]["happened"].as_str().unwrap().contains("denied"),
        "{report}"
    );
    let weakened = rows.iter().filter(|row| row["weakened"].is_string());
    assert!(weakened.count() >= 3, "{report}");
}
