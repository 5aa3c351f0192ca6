//! A small test runner that `cargo test` and `cargo nextest` understand. As root, every test runs
//! a second time as uid 1000.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::{cases, escapes, ground, kill, limits, starts, steps, walls, way_out, world};

type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    ("escapes", escapes::run),
    ("unconfined", escapes::control),
    ("table", escapes::table),
    ("cases", cases::public),
    ("links", cases::links),
    ("git_works", cases::git_works),
    ("stamps", starts::stamps),
    ("placeholders", starts::placeholders),
    ("errors", walls::errors),
    ("kill", kill::run),
    ("shutdown", kill::shutdown),
    ("limits", limits::limits),
    ("limits_named", limits::named),
    ("limits_temp", limits::temp),
    ("limits_default", limits::defaults),
    ("steps", steps::run_all),
    ("submodules", starts::submodules),
    ("leftovers", starts::leftovers),
    ("second_wall", walls::second_wall),
    ("short_lives", walls::short_lives),
    ("faults", walls::faults),
    ("no_namespaces", walls::no_namespaces),
    ("false_tools", walls::false_tools),
    ("race", ground::race),
    ("second_names", ground::second_names),
    ("aliases", ground::aliases),
    ("whole_network", ground::whole_network),
    ("handover", way_out::handover),
    ("terminal", ground::terminal),
];

const USER: u32 = 1000;

const TEST_MAX: Duration = Duration::from_secs(400);
/// With a number of starts that somebody asked for.
const TEST_MAX_ASKED: Duration = Duration::from_secs(1200);

pub(crate) fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("victim") => return kill::victim(&args[2..]),
        Some("ground") => return ground::main(&args[2..]),
        Some("setup") => return walls::main(&args[2..]),
        Some("abandoned") => return starts::main(&args[2..]),
        Some("refusal") => return steps::main(&args[2..]),
        Some("glutton") => return limits::main(&args[2..]),
        _ => {}
    }
    if args.iter().any(|arg| arg == "--list") {
        if !args.iter().any(|arg| arg == "--ignored") {
            TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        }
        return;
    }
    let wanted: Vec<&str> = args[1..]
        .iter()
        .filter(|arg| !arg.starts_with('-'))
        .map(String::as_str)
        .collect();
    for (name, test) in TESTS {
        if !wanted.is_empty() && !wanted.iter().any(|want| name.contains(want)) {
            continue;
        }
        println!("test {name} (uid {})", world::uid());
        let _guard = watch(name);
        test();
        if world::uid() == 0 {
            as_user(name);
        }
    }
}

/// Ends a test that hangs.
fn watch(name: &'static str) -> Sender<()> {
    let (guard, ended) = channel::<()>();
    std::thread::spawn(move || {
        let most = match std::env::var_os(ground::LAUNCHES_VARIABLE) {
            Some(_) => TEST_MAX_ASKED,
            None => TEST_MAX,
        };
        if ended.recv_timeout(most) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{name} hangs");
            std::process::abort();
        }
    });
    guard
}

fn as_user(name: &str) {
    let program = std::env::current_exe().unwrap();
    let status = Command::new(&program)
        .arg(name)
        .env_remove("TMPDIR")
        .uid(USER)
        .gid(USER)
        .status();
    match status {
        Err(error) => println!("skipped as uid {USER}: {}: {error}", program.display()),
        Ok(status) => assert!(status.success(), "{name} failed as uid {USER}"),
    }
}
