//! What a sandbox may use is limited, and the limit that was reached is said.
#![expect(unsafe_code, reason = "forks are raw system calls")]

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use creance::{Limit, Limits};

use crate::world::{Output, World, backends, run};

/// A fork bomb, a big file and much memory stop at their limits.
pub(crate) fn limits() {
    for backend in backends() {
        let world = World::new();
        let mut grant = world.grant();
        grant.limits.processes = Some(310);
        grant.limits.file_bytes = Some(1 << 20);
        grant.limits.memory_bytes = Some(256 << 20);
        let script = "dd if=/dev/zero of=big bs=65536 count=64 2>/dev/null; stat -c %s big
            (dd if=/dev/zero of=/dev/null bs=512M count=1 2>/dev/null && echo much) || echo little
            echo done";
        let out = run(&backend, &world.shell(script), &grant).unwrap();
        assert_eq!(out.out, "1048576\nlittle\ndone\n", "{backend}: {}", out.err);
        if backend == "linux-landlock" || (backend == "linux-ns-noproc" && crate::world::uid() == 0)
        {
            println!("skipped the fork bomb with {backend}: it reports limits weakened");
            continue;
        }
        let bomb =
            "n=0; while [ $n -lt 1000 ]; do sleep 20 & n=$((n+1)); done 2>/dev/null; echo all";
        let out = run(&backend, &world.shell(bomb), &grant).unwrap();
        assert_ne!(out.out, "all\n", "{backend}: 1000 processes were started");
    }
}

/// What the glutton does, its limits, and how it must end.
type Case = (
    &'static [&'static str],
    &'static [(Limit, u64)],
    &'static str,
);

const MIB: u64 = 1 << 20;

const CASES: &[Case] = &[
    // Each of four stays below; all together do not.
    (
        &["eat", "100", "4"],
        &[(Limit::Memory, 200 * MIB)],
        "was killed by its memory limit of 200 MiB",
    ),
    // What is shared after a fork is there once.
    (
        &["share", "120", "4"],
        &[(Limit::Memory, 200 * MIB)],
        "exited with code 0",
    ),
    (
        &["spin", "1"],
        &[(Limit::Cpu, 1)],
        "was killed by its CPU time limit of 1 s",
    ),
    (
        &["spin", "4"],
        &[(Limit::Cpu, 2)],
        "was killed by its CPU time limit of 2 s",
    ),
    (
        &["sleep"],
        &[(Limit::Time, 1)],
        "was killed by its time limit of 1 s",
    ),
    (
        &["deaf"],
        &[(Limit::Time, 1)],
        "was killed by its time limit of 1 s",
    ),
    (
        &["write", "big"],
        &[(Limit::FileSize, MIB)],
        "was killed by its file size limit of 1 MiB",
    ),
    (
        &["open", "100"],
        &[(Limit::OpenFiles, 64)],
        "exited with code 24",
    ),
    (
        &["open", "100"],
        &[(Limit::OpenFiles, 200)],
        "exited with code 0",
    ),
];

/// Each limit by itself, in each backend.
pub(crate) fn named() {
    for backend in backends() {
        std::thread::scope(|scope| {
            for case in CASES {
                let backend = &backend;
                scope.spawn(move || ends_at_its_limit(backend, case));
            }
        });
    }
}

fn ends_at_its_limit(backend: &str, (args, limits, want): &Case) {
    let begun = Instant::now();
    let out = glutton(backend, args, limits);
    assert_eq!(
        out.exit.to_string(),
        *want,
        "{backend} {args:?}: {}",
        out.err
    );
    // The machine may be slow; a program that nothing ends takes longer.
    assert!(begun.elapsed() < FOREVER, "{backend} {args:?}");
}

const FOREVER: Duration = Duration::from_secs(60);

fn glutton(backend: &str, args: &[&str], limits: &[(Limit, u64)]) -> Output {
    let world = World::new();
    let mut grant = world.grant();
    for (limit, value) in limits {
        grant.limits.set(*limit, *value);
    }
    let mut launch = world.shell("");
    launch.program = std::env::current_exe().unwrap();
    launch.args = std::iter::once(&"glutton")
        .chain(args)
        .map(|arg| (*arg).to_owned())
        .collect();
    run(backend, &launch, &grant).unwrap()
}

/// A temporary folder with a limit lies in memory and is full in the end; without a mount namespace
/// it is said that there is none.
pub(crate) fn temp() {
    for backend in backends() {
        let world = World::new();
        let mut grant = world.grant();
        grant.limits.set(Limit::Temp, 4 * MIB);
        let script = "dd if=/dev/zero of=$TMPDIR/big bs=65536 count=160 2>/dev/null; \
            stat -c %s $TMPDIR/big; echo more > $TMPDIR/more || echo full";
        let out = run(&backend, &world.shell(script), &grant).unwrap();
        let limits = out.confinement.level(creance::Guarantee::Limits);
        if backend == "linux-landlock" {
            assert_eq!((out.out.as_str(), limits), ("10485760\n", "weakened"));
            continue;
        }
        assert_eq!(out.out, "4194304\nfull\n", "{backend}: {}", out.err);
        let kept = std::fs::read_dir(&world.temp).unwrap().count();
        assert_eq!(kept, 0, "{backend}: it was written to the disk");
    }
}

/// Without a word about memory, a whole tree may have half of the machine's.
pub(crate) fn defaults() {
    assert_eq!(Limits::default().get(Limit::Temp), None);
    for backend in backends() {
        let world = World::new();
        let out = run(
            &backend,
            &world.shell("ulimit -d; cat /proc/self/oom_score_adj"),
            &world.grant(),
        );
        let out = out.unwrap().out;
        assert_eq!(out, "4194304\n300\n", "{backend}");
    }
}

/// Runs inside.
pub(crate) fn main(args: &[String]) {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["eat", mib, processes] => {
            split(processes);
            // Held, not given back at once: without a cgroup, memory is looked at now and then.
            let eaten = eat(mib);
            forever();
            drop(eaten);
        }
        ["share", mib, processes] => {
            let eaten = eat(mib);
            split(processes);
            std::thread::sleep(Duration::from_secs(2));
            assert_eq!(eaten.last(), Some(&1));
        }
        ["spin", processes] => {
            split(processes);
            loop {
                std::hint::spin_loop();
            }
        }
        ["deaf"] => {
            // SAFETY: ignores a signal.
            unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
            forever();
        }
        ["sleep"] => forever(),
        ["write", file] => {
            // SAFETY: the Rust runtime leaves this signal as it is; a shell may not.
            unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) };
            File::create(file)
                .unwrap()
                .write_all(&vec![0; 2 << 20])
                .unwrap();
        }
        ["open", count] => {
            let count: usize = count.parse().unwrap();
            let opened: Result<Vec<File>, _> =
                (0..count).map(|_| File::open("/dev/null")).collect();
            let code = opened.err().and_then(|error| error.raw_os_error());
            std::process::exit(code.unwrap_or(0));
        }
        other => panic!("{other:?}"),
    }
}

/// Becomes so many processes.
fn split(processes: &str) {
    for _ in 1..processes.parse::<u32>().unwrap() {
        // SAFETY: this program has one thread.
        if unsafe { libc::fork() } == 0 {
            return;
        }
    }
}

fn eat(mib: &str) -> Vec<u8> {
    vec![1; mib.parse::<usize>().unwrap() << 20]
}

fn forever() {
    std::thread::sleep(2 * FOREVER);
}
