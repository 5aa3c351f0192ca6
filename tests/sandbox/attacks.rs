//! Inside the sandbox: attacks on the network and the kernel.
#![expect(unsafe_code, reason = "attacks are raw system calls")]

use std::fs::{self, OpenOptions};
use std::io::Error;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::probe::{Try, call, say};

pub(crate) fn network(tcp: u16, udp: u16, socket: &str, project: &Path, abstract_name: &str) {
    let wait = Duration::from_secs(1);
    say(
        "tcp-host",
        TcpStream::connect_timeout(&([127, 0, 0, 1], tcp).into(), wait).map(drop),
    );
    say(
        "tcp-out",
        TcpStream::connect_timeout(&([192, 0, 2, 1], 80).into(), wait).map(drop),
    );
    // A send into the empty network is no error: the host counts what arrived.
    let sent = UdpSocket::bind("0.0.0.0:0").and_then(|s| s.send_to(b"x", ("127.0.0.1", udp)));
    println!("udp-host\t-\t{sent:?}");
    say(
        "own-loopback",
        TcpListener::bind("127.0.0.1:0")
            .and_then(|l| TcpStream::connect_timeout(&l.local_addr()?, wait).map(drop)),
    );
    say("unix-socket", UnixStream::connect(socket).map(drop));
    say(
        "unix-in-project",
        UnixStream::connect(project.join("s.sock")).map(drop),
    );
    say("unix-abstract", connect_abstract(abstract_name));
    say("socketpair", UnixStream::pair().map(drop));
    for (name, family, kind) in [
        ("vsock", libc::AF_VSOCK, libc::SOCK_STREAM),
        ("alg", libc::AF_ALG, libc::SOCK_SEQPACKET),
        ("packet", libc::AF_PACKET, libc::SOCK_RAW),
        ("unix", libc::AF_UNIX, libc::SOCK_STREAM),
        ("inet-raw", libc::AF_INET, libc::SOCK_RAW),
    ] {
        say(
            &format!("socket-{name}"),
            call(unsafe { libc::socket(family, kind, 1 % (family.abs() + 1)) }.into())
                .or_else(|_| call(unsafe { libc::socket(family, kind, 0) }.into())),
        );
    }
}

fn connect_abstract(name: &str) -> Try {
    use std::os::linux::net::SocketAddrExt;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
    UnixStream::connect_addr(&address).map(drop)
}

pub(crate) fn kernel(project: &Path, shm: i32) {
    let c = std::ffi::CString::new(project.to_str().unwrap()).unwrap();
    let tmpfs = c"tmpfs".as_ptr();
    say(
        "unshare",
        call(unsafe { libc::unshare(libc::CLONE_NEWUSER) }.into()),
    );
    say(
        "mount",
        call(unsafe { libc::mount(tmpfs, c.as_ptr(), tmpfs, 0, std::ptr::null()) }.into()),
    );
    say(
        "umount",
        call(unsafe { libc::umount2(c"/proc".as_ptr(), libc::MNT_DETACH) }.into()),
    );
    say(
        "remount",
        call(
            unsafe {
                libc::mount(
                    std::ptr::null(),
                    c"/".as_ptr(),
                    std::ptr::null(),
                    libc::MS_REMOUNT | libc::MS_BIND,
                    std::ptr::null(),
                )
            }
            .into(),
        ),
    );
    let raw = |name: &str, number: i64, args: [i64; 5]| {
        say(
            name,
            call(unsafe { libc::syscall(number, args[0], args[1], args[2], args[3], args[4]) }),
        );
    };
    let root = c"/".as_ptr() as i64;
    raw("open-tree", libc::SYS_open_tree, [-100, root, 1, 0, 0]);
    raw("open-tree-attr", 467, [-100, root, 1, 0, 0]);
    raw("fsopen", libc::SYS_fsopen, [tmpfs as i64, 0, 0, 0, 0]);
    raw("setns", libc::SYS_setns, [0, 0, 0, 0, 0]);
    raw("pivot-root", libc::SYS_pivot_root, [root, root, 0, 0, 0]);
    raw("chroot", libc::SYS_chroot, [root, 0, 0, 0, 0]);
    raw("bpf", libc::SYS_bpf, [0, 0, 0, 0, 0]);
    raw("perf", libc::SYS_perf_event_open, [0, 0, -1, -1, 0]);
    raw("keyctl", libc::SYS_keyctl, [0, -3, 1, 0, 0]);
    raw("userfaultfd", libc::SYS_userfaultfd, [1, 0, 0, 0, 0]);
    let mut params = [0_u8; 120];
    raw(
        "io-uring",
        libc::SYS_io_uring_setup,
        [4, params.as_mut_ptr() as i64, 0, 0, 0],
    );
    raw("pidfd-getfd", libc::SYS_pidfd_getfd, [0, 0, 0, 0, 0]);
    raw("x32", 0x4000_0000 | 39, [0; 5]);
    raw(
        "clone-newuser",
        libc::SYS_clone,
        [i64::from(libc::CLONE_NEWUSER | libc::SIGCHLD), 0, 0, 0, 0],
    );
    let mut clone_args = [0_u64; 8];
    raw(
        "clone3",
        libc::SYS_clone3,
        [clone_args.as_mut_ptr() as i64, 64, 0, 0, 0],
    );
    raw(
        "tiocsti",
        libc::SYS_ioctl,
        [0, libc::TIOCSTI as i64, root, 0, 0],
    );
    raw(
        "tiocsti-high-bit",
        libc::SYS_ioctl,
        [0, 0x1_0000_0000 | libc::TIOCSTI as i64, root, 0, 0],
    );
    raw(
        "shmat-host",
        libc::SYS_shmat,
        [shm.into(), 0, libc::SHM_RDONLY.into(), 0, 0],
    );
    for (name, path) in [
        ("core-pattern", "/proc/sys/kernel/core_pattern"),
        ("sysrq", "/proc/sysrq-trigger"),
        ("sys-power", "/sys/power/state"),
        ("kcore", "/proc/kcore"),
        ("kmsg", "/dev/kmsg"),
    ] {
        say(name, OpenOptions::new().write(true).open(path).map(drop));
    }
    say(
        "cgroup",
        fs::create_dir("/sys/fs/cgroup/pids/creance-evil")
            .or_else(|_| fs::create_dir("/sys/fs/cgroup/creance-evil")),
    );
}

pub(crate) fn state() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let has = |line: &str| {
        if status.contains(line) {
            Ok(())
        } else {
            Err(Error::other("no"))
        }
    };
    say("no-new-privileges", has("NoNewPrivs:\t1"));
    say(
        "no-capabilities",
        has("CapEff:\t0000000000000000")
            .and(has("CapPrm:\t0000000000000000"))
            .and(has("CapBnd:\t0000000000000000").or(has("CapInh:\t0000000000000000"))),
    );
    say("seccomp", has("Seccomp:\t2"));
    let open = (3..1024).find(|fd| unsafe { libc::fcntl(*fd, libc::F_GETFD) } >= 0);
    say(
        "only-three-descriptors",
        open.map_or(Ok(()), |fd| {
            Err(Error::other(format!(
                "{fd}: {:?}",
                fs::read_link(format!("/proc/self/fd/{fd}"))
            )))
        }),
    );
}
