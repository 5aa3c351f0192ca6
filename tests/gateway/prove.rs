//! `creance policy prove` and `diff --prove`, as a person runs them.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::real::need;
use crate::stage::Stage;

fn cvc5() -> &'static Result<(), String> {
    static FOUND: std::sync::OnceLock<Result<(), String>> = std::sync::OnceLock::new();
    FOUND.get_or_init(|| {
        let output = Command::new("cvc5").arg("--version").output();
        output.map(drop).map_err(|why| format!("cvc5: {why}"))
    })
}

const PLUGINS: &str = "@id(\"plugins\") @reason(\"Any plugin.\")\npermit (principal, action == Action::\"plugin.load\", resource);\n";

/// Proved, refuted with a test that is kept, proved again once it is mended.
#[test]
fn a_store_is_proved() {
    if need(cvc5(), "a_store_is_proved").is_none() {
        return;
    }
    let stage = Stage::new();
    let (code, said) = stage.says(&["policy", "prove"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("proved   guard-rails"), "{said}");
    assert!(said.contains(" 0 refuted, 0 unknown"), "{said}");

    stage.policy(PLUGINS);
    let found = stage.home.join(".config/creance/policies/tests/found.json");
    std::fs::create_dir_all(found.parent().unwrap()).unwrap();
    let save = found.to_str().unwrap();
    let (code, said) = stage.says(&["policy", "prove", "--save", save]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("REFUTED  invariant/plugins"), "{said}");
    assert!(
        said.contains("by user/test/plugins; instead: ask:always"),
        "{said}"
    );
    let tests: Value = serde_json::from_str(&std::fs::read_to_string(&found).unwrap()).unwrap();
    assert_eq!(
        tests[0]["do"],
        serde_json::json!({ "action": "plugin.load" })
    );
    // What was found is a test, and it fails until that is mended.
    let (code, said) = stage.says(&["policy", "test"]);
    assert_eq!(
        (code, said.contains("0 passed, 1 failed")),
        (Some(1), true),
        "{said}"
    );
    stage.policy(&PLUGINS.replace("resource);", "resource) when { context.approved };"));
    let (code, said) = stage.says(&["policy", "test"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, report) = stage.json(&["policy", "prove", "--json"]);
    assert_eq!(code, Some(0), "{report}");
    let claims = report["claims"].as_array().unwrap();
    assert!(
        claims.len() > 10 && claims.iter().all(|claim| claim["result"] == "proved"),
        "{report}"
    );
    // A file that is there is not written over.
    let (code, said) = stage.says(&["policy", "prove", "--save", save]);
    assert_eq!(
        (code, said.contains("there already")),
        (Some(2), true),
        "{said}"
    );
}

/// Two folders, one of which allows more: said both ways round, and by recorded decisions.
#[test]
fn two_folders_are_compared() {
    if need(cvc5(), "two_folders_are_compared").is_none() {
        return;
    }
    let stage = Stage::new();
    stage.write("home/project/a/p.cedar", "");
    stage.write("home/project/b/p.cedar", PLUGINS);
    let (code, said) = stage.says(&["policy", "diff", "a", "b", "--prove"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("REFUTED  allows-no-more"), "{said}");
    assert!(said.contains("proved   allows-no-less"), "{said}");
    assert!(
        said.contains("\"do\":{\"action\":\"plugin.load\"}"),
        "{said}"
    );
    let (code, report) = stage.json(&["policy", "diff", "a", "a", "--prove", "--json"]);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(
        report["claims"].as_array().map(Vec::len),
        Some(2),
        "{report}"
    );
    let (code, said) = stage.says(&["policy", "diff", "a", "b", "--save", "x.json"]);
    assert_eq!(code, Some(2), "{said}");
}

/// What is on record, decided again under both.
#[test]
fn recorded_decisions_are_compared() {
    let stage = Stage::new();
    stage.write("home/project/a/p.cedar", "");
    stage.write(
        "home/project/b/p.cedar",
        "@id(\"none\") @reason(\"Nothing runs.\")\nforbid (principal, action == Action::\"exec.run\", resource);\n",
    );
    let (_, said) = stage.says(&["run", "--", "/bin/true"]);
    let log = stage.home.join(".local/state/creance/audit.jsonl");
    assert!(log.exists(), "{said}");
    let log = log.to_str().unwrap();
    let (code, said) = stage.says(&["policy", "diff", "a", "b", "--audit", log]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("-> deny: ") && said.contains("because of user/p/none"),
        "{said}"
    );
    let (code, said) = stage.says(&["policy", "diff", "a", "a", "--audit", log]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(" 0 decided otherwise"), "{said}");
    let (code, said) = stage.says(&["policy", "diff", "a", "a", "--audit", "no-such-log"]);
    assert_eq!(code, Some(1), "{said}");
}

/// Without a solver nothing is proved, and the way to one is said.
#[test]
fn without_a_solver() {
    let stage = Stage::new();
    let mut command = stage.creance(&["policy", "prove"]);
    let output = command.env("PATH", "/nowhere").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("apt install cvc5"), "{said}");
    let (code, said) = stage.says(&["policy", "prove", "--solver", "/bin/true"]);
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("/bin/true is no solver"), "{said}");
}

/// An interrupt ends the command and the solver with it.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_solver() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = Stage::new();
    let (solver, pid) = (stage.home.join("solver"), stage.home.join("pid"));
    let script = format!("#!/bin/sh\necho $$ > {}\nexec sleep 600\n", pid.display());
    std::fs::write(&solver, script).unwrap();
    std::fs::set_permissions(&solver, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = stage.creance(&["policy", "prove", "--solver", solver.to_str().unwrap()]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let limit = Instant::now() + Duration::from_secs(60);
    let solver: i32 = loop {
        let text = std::fs::read_to_string(&pid).unwrap_or_default();
        if let Ok(pid) = text.trim().parse() {
            break pid;
        }
        assert!(Instant::now() < limit, "the solver was not started");
        std::thread::sleep(Duration::from_millis(10));
    };
    let process = |pid| rustix::process::Pid::from_raw(pid).unwrap();
    let own = process(i32::try_from(child.id()).unwrap());
    rustix::process::kill_process(own, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    while rustix::process::test_kill_process(process(solver)).is_ok() {
        assert!(Instant::now() < limit, "the solver lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}
