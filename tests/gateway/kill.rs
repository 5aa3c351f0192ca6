//! Whatever is killed while calls are in flight: nothing stays behind, no client hangs, the audit
//! log verifies, and there is no effect without its record.
#![cfg(target_os = "linux")]

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use creance::{AuditLog, EventKind, Filter, OutcomeKind};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::processes::{Process, below, of_stage, send, wait_gone};
use crate::raw::Raw;
use crate::real::path_text;
use crate::stage::Stage;

/// Calls in flight when something is killed.
const CALLS: usize = 32;
/// How long anything may stay behind.
const GONE: Duration = Duration::from_secs(1);
/// How long an answer or an orderly end may take.
const ANSWER: Duration = Duration::from_secs(10);

const TOOL: &str = "effects__leave";

const POLICY: &str = r#"
@id("all")
@reason("The test permits what can be permitted.")
permit (principal, action, resource);
"#;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Creance,
    Helper,
    Server,
}

/// A stage whose one server leaves a trace of every call.
struct Traces {
    stage: Stage,
}

impl Traces {
    fn new(policy: &str) -> Self {
        let stage = Stage::new();
        stage.write("home/tools/effects.sh", include_str!("effects.sh"));
        stage.write("home/project/.git/info/exclude", "effects.txt\n");
        let script = path_text(&stage.home.join("tools/effects.sh"));
        let effects = path_text(&stage.project.join("effects.txt"));
        stage.servers(&json!({ "effects": { "command": "/bin/sh", "args": [script, effects] } }));
        stage.policy(policy);
        Self { stage }
    }

    fn log(&self) -> PathBuf {
        self.stage.home.join(".local/state/creance/audit.jsonl")
    }

    /// A gateway whose server is ready.
    fn gateway(&self) -> Raw {
        let mut raw = Raw::start(self.stage.creance(&["serve"]));
        raw.initialize("2025-06-18");
        let begun = Instant::now();
        while !raw
            .request("tools/list", &json!({}))
            .to_string()
            .contains(TOOL)
        {
            assert!(begun.elapsed() < ANSWER * 3, "the server is not ready");
            std::thread::sleep(Duration::from_millis(20));
        }
        raw
    }

    fn effects(&self) -> Vec<String> {
        let text = fs::read_to_string(self.stage.project.join("effects.txt")).unwrap_or_default();
        // A line that a killed process left torn is no whole effect, but one that must be allowed too.
        text.lines().map(str::to_owned).collect()
    }

    /// Every effect has a record that allows it; returns how many there are.
    fn no_effect_without_its_record(&self) -> usize {
        let report = AuditLog::verify(self.log(), None).unwrap();
        assert!(report.ok, "{report}");
        let filter = Filter {
            outcome: Some(OutcomeKind::Allow),
            ..Filter::default()
        };
        let (records, unread) = AuditLog::pick(self.log(), &filter).unwrap();
        assert_eq!(unread, 0);
        let mut starts = 0;
        let mut allowed = HashSet::new();
        for record in records {
            if let EventKind::Decision { action, facts, .. } = &record.event.kind {
                starts += usize::from(action == "server.start");
                assert!(!facts.to_string().contains("[secret"), "{facts}");
                allowed.extend(
                    facts.value()[0]["facts"]["arguments"]["call"]
                        .as_str()
                        .map(str::to_owned),
                );
            }
        }
        let effects = self.effects();
        let (started, calls): (Vec<&String>, Vec<&String>) =
            effects.iter().partition(|effect| *effect == "start");
        assert!(
            started.len() <= starts,
            "{} starts, {starts} allowed",
            started.len()
        );
        for call in &calls {
            assert!(allowed.contains(*call), "{call} happened without a record");
        }
        assert_eq!(calls.iter().collect::<HashSet<_>>().len(), calls.len());
        calls.len()
    }

    /// The project is as it was.
    fn project_is_clean(&self) {
        let begun = Instant::now();
        loop {
            let left = self.git_status();
            if left.is_empty() {
                return;
            }
            assert!(begun.elapsed() < GONE * 2, "left in the project: {left}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn git_status(&self) -> String {
        let status = Command::new("git")
            .args(["status", "--porcelain", "--ignored=no"])
            .current_dir(&self.stage.project)
            .env("HOME", &self.stage.home)
            .output();
        // Git hides empty folders and what is in `.git`: placeholders are looked for by name.
        let seen = status.map_or_else(
            |_| String::new(),
            |output| String::from_utf8_lossy(&output.stdout).into_owned(),
        );
        seen + &self.entries()
    }

    /// What lies in the project and its `.git` beyond what the stage put there.
    fn entries(&self) -> String {
        let names = |folder: &str| -> Vec<String> {
            let found = fs::read_dir(self.stage.project.join(folder)).into_iter();
            let found = found.flatten().flatten();
            found
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect()
        };
        let known = [
            "docs",
            "notes.txt",
            ".git",
            "effects.txt",
            "HEAD",
            "config",
            "description",
            "hooks",
            "info",
            "objects",
            "refs",
            "index",
            "logs",
            "COMMIT_EDITMSG",
            "branches",
        ];
        let all = names("").into_iter().chain(names(".git"));
        let strange: Vec<String> = all.filter(|name| !known.contains(&name.as_str())).collect();
        strange.join(" ")
    }

    /// No private temporary folder and no socket of a question is left.
    fn nothing_is_left(&self) {
        for folder in [".cache/creance/temp", ".local/state/creance/ask"] {
            let left: Vec<_> = fs::read_dir(self.stage.home.join(folder))
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .collect();
            assert!(left.is_empty(), "{left:?}");
        }
        let root = self.stage.home.parent().unwrap();
        let left = of_stage(root);
        assert!(left.is_empty(), "{left:?}");
    }
}

fn call(raw: &mut Raw, name: &str) -> u64 {
    raw.ask(
        "tools/call",
        &json!({ "name": TOOL, "arguments": { "call": name } }),
    )
}

/// The victim among the processes below the gateway.
fn pick(victim: Victim, gateway: i32, tree: &[Process]) -> Process {
    let children = |parent: i32| tree.iter().filter(move |process| process.parent == parent);
    let helper = children(gateway)
        .find(|process| process.command.contains("creance-sandbox-helper"))
        .unwrap_or_else(|| panic!("no helper in {tree:?}"));
    // How many helpers stand between depends on the backend: the server is the first that is none.
    let is_helper = |pid: i32| {
        let found = tree.iter().find(|process| process.pid == pid);
        found.is_some_and(|process| process.command.contains("creance-sandbox-helper"))
    };
    let server = || {
        tree.iter()
            .find(|process| process.command.contains("effects.sh") && is_helper(process.parent))
            .unwrap_or_else(|| panic!("no server in {tree:?}"))
    };
    match victim {
        Victim::Creance => panic!("the gateway is no child of its own"),
        Victim::Helper => helper.clone(),
        Victim::Server => server().clone(),
    }
}

/// The server is started again. A call that still met the dying one fails, and at once.
fn starts_again(raw: &mut Raw, number: usize) {
    let begun = Instant::now();
    for again in 0.. {
        let id = call(raw, &format!("r{number}-again{again}"));
        let answer = raw.answer(id);
        if answer["result"]["content"][0]["text"] == "left" {
            return;
        }
        assert!(
            answer.to_string().contains("the server stopped"),
            "{answer}"
        );
        assert!(begun.elapsed() < ANSWER, "{answer}");
    }
}

/// One round; returns how long the last process took to be gone.
fn round(traces: &Traces, number: usize, victim: Victim, pause: Duration) -> Duration {
    let mut raw = traces.gateway();
    let gateway = raw.pid();
    let ids: Vec<u64> = (0..CALLS)
        .map(|at| call(&mut raw, &format!("r{number}-{at}")))
        .collect();
    std::thread::sleep(pause);
    let tree = below(gateway);
    match victim {
        Victim::Creance => send(gateway, Signal::KILL),
        _ => pick(victim, gateway, &tree).kill(),
    }
    let (took, left) = wait_gone(&tree, GONE);
    assert!(left.is_empty(), "round {number}: {victim:?}: {left:?} live");
    if victim == Victim::Creance {
        raw.hangs_up(ANSWER);
    } else {
        let begun = Instant::now();
        for id in ids {
            raw.answer(id);
        }
        assert!(begun.elapsed() < ANSWER, "round {number}: {victim:?}");
        starts_again(&mut raw, number);
        leave(raw);
    }
    traces.project_is_clean();
    traces.no_effect_without_its_record();
    took
}

/// The client closes its end: the gateway ends in order.
fn leave(mut raw: Raw) {
    raw.leave();
    assert!(raw.ends_within(ANSWER).success());
}

/// A sequence that looks random and is the same each time.
fn pauses() -> impl Iterator<Item = Duration> {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Duration::from_micros(state % 60_000)
    })
}

/// The full run is `CREANCE_KILL_ROUNDS=100` for each victim.
#[test]
fn whatever_is_killed_nothing_stays_and_nothing_is_unrecorded() {
    let rounds = std::env::var("CREANCE_KILL_ROUNDS").map_or(4, |text| text.parse().unwrap());
    let traces = Traces::new(POLICY);
    let mut pauses = pauses();
    for victim in [Victim::Creance, Victim::Helper, Victim::Server] {
        let mut worst = Duration::ZERO;
        for number in 0..rounds {
            let name = victim as usize * rounds + number;
            worst = worst.max(round(&traces, name, victim, pauses.next().unwrap()));
        }
        println!("{victim:?} killed {rounds} times: all gone after at most {worst:?}");
    }
    leave(traces.gateway());
    traces.nothing_is_left();
    println!(
        "{} effects, each with its record",
        traces.no_effect_without_its_record()
    );
}

/// The last note of the log, and whether any effect lacks its outcome.
fn last_note(traces: &Traces) -> (Value, usize) {
    let (records, _) = AuditLog::pick(traces.log(), &Filter::default()).unwrap();
    let last = records.last().map(|record| record.event.kind.clone());
    let note = match last {
        Some(EventKind::Note { name, details }) => json!([name, details["why"]]),
        other => json!(format!("{other:?}")),
    };
    let report = AuditLog::verify(traces.log(), None).unwrap();
    assert!(report.ok, "{report}");
    (note, report.no_outcome.len())
}

#[test]
fn an_orderly_end_is_on_record_and_leaves_nothing() {
    type End = fn(&mut Raw);
    let cases: [(&str, End); 4] = [
        ("the client is gone", Raw::leave),
        ("a signal", |raw| send(raw.pid(), Signal::TERM)),
        ("a signal", |raw| send(raw.pid(), Signal::INT)),
        ("a signal", |raw| send(raw.pid(), Signal::HUP)),
    ];
    for (why, end) in cases {
        let traces = Traces::new(POLICY);
        let mut raw = traces.gateway();
        let tree = below(raw.pid());
        for at in 0..CALLS {
            call(&mut raw, &format!("c{at}"));
        }
        end(&mut raw);
        assert!(raw.ends_within(ANSWER).success(), "{why}");
        let (_, left) = wait_gone(&tree, GONE);
        assert!(left.is_empty(), "{why}: {left:?} live");
        assert_eq!(last_note(&traces), (json!(["run-stop", why]), 0));
        traces.no_effect_without_its_record();
        traces.project_is_clean();
        traces.nothing_is_left();
    }
}
