//! However a sandbox ends, nothing of its tree is left.
#![expect(unsafe_code, reason = "daemons are raw system calls")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use creance::{Launch, internal};

use crate::world::{World, backends, block_on};

/// How long a tree may take to die.
const DEADLINE: Duration = Duration::from_secs(3);

/// What is done to the sandbox while a daemon runs inside.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    TargetExits,
    Drop,
    Kill,
    HelperKilled,
    MainKilled,
    MainTerminated,
    MainPanics,
}

pub(crate) fn run() {
    for backend in backends() {
        for end in [End::TargetExits, End::Drop, End::Kill, End::HelperKilled] {
            ends_here(&backend, end);
        }
        for end in [End::MainKilled, End::MainTerminated, End::MainPanics] {
            ends_with_main(&backend, end);
        }
        println!("  {backend}: nothing is left, however it ends");
    }
}

/// Inside: a daemon that detaches from everything and counts in a file. Outside: a main to kill.
pub(crate) fn victim(args: &[String]) {
    match args {
        [role, file, stay] if role == "daemon" => daemon(Path::new(file), stay),
        [role, backend, how] if role == "main" => {
            let world = World::new();
            block_on(async {
                let mut running =
                    internal::start(backend, &daemon_launch(&world, "stay"), &world.grant())
                        .await
                        .unwrap();
                assert_eq!(running.line().await, "up");
                println!("{}", world.project.join("beat").display());
                assert_ne!(how, "panic", "on purpose");
                std::future::pending::<()>().await;
            });
        }
        other => panic!("{other:?}"),
    }
}

fn daemon(file: &Path, stay: &str) {
    // SAFETY: this program has one thread.
    if unsafe { libc::fork() } == 0 {
        let _ = rustix::process::setsid();
        // SAFETY: as above.
        if unsafe { libc::fork() } != 0 {
            std::process::exit(0);
        }
        for signal in [libc::SIGHUP, libc::SIGTERM] {
            // SAFETY: ignores a signal.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        for fd in 0..3 {
            // SAFETY: this process uses no streams any more.
            unsafe { libc::close(fd) };
        }
        for beat in 0_u64.. {
            if fs::write(file, beat.to_string()).is_err() {
                std::process::exit(0);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    while !file.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("up");
    if stay == "stay" {
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn daemon_launch(world: &World, stay: &str) -> Launch {
    Launch {
        program: std::env::current_exe().unwrap(),
        name: "victim".into(),
        args: [
            "victim",
            "daemon",
            world.project.join("beat").to_str().unwrap(),
            stay,
        ]
        .map(str::to_owned)
        .to_vec(),
        cwd: world.project.clone(),
        stamps: Vec::new(),
    }
}

fn ends_here(backend: &str, end: End) {
    let world = World::new();
    let stay = if end == End::TargetExits {
        "go"
    } else {
        "stay"
    };
    block_on(async {
        let mut running = internal::start(backend, &daemon_launch(&world, stay), &world.grant())
            .await
            .unwrap();
        assert_eq!(running.line().await, "up");
        match end {
            End::TargetExits => assert!(running.wait().await.success()),
            End::Kill => {
                running.kill();
                assert_eq!(running.wait().await.signal, Some(9));
            }
            End::HelperKilled => {
                let helper = rustix::process::Pid::from_raw(running.pid().cast_signed()).unwrap();
                rustix::process::kill_process(helper, rustix::process::Signal::KILL).unwrap();
                running.wait().await;
            }
            _ => drop(running),
        }
    });
    if backend == "linux-landlock" && end == End::HelperKilled {
        println!("skipped {end:?} with {backend}: it reports tree-kill weakened");
        stop_daemons(&world.project.join("beat"));
        return;
    }
    assert_silent(backend, end, &world.project.join("beat"));
}

/// Ends the daemon that a weak backend left behind: it stops when its folder is gone.
fn stop_daemons(file: &Path) {
    let _ = fs::remove_dir_all(file.parent().unwrap());
}

fn ends_with_main(backend: &str, end: End) {
    let how = if end == End::MainPanics {
        "panic"
    } else {
        "wait"
    };
    let mut main = Command::new(std::env::current_exe().unwrap())
        .args(["victim", "main", backend, how])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut file = String::new();
    BufReader::new(main.stdout.take().unwrap())
        .read_line(&mut file)
        .unwrap();
    let signal = match end {
        End::MainTerminated => Some(rustix::process::Signal::TERM),
        End::MainKilled => Some(rustix::process::Signal::KILL),
        _ => None,
    };
    if let Some(signal) = signal {
        rustix::process::kill_process(rustix::process::Pid::from_child(&main), signal).unwrap();
    }
    main.wait().unwrap();
    let file = Path::new(file.trim());
    assert_silent(backend, end, file);
    if signal.is_some() {
        // It could not remove its folder.
        let root = file.ancestors().nth(3).unwrap();
        assert!(root.starts_with(std::env::temp_dir()));
        fs::remove_dir_all(root).unwrap();
    }
}

/// The daemon's file stops changing. A daemon that was missed would beat every 10 ms.
fn assert_silent(backend: &str, end: End, file: &Path) {
    let started = Instant::now();
    let mut last = fs::read_to_string(file).ok();
    while started.elapsed() < DEADLINE {
        std::thread::sleep(Duration::from_millis(60));
        let now = fs::read_to_string(file).ok();
        if now == last {
            return;
        }
        last = now;
    }
    panic!("{backend}: the daemon lives after {end:?}");
}

/// A polite end reaches the program; a rude program is killed.
pub(crate) fn shutdown() {
    let cases = [
        ("echo up; cat; exit 9", "exited with code 9", 1),
        (
            "trap 'exit 7' TERM; echo up; while :; do read x || sleep 0.05; done",
            "exited with code 7",
            4,
        ),
        (
            "trap '' TERM; echo up; while :; do sleep 0.05; done",
            "was killed by SIGKILL",
            9,
        ),
        ("echo up; kill -SEGV $$", "was killed by SIGSEGV", 1),
    ];
    let backends = backends();
    std::thread::scope(|scope| {
        for backend in &backends {
            for (script, want, most) in cases {
                scope.spawn(move || ends_politely(backend, script, want, most));
            }
        }
    });
}

fn ends_politely(backend: &str, script: &str, want: &str, most_s: u64) {
    let world = World::new();
    block_on(async {
        let launch = world.shell(script);
        let mut running = internal::start(backend, &launch, &world.grant())
            .await
            .unwrap();
        assert_eq!(running.line().await, "up");
        let started = Instant::now();
        assert_eq!(running.shutdown().await.to_string(), want, "{backend}");
        let took = started.elapsed();
        assert!(took < Duration::from_secs(most_s), "{backend}: {took:?}");
    });
}
