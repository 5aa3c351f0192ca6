//! Each step of the set-up fails by itself: a filter that the helper inherits lets the kernel refuse
//! the one call that the step needs. The step must be named and the program never run.
#![expect(
    unsafe_code,
    reason = "entering namespaces to mask what a set-up needs"
)]

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::world::{World, backends, run};

/// A system call, an argument that tells the one call from others, and what it must be.
type Refused = (libc::c_long, Option<(u8, Test)>);

#[derive(Clone, Copy)]
enum Test {
    Is(u64),
    IsNot(u64),
}

const NS: &[&str] = &["linux-ns"];
const NAMESPACES: &[&str] = &["linux-l3", "linux-ns", "linux-ns-noproc"];
const BOTH: &[&str] = &["linux-ns", "linux-landlock"];
const LANDLOCK: &[&str] = &["linux-landlock"];
const EACH: &[&str] = &["linux-l3", "linux-ns", "linux-ns-noproc", "linux-landlock"];

/// Name of the row, what is refused, in which backends, and the step that must be named.
const STEPS: &[(&str, Refused, &[&str], &str)] = &[
    (
        "close-range",
        (libc::SYS_close_range, Some((2, Test::Is(0)))),
        EACH,
        "helper: descriptors",
    ),
    (
        "new-user",
        (
            libc::SYS_unshare,
            Some((0, Test::Is(libc::CLONE_NEWUSER as u64))),
        ),
        NAMESPACES,
        "user-namespace: ",
    ),
    (
        "new-cgroup",
        (
            libc::SYS_unshare,
            Some((0, Test::Is(libc::CLONE_NEWCGROUP as u64))),
        ),
        NAMESPACES,
        "namespaces: cgroup",
    ),
    (
        "lo-up",
        (libc::SYS_ioctl, Some((1, Test::Is(libc::SIOCSIFFLAGS)))),
        NAMESPACES,
        "loopback: ",
    ),
    (
        "death-signal",
        (
            libc::SYS_prctl,
            Some((0, Test::Is(libc::PR_SET_PDEATHSIG as u64))),
        ),
        NS,
        "init: death signal",
    ),
    (
        "death-signal",
        (
            libc::SYS_prctl,
            Some((0, Test::Is(libc::PR_SET_PDEATHSIG as u64))),
        ),
        LANDLOCK,
        "session: death signal",
    ),
    (
        "dumpable",
        (
            libc::SYS_prctl,
            Some((0, Test::Is(libc::PR_SET_DUMPABLE as u64))),
        ),
        NS,
        "init: dumpable",
    ),
    (
        "subreaper",
        (
            libc::SYS_prctl,
            Some((0, Test::Is(libc::PR_SET_CHILD_SUBREAPER as u64))),
        ),
        LANDLOCK,
        "keeper: subreaper",
    ),
    (
        "new-mounts",
        (libc::SYS_mount, None),
        NAMESPACES,
        "mounts: ",
    ),
    (
        "open-tree",
        (libc::SYS_open_tree, None),
        NAMESPACES,
        "view: `/`",
    ),
    (
        "read-only",
        (libc::SYS_mount_setattr, None),
        NAMESPACES,
        "view: read-only",
    ),
    (
        "attach",
        (libc::SYS_move_mount, None),
        NAMESPACES,
        "view: `/`",
    ),
    ("tmpfs", (libc::SYS_fsopen, None), NAMESPACES, "view: tmpfs"),
    (
        "devpts",
        (libc::SYS_fsmount, Some((2, Test::Is(NO_EXEC)))),
        NAMESPACES,
        "devices: /dev/pts",
    ),
    ("pivot", (libc::SYS_pivot_root, None), NAMESPACES, "pivot: "),
    ("detach", (libc::SYS_umount2, None), NAMESPACES, "pivot: "),
    ("session", (libc::SYS_setsid, None), BOTH, "session: setsid"),
    (
        "limits",
        (libc::SYS_prlimit64, Some((2, Test::IsNot(0)))),
        BOTH,
        "limits: core",
    ),
    (
        "no-new-privs",
        (
            libc::SYS_prctl,
            Some((0, Test::Is(libc::PR_SET_NO_NEW_PRIVS as u64))),
        ),
        BOTH,
        "privileges: no new privileges",
    ),
    (
        "capset",
        (libc::SYS_capset, None),
        BOTH,
        "privileges: capabilities",
    ),
    (
        "landlock",
        (libc::SYS_landlock_restrict_self, None),
        BOTH,
        "landlock: ",
    ),
    (
        "at-exec",
        (
            libc::SYS_close_range,
            Some((2, Test::Is(libc::CLOSE_RANGE_CLOEXEC as u64))),
        ),
        BOTH,
        "descriptors: ",
    ),
    ("seccomp", (libc::SYS_seccomp, None), BOTH, "seccomp: "),
    // Nothing is refused.
    ("nothing", (libc::SYS_acct, None), EACH, "ran"),
];

/// Flags of the two mounts without programs; that of `/dev/pts` comes first.
const NO_EXEC: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC;

pub(crate) fn run_all() {
    let works = backends();
    for (row, (name, _, backends, want)) in STEPS.iter().enumerate() {
        for backend in backends
            .iter()
            .filter(|name| works.iter().any(|known| known == *name))
        {
            let got = in_process(&["refuse", &row.to_string(), backend]);
            check((name, backend), &got, want);
        }
    }
    masked_proc(&works);
}

/// `/proc` with a part covered, as in containers, cannot be mounted anew: the step is named, and the
/// backend for such machines works.
fn masked_proc(works: &[String]) {
    for (backend, want) in [("linux-ns", "proc: mount"), ("linux-ns-noproc", "ran")] {
        if works.iter().any(|known| known == backend) {
            let got = in_process(&["mask", backend]);
            check(("masked", backend), &got, want);
        }
    }
}

fn check(row: (&str, &str), got: &str, want: &str) {
    if let Some(why) = got.strip_prefix("skipped ") {
        println!("skipped {row:?}: {}", why.trim());
        return;
    }
    let ran = got.lines().any(|line| line == "ran");
    assert!(
        got.contains(want) && ran == (want == "ran"),
        "{row:?}: `{got}`, want `{want}`"
    );
    assert!(!got.contains("left"), "{row:?}: a placeholder was left");
}

fn in_process(args: &[&str]) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .arg("refusal")
        .args(args)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The two ways above, in a process of their own.
pub(crate) fn main(args: &[String]) {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["refuse", row, backend] => {
            let (_, refused, _, _) = &STEPS[row.parse::<usize>().unwrap()];
            let world = World::new();
            refuse(refused);
            start(backend, &world);
        }
        ["mask", backend] => {
            if let Err(error) = mask() {
                println!("skipped {error}");
                return;
            }
            start(backend, &World::new());
        }
        other => panic!("{other:?}"),
    }
}

fn start(backend: &str, world: &World) {
    match run(backend, &world.shell("echo ran"), &world.grant()) {
        Ok(out) => println!("{}{}", out.out, out.err),
        Err(error) => println!("{error}"),
    }
    if world.project.join(".creance").exists() {
        println!("left");
    }
}

fn refuse((call, test): &Refused) {
    let rule = test.map(|(argument, test)| {
        let (operator, value) = match test {
            Test::Is(value) => (SeccompCmpOp::Eq, value),
            Test::IsNot(value) => (SeccompCmpOp::Ne, value),
        };
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value);
        SeccompRule::new(vec![condition.unwrap()]).unwrap()
    });
    let filter = SeccompFilter::new(
        BTreeMap::from([(*call, rule.into_iter().collect())]),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        TargetArch::try_from(std::env::consts::ARCH).unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

/// Enters namespaces in which a part of `/proc` is covered.
fn mask() -> std::io::Result<()> {
    let (uid, gid) = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    let flags = rustix::thread::UnshareFlags::NEWUSER | rustix::thread::UnshareFlags::NEWNS;
    // SAFETY: this process has one thread, and no descriptor table is unshared.
    unsafe { rustix::thread::unshare_unsafe(flags) }?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1\n"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1\n"))?;
    rustix::mount::mount(
        "tmpfs",
        "/proc/irq",
        "tmpfs",
        rustix::mount::MountFlags::RDONLY,
        None,
    )?;
    Ok(())
}
