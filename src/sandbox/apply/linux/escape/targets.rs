//! What the host offers to be attacked, and its own look at what arrived.

use std::ffi::CString;
use std::fs;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use super::ground::{CANARY, Ports, SysV, datagram};
use super::probe::{PROBE, role};
use super::raw;
use super::scene::Scene;

/// Listeners, objects and a process of the host.
pub(super) struct Targets {
    tcp: TcpListener,
    tcp6: Option<TcpListener>,
    udp: UdpSocket,
    streams: Vec<UnixListener>,
    datagrams: Vec<UnixDatagram>,
    /// Of the abstract sockets and what else has a name.
    pub(super) name: String,
    pub(super) sysv: SysV,
    shared: PathBuf,
    queue: Option<CString>,
    process: Child,
}

/// What is in the shared memory before, and must be afterwards.
const SHARED: &[u8] = b"shared";

impl Targets {
    /// Opens everything.
    pub(super) fn new(scene: &Scene) -> io::Result<Self> {
        let own = scene.root().file_name().unwrap_or_default();
        let name = own.to_string_lossy().into_owned();
        let targets = Self {
            tcp: TcpListener::bind("127.0.0.1:0")?,
            tcp6: TcpListener::bind("[::1]:0").ok(),
            udp: UdpSocket::bind("127.0.0.1:0")?,
            streams: vec![
                UnixListener::bind(scene.outside.join("docker.sock"))?,
                UnixListener::bind(scene.hidden.join("docker.sock"))?,
                UnixListener::bind(scene.project.join("s.sock"))?,
                UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?,
            ],
            datagrams: vec![
                UnixDatagram::bind(scene.outside.join("log.sock"))?,
                UnixDatagram::bind(scene.project.join("log.sock"))?,
                UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(datagram(&name))?)?,
            ],
            sysv: SysV {
                memory: made(raw::call(libc::SYS_shmget, &[0, 4096, 0o1600])),
                queue: made(raw::call(libc::SYS_msgget, &[0, 0o1600])),
                semaphore: made(raw::call(libc::SYS_semget, &[0, 1, 0o1600])),
            },
            shared: Path::new("/dev/shm").join(&name),
            queue: CString::new(format!("/{name}")).ok(),
            process: canary()?,
            name,
        };
        let _ = fs::write(&targets.shared, SHARED);
        if let Some(queue) = &targets.queue {
            let _ = raw::open_queue(queue, raw::Queue::Make);
        }
        targets.tcp.set_nonblocking(true)?;
        targets.udp.set_nonblocking(true)?;
        for listener in targets.tcp6.iter() {
            listener.set_nonblocking(true)?;
        }
        for listener in &targets.streams {
            listener.set_nonblocking(true)?;
        }
        for socket in &targets.datagrams {
            socket.set_nonblocking(true)?;
        }
        Ok(targets)
    }

    /// The ports to try.
    pub(super) fn ports(&self) -> io::Result<Ports> {
        let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
        Ok(Ports {
            tcp: port(&self.tcp)?,
            tcp6: self.tcp6.as_ref().and_then(|listener| port(listener).ok()),
            udp: self.udp.local_addr()?.port(),
        })
    }

    /// The process to attack.
    pub(super) fn process(&self) -> i32 {
        i32::try_from(self.process.id()).unwrap_or(0)
    }

    /// Whether a datagram came over the network.
    pub(super) fn datagram_came(&self) -> bool {
        self.udp.recv(&mut [0; 8]).is_ok()
    }

    /// Whether the process lives.
    pub(super) fn process_lives(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// How many connections came over the network.
    pub(super) fn connections(&self) -> usize {
        let listeners = std::iter::once(&self.tcp).chain(&self.tcp6);
        listeners
            .map(|listener| std::iter::from_fn(|| listener.accept().ok()).count())
            .sum()
    }

    /// How many connections and datagrams came over sockets of this machine.
    pub(super) fn local_connections(&self) -> usize {
        let streams = self.streams.iter();
        let streams: usize = streams
            .map(|listener| std::iter::from_fn(|| listener.accept().ok()).count())
            .sum();
        let datagrams = self.datagrams.iter();
        let datagrams: usize = datagrams
            .map(|socket| std::iter::from_fn(|| socket.recv(&mut [0; 8]).ok()).count())
            .sum();
        streams + datagrams
    }

    /// Whether the shared memory is as it was.
    pub(super) fn memory_is_whole(&self) -> bool {
        fs::read(&self.shared).is_ok_and(|text| text == SHARED)
    }
}

impl Drop for Targets {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.shared);
        if let Some(queue) = &self.queue {
            raw::remove_queue(queue);
        }
        // `IPC_RMID` is 0.
        let _ = raw::call(libc::SYS_shmctl, &[self.sysv.memory.into(), 0, 0]);
        let _ = raw::call(libc::SYS_msgctl, &[self.sysv.queue.into(), 0, 0]);
        let _ = raw::call(libc::SYS_semctl, &[self.sysv.semaphore.into(), 0, 0]);
    }
}

fn made(object: io::Result<i64>) -> i32 {
    object
        .ok()
        .and_then(|number| i32::try_from(number).ok())
        .unwrap_or(-1)
}

/// A process of the host with a secret in its environment; it ends with its input.
#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox is what starts processes"
)]
fn canary() -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .arg0(PROBE)
        .arg(role::WAIT)
        .env_clear()
        .env(CANARY, "secret")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
}

/// Paths of sockets that programs of this machine have, other than those below a folder.
pub(super) fn sockets_but(own: Option<&Path>) -> Vec<PathBuf> {
    const MOST: usize = 100;
    let text = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let paths = text.lines().skip(1).filter_map(|line| {
        let path = line.split_whitespace().nth(7)?;
        path.starts_with('/').then(|| PathBuf::from(path))
    });
    let ours = |path: &PathBuf| own.is_some_and(|own| path.starts_with(own));
    let mut paths: Vec<PathBuf> = paths.filter(|path| !ours(path)).collect();
    paths.sort();
    paths.dedup();
    paths.truncate(MOST);
    paths
}
