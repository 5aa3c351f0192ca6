//! `creance audit verify|key|checkpoint` through the built binary, and what every command says about
//! logs, keys and arguments that are no good.

use std::fs;

use serde_json::Value;

use crate::audit_commands::{Desk, seqs};
use crate::real::path_text;
use crate::stage::Stage;

#[test]
fn keys_are_shown_taken_and_renewed() {
    let desk = Desk::new();
    let shown = desk.prints(&["key"]);
    assert!(
        shown.contains("still in") && shown.contains("key take"),
        "{shown}"
    );
    let key = desk.prints(&["key", "take"]);
    assert_eq!(key.lines().count(), 1);
    desk.fails(&["key", "take"], 1, "it was taken before");
    let key = desk.file("start.key", &key);
    // With the key every record is proven, without it only the chain.
    let (code, out, err) = desk.audit(&["verify", "--key", &key]);
    assert_eq!((code, &*err), (Some(0), ""), "{out}");
    let (code, _, err) = desk.audit(&["verify"]);
    assert_eq!(code, Some(0));
    assert!(err.contains("only the chain was checked"), "{err}");
    assert!(desk.prints(&["key", "renew"]).starts_with("new keys"));
    let keys: Value = serde_json::from_str(&desk.prints(&["key", "--json"])).unwrap();
    assert_eq!(keys["beside"].as_array().unwrap().len(), 1, "{keys}");
    let shown = desk.prints(&["key"]);
    let id = keys["id"].as_str().unwrap();
    assert!(shown.contains(id) && shown.contains("still in"), "{shown}");
}

/// `(what was done to the log, exit code of verify, what it says)`
#[test]
fn verify_finds_what_was_done() {
    type Forge = fn(&mut Vec<String>);
    let rows: [(&str, Forge, i32, &str); 7] = [
        ("nothing", |_| (), 0, "7 records"),
        ("edited", |l| l[3] = l[3].replace("codex", "cosec"), 1, "5"),
        ("removed", |l| drop(l.remove(2)), 1, "4"),
        ("moved", |l| l.swap(2, 3), 1, "4"),
        ("inserted", |l| l.insert(2, l[1].clone()), 1, "2"),
        ("cut off", |l| l.truncate(5), 1, "7"),
        ("no JSON", |l| l[3] = "{".to_owned(), 1, "4"),
    ];
    for (what, forge, code, want) in rows {
        let desk = Desk::new();
        let checkpoint = desk.prints(&["checkpoint"]);
        let kept = desk.file("checkpoints.jsonl", &checkpoint);
        let signed: Value = serde_json::from_str(&checkpoint).unwrap();
        let head = format!("{}:{}", signed["seq"], signed["digest"].as_str().unwrap());
        let mut lines = desk.lines();
        forge(&mut lines);
        fs::write(&desk.log, lines.join("\n") + "\n").unwrap();
        for args in [
            &["verify"][..],
            &["verify", "--checkpoints", &kept],
            &["verify", "--head", &head],
        ] {
            let (got, out, err) = desk.audit(args);
            assert_eq!(got, Some(code), "{what}: {args:?}: {out}{err}");
            assert!(out.contains(want), "{what}: {args:?}: {out}");
            let (_, report, _) = desk.audit(&[args, &["--json"]].concat());
            let report: Value = serde_json::from_str(&report).unwrap();
            let holds = report["ok"] == true && report["complete"] == true;
            assert_eq!(holds, code == 0, "{what}: {report}");
        }
        // What can be read is shown, and the rest is said.
        let (code, out, err) = desk.audit(&["show"]);
        assert_eq!(code, Some(0));
        let unread = out.lines().count() != lines.len();
        assert_eq!(err.contains("no records of this version"), unread, "{err}");
    }
}

#[test]
fn a_torn_last_line_is_said_and_closed_off() {
    let desk = Desk::new();
    let text = fs::read_to_string(&desk.log).unwrap();
    fs::write(&desk.log, &text[..text.len() - 40]).unwrap();
    let (code, out, err) = desk.audit(&["show", "--json"]);
    assert_eq!((code, seqs(&out)), (Some(0), vec![1, 2, 3, 4, 5, 6]));
    assert!(err.contains("1 lines are no records"), "{err}");
    // A key that has moved on proves that a record is gone.
    let (code, out, _) = desk.audit(&["verify"]);
    assert_eq!(code, Some(1), "{out}");
}

#[test]
fn bad_input_is_named() {
    let desk = Desk::new();
    let gone = path_text(&desk.stage.home.join("gone/audit.jsonl"));
    let commands: [&[&str]; 8] = [
        &["show"],
        &["verify"],
        &["stats"],
        &["export", "--format", "otel"],
        &["replay"],
        &["key"],
        &["key", "renew"],
        &["checkpoint"],
    ];
    for command in commands {
        let args = [command, &["--file", &gone]].concat();
        desk.fails(&args, 1, "there is no such audit log");
        assert!(
            !desk.stage.home.join("gone").exists(),
            "{command:?} made it"
        );
    }
    let folder = path_text(&desk.stage.project);
    desk.fails(&["show", "--file", &folder], 1, "not a regular file");
    let rubbish = desk.file("rubbish", "no key\n");
    let empty = desk.file("empty", "");
    let rows: [(&[&str], i32, &str); 14] = [
        (&["verify", "--key", &gone], 2, "gone"),
        (&["verify", "--key", &rubbish], 2, "rubbish"),
        (&["verify", "--key", &empty], 2, "it is empty"),
        (&["verify", "--key", &folder], 2, "project"),
        (&["verify", "--checkpoints", &rubbish], 2, "line 1"),
        (&["verify", "--checkpoints", &empty], 2, "no checkpoint"),
        (&["verify", "--head", "x"], 2, "--head"),
        (&["verify", "--signer", "x"], 2, "--signer"),
        (&["show", "--since", "yesterday"], 2, "3d"),
        (&["show", "--outcome", "maybe"], 2, "allow"),
        (&["show", "--full", "--json"], 2, "--full"),
        (&["show", "--last", "-1"], 2, "-1"),
        (&["replay", "--policies", &gone], 1, "no policy folder"),
        (&["key", "lose"], 2, "lose"),
    ];
    for (args, code, want) in rows {
        desk.fails(args, code, want);
    }
    // Nothing recorded yet is not the same as a mistyped name.
    let stage = Stage::new();
    for command in [
        &["audit", "show"][..],
        &["audit", "verify"],
        &["audit", "stats"],
    ] {
        let (code, said) = stage.says(command);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("nothing is on record yet"), "{said}");
    }
    let (code, said) = stage.says(&["audit", "key"]);
    assert!(code == Some(0) && said.contains("none yet"), "{said}");
}

#[test]
fn a_key_that_cannot_be_read_is_said() {
    let desk = Desk::new();
    let key = desk.log.with_extension("jsonl.start");
    fs::remove_file(&key).unwrap();
    fs::create_dir(&key).unwrap();
    desk.fails(&["verify"], 1, "cannot read the keys of the audit log");
    desk.fails(&["key"], 1, "cannot read the keys of the audit log");
}
