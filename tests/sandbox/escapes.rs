//! Every attempt of the probe with its right answer per backend, and the host's own look afterwards.
#![expect(unsafe_code, reason = "a shared memory segment to attack")]

use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use creance::Launch;

use crate::world::{self, World, backends, snapshot, uid};

const D: &str = "denied";
const O: &str = "ok";
/// Open in this backend, and reported as weakened or absent.
const WEAK: &str = "weak";

/// Name, with namespaces, with Landlock alone.
const WANT: &[(&str, &str, &str)] = &[
    ("write-project", O, O),
    ("write-temp", O, O),
    ("write-tmp", O, D),
    ("write-outside", D, D),
    ("append-outside", D, D),
    ("truncate-outside", D, D),
    ("write-home", D, D),
    ("write-bashrc", D, D),
    ("write-etc", D, D),
    ("write-root", D, D),
    ("chmod-outside", D, WEAK),
    ("append-hook", D, WEAK),
    ("create-hook", D, WEAK),
    ("write-git-config", D, WEAK),
    ("rename-hooks", D, WEAK),
    ("rename-into-hooks", D, WEAK),
    ("replace-config", D, WEAK),
    ("create-absent-dir", D, WEAK),
    ("create-in-absent-dir", D, WEAK),
    ("create-absent-file", D, WEAK),
    ("rename-onto-absent", D, WEAK),
    ("unlink-placeholder", D, WEAK),
    ("rmdir-placeholder", D, WEAK),
    ("rename-placeholder", D, WEAK),
    ("symlink-out", D, D),
    ("hardlink-hook", D, WEAK),
    ("chmod-hook", D, WEAK),
    ("git-index", O, O),
    ("rename-across-pin", O, O),
    ("exec-project", O, O),
    ("dev-null", O, O),
    ("dev-shm", O, D),
    ("make-device", D, D),
    ("raw-disk", D, D),
    ("read-key", D, D),
    ("read-aws", D, D),
    ("read-notes", D, D),
    ("read-project", O, O),
    ("read-tool", O, O),
    ("read-tool-token", D, D),
    ("read-env-file", D, WEAK),
    ("rename-env-file", D, WEAK),
    ("link-env-file", D, WEAK),
    ("read-passwd", O, O),
    ("read-shadow", D, D),
    ("read-by-link", D, D),
    ("read-by-proc-root", D, D),
    ("read-by-proc-1", D, D),
    ("read-by-cwd", D, D),
    ("hardlink-key", D, D),
    ("write-hidden", D, D),
    ("write-binary", D, D),
    ("write-own-binary", D, D),
    ("env-own", D, D),
    ("env-others", D, D),
    ("see-host", D, WEAK),
    ("signal-host", D, D),
    ("ptrace", D, D),
    ("read-memory", D, D),
    ("kill-init", D, D),
    ("tcp-host", D, D),
    ("tcp-out", D, D),
    ("udp-host", "-", "-"),
    ("own-loopback", O, D),
    ("unix-socket", D, D),
    ("unix-in-project", D, D),
    ("unix-abstract", D, D),
    ("socketpair", O, O),
    ("socket-vsock", D, D),
    ("socket-alg", D, D),
    ("socket-packet", D, D),
    ("socket-unix", D, D),
    ("socket-inet-raw", D, D),
    ("unshare", D, D),
    ("mount", D, D),
    ("umount", D, D),
    ("remount", D, D),
    ("open-tree", D, D),
    ("open-tree-attr", D, D),
    ("fsopen", D, D),
    ("setns", D, D),
    ("pivot-root", D, D),
    ("chroot", D, D),
    ("bpf", D, D),
    ("perf", D, D),
    ("keyctl", D, D),
    ("userfaultfd", D, D),
    ("io-uring", D, D),
    ("pidfd-getfd", D, D),
    ("x32", D, D),
    ("clone-newuser", D, D),
    ("clone3", D, D),
    ("tiocsti", D, D),
    ("tiocsti-high-bit", D, D),
    ("shmat-host", D, WEAK),
    ("core-pattern", D, D),
    ("sysrq", D, D),
    ("sys-power", D, D),
    ("kcore", D, D),
    ("kmsg", D, D),
    ("cgroup", D, D),
    ("no-new-privileges", O, O),
    ("no-capabilities", O, O),
    ("seccomp", O, O),
    ("only-three-descriptors", O, O),
    ("rename-parent", D, WEAK),
    ("rename-project", D, WEAK),
    ("remove-project-git", D, WEAK),
];

pub(crate) fn run() {
    for backend in backends() {
        attack(&backend);
    }
}

fn attack(backend: &str) {
    let world = World::new();
    let targets = Targets::new(&world);
    let outside = snapshot(&world.outside);
    let hooks = snapshot(&world.project.join(".git/hooks"));
    let program = std::env::current_exe().unwrap();
    let at = |path: &std::path::Path| path.display().to_string();
    let mut args = vec!["probe".to_owned()];
    args.extend([&world.home, &world.project, &world.outside, &world.temp].map(|path| at(path)));
    args.extend(targets.args());
    let launch = Launch {
        program: program.clone(),
        name: "probe".into(),
        args,
        cwd: world.project.clone(),
        stamps: Vec::new(),
    };
    let output = world::run(backend, &launch, &world.grant()).unwrap();
    assert!(
        output.exit.success(),
        "{backend}: {}: {}{}",
        output.exit,
        output.out,
        output.err
    );
    compare(backend, &output.out);
    targets.assert_untouched();
    if backend != "linux-landlock" {
        assert_eq!(
            snapshot(&world.outside),
            outside,
            "{backend}: something was written outside"
        );
        assert_eq!(
            snapshot(&world.project.join(".git/hooks")),
            hooks,
            "{backend}: a hook changed"
        );
        for name in [".creance", ".mcp.json", ".git2"] {
            assert!(
                !world.project.join(name).exists(),
                "{backend}: {name} is there"
            );
        }
    }
}

fn compare(backend: &str, out: &str) {
    let got: BTreeMap<&str, (&str, &str)> = out
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, '\t');
            Some((fields.next()?, (fields.next()?, fields.next()?)))
        })
        .collect();
    let mut wrong = Vec::new();
    for (name, with_namespaces, with_landlock) in WANT {
        let mut want = if backend == "linux-landlock" {
            *with_landlock
        } else {
            *with_namespaces
        };
        if backend == "linux-ns-noproc" && matches!(*name, "see-host") {
            want = WEAK;
        }
        match got.get(name) {
            None => wrong.push(format!("{name}: no answer")),
            Some(_) if want == WEAK => {}
            Some((have, detail)) if *have != want => {
                wrong.push(format!("{name}: {have}, want {want} ({detail})"))
            }
            Some(_) => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "{backend} as uid {}:\n{}",
        uid(),
        wrong.join("\n")
    );
    assert_eq!(got.len(), WANT.len(), "{backend}: {:?}", got.keys());
    println!("  {backend}: {} attempts as expected", got.len());
}

/// Things of the host that must not be reached.
struct Targets {
    tcp: TcpListener,
    udp: UdpSocket,
    socket: UnixListener,
    in_project: UnixListener,
    hidden: UnixListener,
    name: String,
    path: String,
    shm: i32,
    canary: std::process::Child,
}

impl Targets {
    fn new(world: &World) -> Self {
        let name = format!("creance-test-{}", std::process::id());
        let path = world.outside.join("docker.sock");
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let canary = std::process::Command::new("/bin/sleep")
            .arg("60")
            .env("CANARY", "CANARY")
            .spawn();
        let targets = Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            socket: UnixListener::bind(&path).unwrap(),
            in_project: UnixListener::bind(world.project.join("s.sock")).unwrap(),
            hidden: UnixListener::bind_addr(&address).unwrap(),
            name,
            path: path.display().to_string(),
            // SAFETY: takes no pointers.
            shm: unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, 0o600) },
            canary: canary.unwrap(),
        };
        targets.tcp.set_nonblocking(true).unwrap();
        targets.udp.set_nonblocking(true).unwrap();
        for listener in [&targets.socket, &targets.in_project, &targets.hidden] {
            listener.set_nonblocking(true).unwrap();
        }
        targets
    }

    fn args(&self) -> [String; 6] {
        [
            self.tcp.local_addr().unwrap().port().to_string(),
            self.udp.local_addr().unwrap().port().to_string(),
            self.canary.id().to_string(),
            self.path.clone(),
            self.name.clone(),
            self.shm.to_string(),
        ]
    }

    fn assert_untouched(&self) {
        assert!(self.tcp.accept().is_err(), "a connection reached the host");
        assert!(
            self.udp.recv(&mut [0; 1]).is_err(),
            "a packet reached the host"
        );
        for listener in [&self.socket, &self.in_project, &self.hidden] {
            assert!(
                listener.accept().is_err(),
                "a socket of the host was reached"
            );
        }
    }
}

impl Drop for Targets {
    fn drop(&mut self) {
        let _ = self.canary.kill();
        let _ = self.canary.wait();
        // SAFETY: removes the segment made above.
        unsafe { libc::shmctl(self.shm, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}
