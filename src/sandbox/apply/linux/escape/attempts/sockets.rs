//! Reaching programs of the machine by sockets and other channels that are no network.

use std::os::fd::AsFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

use super::super::ground::{Ground, datagram};
use super::super::raw;
use super::{Attempts, Told, Try, append, skip, stopped};

pub(super) const ATTEMPTS: Attempts = &[
    ("unix-readable", |g| stream(&g.outside.join("docker.sock"))),
    ("unix-hidden", |g| stream(&g.hidden.join("docker.sock"))),
    ("unix-project", |g| stream(&g.project.join("s.sock"))),
    ("unix-by-link", |g| {
        let link = g.project.join("sock-link");
        std::os::unix::fs::symlink(g.hidden.join("docker.sock"), &link)?;
        stream(&link)
    }),
    ("unix-abstract", |g| {
        let address = SocketAddr::from_abstract_name(&g.name)?;
        Ok(UnixStream::connect_addr(&address).map(drop)?)
    }),
    ("unix-datagram", |g| {
        let socket = UnixDatagram::unbound()?;
        Ok(socket.send_to(b"x", g.outside.join("log.sock")).map(drop)?)
    }),
    ("unix-pair-datagram", |g| {
        from_pair(SocketType::DGRAM, &g.outside.join("log.sock"))
    }),
    ("unix-pair-project", |g| {
        from_pair(SocketType::DGRAM, &g.project.join("log.sock"))
    }),
    ("unix-pair-raw", |g| {
        from_pair(SocketType::RAW, &g.outside.join("log.sock"))
    }),
    ("unix-pair-abstract", pair_abstract),
    ("unix-pair-connect", pair_connect),
    ("unix-pair-stream", |g| {
        pair_stream(&g.outside.join("docker.sock"))
    }),
    ("unix-machine", machine),
    ("unix-bind", |g| {
        let path = g.project.join("own.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&path)?;
        Ok(())
    }),
    ("socketpair", |_| Ok(UnixStream::pair().map(drop)?)),
    ("sysv-memory", |g| {
        object(
            g.sysv.memory,
            libc::SYS_shmat,
            &[g.sysv.memory.into(), 0, libc::SHM_RDONLY.into()],
        )
    }),
    ("sysv-queue", |g| {
        object(
            g.sysv.queue,
            libc::SYS_msgrcv,
            &[g.sysv.queue.into(), 0, 0, 0, libc::IPC_NOWAIT.into()],
        )
    }),
    ("sysv-semaphore", |g| {
        object(
            g.sysv.semaphore,
            libc::SYS_semctl,
            &[g.sysv.semaphore.into(), 0, GETVAL, 0],
        )
    }),
    ("posix-memory", |g| {
        append_existing(&Path::new("/dev/shm").join(&g.name))
    }),
    ("posix-queue", |g| {
        let name = std::ffi::CString::new(format!("/{}", g.name));
        let name = name.map_err(|_| skip("a name with NUL"))?;
        Ok(raw::open_queue(&name, raw::Queue::Find).map(drop)?)
    }),
    ("own-shared-memory", |_| append("/dev/shm/own")),
];

/// `GETVAL` of `semctl`.
const GETVAL: i64 = 12;

fn stream(path: &Path) -> Try {
    Ok(UnixStream::connect(path).map(drop)?)
}

fn append_existing(path: &Path) -> Try {
    Ok(std::fs::OpenOptions::new()
        .append(true)
        .open(path)
        .map(drop)?)
}

fn pair(kind: SocketType) -> Result<rustix::fd::OwnedFd, Told> {
    let (near, _far) =
        rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    Ok(near)
}

/// One end of a pair is a socket like any other: a datagram can be sent from it to anybody.
fn from_pair(kind: SocketType, path: &Path) -> Try {
    let near = pair(kind)?;
    let address = SocketAddrUnix::new(path)?;
    Ok(rustix::net::sendto(near, b"x", SendFlags::empty(), &address).map(drop)?)
}

fn pair_abstract(ground: &Ground) -> Try {
    let near = pair(SocketType::DGRAM)?;
    let address = SocketAddrUnix::new_abstract_name(datagram(&ground.name).as_bytes())?;
    Ok(rustix::net::sendto(near, b"x", SendFlags::empty(), &address).map(drop)?)
}

/// The same by connecting it anew.
fn pair_connect(ground: &Ground) -> Try {
    let near = pair(SocketType::DGRAM)?;
    let address = SocketAddrUnix::new(ground.outside.join("log.sock"))?;
    rustix::net::connect(near.as_fd(), &address)?;
    Ok(rustix::net::send(near, b"x", SendFlags::empty()).map(drop)?)
}

fn pair_stream(path: &Path) -> Try {
    let near = pair(SocketType::STREAM)?;
    Ok(rustix::net::connect(near, &SocketAddrUnix::new(path)?)?)
}

/// Whether a socket of this machine can be connected to, in one way or the other.
pub(in super::super) fn connects(path: &Path) -> bool {
    let stream = stream(path).is_ok();
    stream
        || UnixDatagram::unbound().is_ok_and(|socket| socket.connect(path).is_ok())
        || pair(SocketType::DGRAM).is_ok_and(|near| {
            let address = SocketAddrUnix::new(path);
            address.is_ok_and(|address| rustix::net::connect(near, &address).is_ok())
        })
}

/// The sockets that programs of this machine listen on: docker, agents of keys, message buses.
fn machine(ground: &Ground) -> Try {
    if ground.sockets.is_empty() {
        return Err(skip("no program of this machine listens on a socket"));
    }
    let open: Vec<&PathBuf> = ground
        .sockets
        .iter()
        .filter(|path| connects(path))
        .collect();
    match open.first() {
        None => Err(stopped(format!(
            "none of {} can be reached",
            ground.sockets.len()
        ))),
        Some(path) => Err(Told::Through(path.display().to_string())),
    }
}

/// An object of the host's, by its number.
fn object(id: i32, number: libc::c_long, args: &[i64]) -> Try {
    if id < 0 {
        return Err(skip("this kernel has no such objects"));
    }
    match raw::call(number, args) {
        Ok(_) => Ok(()),
        // It was found.
        Err(error) if error.raw_os_error() == Some(libc::ENOMSG) => Ok(()),
        Err(error) => Err(stopped(error.to_string())),
    }
}
