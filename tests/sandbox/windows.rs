//! What a job and a token without rights hold on Windows.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use creance::{Exit, Grant, Launch, Limits, internal};

const BACKEND: &str = "windows-job";

fn run(script: &str, limits: Limits) -> (String, Exit) {
    let root = std::env::var("SystemRoot").unwrap();
    let mut grant = Grant {
        limits,
        ..Grant::default()
    };
    grant.env.0.insert("SystemRoot".into(), root.clone());
    grant
        .env
        .0
        .insert("PATH".into(), format!("{root}\\System32"));
    let launch = Launch {
        program: PathBuf::from(&root).join("System32\\cmd.exe"),
        name: "cmd".into(),
        args: vec!["/d".into(), "/c".into(), script.into()],
        cwd: PathBuf::from(&root),
        stamps: Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut running = internal::start(BACKEND, &launch, &grant).await.unwrap();
        let (out, err, exit) = running.finish(b"").await;
        (out + &err, exit)
    })
}

pub(crate) fn main() {
    let offered = creance::examine().backends;
    let works = offered
        .iter()
        .any(|b| b.name == BACKEND && b.failure.is_none());
    assert!(works, "{offered:?}");
    let (said, exit) = run("echo inside& exit 7", Limits::default());
    assert_eq!((said.trim(), exit.code), ("inside", Some(7)));
    // No privilege is left but to pass folders.
    let (said, _) = run("whoami /priv", Limits::default());
    assert!(!said.contains("SeDebugPrivilege"), "{said}");
    assert!(!said.contains("SeShutdownPrivilege"), "{said}");
    let (said, _) = run("set", Limits::default());
    assert!(!said.contains("USERPROFILE"), "{said}");
    // What is left behind ends with the program: its output, which it holds, ends too.
    let begun = Instant::now();
    run("start /b ping -n 600 127.0.0.1", Limits::default());
    assert!(begun.elapsed() < Duration::from_secs(60), "it lives on");
    // The shell itself is one process, so it can start none.
    let one = Limits {
        processes: Some(1),
        ..Limits::default()
    };
    let (said, exit) = run("whoami", one);
    assert!(!exit.success(), "{said}");
    println!("{BACKEND}: all held");
}
