//! `creance audit …` as people and scripts use it: records shown, followed, exported, counted and
//! decided again. The log itself is in `audit_checks`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use creance::{
    Answer, AuditLog, AuditSink as _, Because, Digest, Event, EventKind, Layer,
    Outcome as EffectOutcome, OutcomeKind, Role,
};
use serde_json::{Value, json};

use crate::hostile::tame;
use crate::real::path_text;
use crate::stage::Stage;

/// 2023-11-14T22:13:20Z, and a day later.
const FIRST: i64 = 1_700_000_000_000;
const SECOND: i64 = FIRST + 24 * 3600 * 1000;
/// How long a follower may take to show a record.
const LIMIT: Duration = Duration::from_secs(60);

/// A stage with a log.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) stage: Stage,
    pub(crate) log: PathBuf,
}

fn decision(of: (&str, &str, &str), outcome: OutcomeKind, by: (&str, Role, &str)) -> EventKind {
    let ((action, principal, resource), (policy, role, reason)) = (of, by);
    EventKind::Decision {
        action: action.to_owned(),
        principal: principal.to_owned(),
        resource: resource.to_owned(),
        facts: json!([{ "action": action, "facts": { "note": "kept" } }]).into(),
        outcome,
        because: vec![Because {
            policy: policy.to_owned(),
            layer: Layer::Org,
            role,
            reason: reason.to_owned(),
        }],
        answer: Answer::None,
        channel: None,
        asked: role == Role::PermitsOnceAnswered,
        store: Digest::of("store"),
        judged_us: 40,
    }
}

fn outcome(of: u64, result: &str) -> EventKind {
    EventKind::Outcome(EffectOutcome {
        of,
        ok: result == "done",
        result: result.to_owned(),
        details: Value::Null,
        took_ms: 3,
    })
}

fn note(name: &str, details: Value) -> EventKind {
    let name = name.to_owned();
    EventKind::Note { name, details }
}

impl Desk {
    /// A log of seven records, of two runs on two days.
    pub(crate) fn new() -> Self {
        let stage = Stage::new();
        let log = stage.home.join(".local/state/creance/audit.jsonl");
        let desk = Self { stage, log };
        let read = ("tool.call", "agent/claude-code", "user/files/read_file");
        let fetch = ("tool.call", "agent/codex", "user/web/fetch");
        let git = ("exec.run", "agent/claude-code", "/usr/bin/git");
        let no = ("org/web/no", Role::Forbids, "Nothing\nleaves\u{1b}[2J.");
        let asked = ("org/git/ask", Role::PermitsOnceAnswered, "Asked first.");
        desk.append(FIRST, "aaaa1111", note("run-start", Value::Null));
        let allow = decision(
            read,
            OutcomeKind::Allow,
            ("org/a/b", Role::Permits, "Read."),
        );
        desk.append(FIRST, "aaaa1111", allow);
        desk.append(FIRST, "aaaa1111", outcome(2, "done"));
        desk.append(SECOND, "bbbb2222", decision(fetch, OutcomeKind::Deny, no));
        desk.append(SECOND, "bbbb2222", decision(git, OutcomeKind::Allow, asked));
        desk.append(SECOND, "bbbb2222", outcome(5, "exited"));
        let details = json!({ "server": "user/files" });
        desk.append(SECOND, "bbbb2222", note("server-stopped", details));
        desk
    }

    fn append(&self, at_ms: i64, run: &str, kind: EventKind) {
        let run = run.to_owned();
        let log = AuditLog::file(&self.log).unwrap();
        log.append(&Event { at_ms, run, kind }).unwrap();
    }

    /// Exit code, standard output, standard error.
    #[track_caller]
    pub(crate) fn audit(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let args = [&["audit"][..], args].concat();
        let output = self.stage.creance(&args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        tame(&out);
        tame(&err);
        (output.status.code(), out, err)
    }

    /// A command that goes well: what it prints.
    #[track_caller]
    pub(crate) fn prints(&self, args: &[&str]) -> String {
        let (code, out, err) = self.audit(args);
        assert_eq!(code, Some(0), "{args:?}: {out}{err}");
        out
    }

    /// A command that does not: its exit code, and what it says.
    #[track_caller]
    pub(crate) fn fails(&self, args: &[&str], code: i32, want: &str) {
        let (got, out, err) = self.audit(args);
        let all = format!("{out}{err}");
        assert_eq!(got, Some(code), "{args:?}: {all}");
        assert!(all.contains(want), "{args:?} does not say `{want}`: {all}");
    }

    /// A file beside the log.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.stage.home.join(name);
        fs::write(&path, text).unwrap();
        path_text(&path)
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.log).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

#[track_caller]
pub(crate) fn seqs(text: &str) -> Vec<u64> {
    let record = |line| serde_json::from_str::<Value>(line).unwrap();
    let records = text.lines().map(record);
    records.map(|r| r["seq"].as_u64().unwrap()).collect()
}

#[test]
fn show_picks_records() {
    let desk = Desk::new();
    let rows: [(&[&str], &[u64]); 16] = [
        (&[], &[1, 2, 3, 4, 5, 6, 7]),
        (&["--last", "2"], &[6, 7]),
        (&["--last", "0"], &[]),
        (&["--since", "2023-11-15"], &[4, 5, 6, 7]),
        (&["--until", "2023-11-15T00:00:00Z"], &[1, 2, 3]),
        (&["--since", "1h"], &[]),
        (&["--action", "tool.call"], &[2, 3, 4]),
        (&["--action", "exec.*"], &[5, 6]),
        (&["--server", "user/files"], &[2, 3, 7]),
        (&["--server", "web"], &[4]),
        (&["--principal", "codex"], &[4]),
        (&["--principal", "agent/claude-code"], &[2, 3, 5, 6]),
        (&["--outcome", "deny"], &[4]),
        (&["--outcome", "allow", "--last", "1"], &[6]),
        (&["--run", "bbbb"], &[4, 5, 6, 7]),
        (&["--run", "aaaa", "--outcome", "deny"], &[]),
    ];
    for (args, want) in rows {
        let shown = desk.prints(&[&["show", "--json"][..], args].concat());
        assert_eq!(seqs(&shown), want, "{args:?}");
        let shown = desk.prints(&[&["show"][..], args].concat());
        assert_eq!(shown.lines().count(), want.len(), "{args:?}: {shown}");
        let full = desk.prints(&[&["show", "--full"][..], args].concat());
        let decisions = want.iter().filter(|seq| [2, 4, 5].contains(seq)).count();
        assert_eq!(full.matches("kept").count(), decisions, "{args:?}: {full}");
    }
}

/// A command that goes on until it is stopped, line by line.
struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    fn of(desk: &Desk, args: &[&str]) -> Self {
        let args = [&["audit"][..], args, &["--follow"]].concat();
        let mut command = desk.stage.creance(&args);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = stdout.lines().map_while(Result::ok);
            lines.into_iter().try_for_each(|line| send.send(line))
        });
        Self { child, lines }
    }

    #[track_caller]
    fn next(&self) -> String {
        self.lines.recv_timeout(LIMIT).unwrap()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn followers_show_what_is_added() {
    let desk = Desk::new();
    let all = Follower::of(&desk, &["show", "--json", "--last", "1"]);
    let denied = Follower::of(&desk, &["show", "--json", "--outcome", "deny"]);
    let human = Follower::of(&desk, &["show", "--last", "1"]);
    let csv = Follower::of(&desk, &["export", "--format", "csv", "--last", "1"]);
    assert_eq!(seqs(&all.next()), [7]);
    assert_eq!(seqs(&denied.next()), [4]);
    assert!(human.next().contains("server-stopped"));
    assert!(csv.next().starts_with("seq,"));
    assert!(csv.next().starts_with("7,"));
    // The outcome of a decision that stood there already goes with it.
    desk.append(SECOND, "bbbb2222", outcome(4, "cancelled"));
    desk.append(SECOND, "bbbb2222", note("run-stop", Value::Null));
    assert_eq!([seqs(&all.next()), seqs(&all.next())], [[8], [9]]);
    assert_eq!(seqs(&denied.next()), [8]);
    assert!(human.next().contains("cancelled"));
    assert!(csv.next().starts_with("8,"));
}

#[test]
fn exports_are_one_line_a_record() {
    let desk = Desk::new();
    for format in ["ocsf", "otel", "cloudevents"] {
        let text = desk.prints(&["export", "--format", format]);
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 7, "{format}");
        let denied = lines[3].to_string();
        for part in ["org/web/no", "user/web/fetch", "codex"] {
            assert!(denied.contains(part), "{format}: {part}: {denied}");
        }
        let one = desk.prints(&["export", "--format", format, "--outcome", "deny"]);
        assert_eq!(one.lines().count(), 1, "{format}");
    }
    let csv = desk.prints(&["export", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 8, "{csv}");
    let none = desk.prints(&["export", "--format", "csv", "--last", "0"]);
    assert!(
        none.starts_with("seq,") && none.lines().count() == 1,
        "{none}"
    );
    // Nothing is written about a log that is not there, not even a head.
    let (code, out, err) = desk.audit(&["export", "--format", "csv", "--file", "/gone"]);
    assert_eq!((code, &*out), (Some(1), ""), "{err}");
    desk.fails(&["export", "--format", "xml"], 2, "xml");
    desk.fails(&["export"], 2, "--format");
}

#[test]
fn stats_count() {
    let desk = Desk::new();
    let text = desk.prints(&["stats", "--json"]);
    let stats: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(stats["records"], 7);
    let counts = json!({ "allowed": 2, "denied": 1, "asked": 1 });
    assert_eq!(stats["decisions"], counts, "{stats}");
    let human = desk.prints(&["stats"]);
    for want in [
        "7 records: 3 decisions, 2 allowed, 1 denied",
        "org/web/no",
        "codex",
    ] {
        assert!(human.contains(want), "{want}: {human}");
    }
    assert!(
        human.lines().all(|line| line.chars().count() <= 80),
        "{human}"
    );
    let top = desk.prints(&["stats", "--top", "1"]);
    assert!(top.contains("more (--top)"), "{top}");
    let none = desk.prints(&["stats", "--since", "1h"]);
    assert!(none.starts_with("0 records"), "{none}");
}

#[test]
fn replay_decides_again() {
    let stage = Stage::new();
    let run = |want| {
        let (code, said) = stage.says(&["run", "--", "/bin/true"]);
        assert_eq!(code, Some(want), "{said}");
    };
    let rule = |effect: &str| {
        format!("@id(\"r\") @reason(\"Decided anew.\") {effect} (principal, action, resource);")
    };
    stage.policy(&rule("permit"));
    run(0);
    stage.policy(&rule("forbid"));
    run(3);
    // (the policies, what is said, exit code with --fail-on-change)
    for (effect, want) in [
        ("permit", "2 decisions: 1 as they were, 1 would differ"),
        ("forbid", "2 decisions: 1 as they were, 1 would differ"),
    ] {
        stage.write("other/test.cedar", &rule(effect));
        let folder = path_text(&stage.home.with_file_name("other"));
        let args = ["audit", "replay", "--policies", &folder];
        let (code, said) = stage.says(&args);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(want) && said.contains("exec.run"), "{said}");
        let (code, _) = stage.says(&[&args[..], &["--fail-on-change"]].concat());
        assert_eq!(code, Some(1));
        let (_, report) = stage.json(&[&args[..], &["--json"]].concat());
        let changed = &report["changed"][0];
        let words = [&changed["then"], &changed["now"]];
        let turned = if effect == "permit" {
            ["deny", "allow"]
        } else {
            ["allow", "deny"]
        };
        assert_eq!(words, turned, "{report}");
    }
    let (code, said) = stage.says(&["audit", "replay", "--last", "2"]);
    assert_eq!(code, Some(0), "{said}");
}
