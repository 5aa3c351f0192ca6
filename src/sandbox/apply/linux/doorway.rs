//! The one way out of a network namespace: a listener on its own loopback, made by the helper inside
//! and handed to main as a descriptor. Main accepts on it from outside; no socket path and no relay
//! is needed, and each sandbox has its own, so whoever connects is known without a token.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

use super::sys;
use crate::grant::PROXY_PORT;
use crate::sandbox::spawn::StageError;

/// The one byte that carries the descriptor.
const WORD: &[u8] = b"L";

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// In the helper, inside the new network namespace: opens the listener and hands it to main. This
/// process keeps no copy, so that the port closes when main lets go of it.
pub(super) fn open(control: impl AsFd) -> Result<(), StageError> {
    let os = |what: &'static str| move |e: Errno| StageError::os("proxy", what, &e.into());
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(os("socket"))?;
    let place = SocketAddrV4::new(Ipv4Addr::LOCALHOST, PROXY_PORT);
    rustix::net::bind(&socket, &place).map_err(os("bind"))?;
    rustix::net::listen(&socket, BACKLOG).map_err(os("listen"))?;
    send(control.as_fd(), socket.as_fd()).map_err(os("hand over"))
}

fn send(control: BorrowedFd<'_>, listener: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let fds = [listener];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(Errno::NOBUFS);
    }
    let parts = [IoSlice::new(WORD)];
    rustix::net::sendmsg(control, &parts, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// In main, once the program runs: takes the listener that the helper handed over. It must be one of
/// another network namespace than ours: on any other, strangers could connect.
pub(super) fn take(control: impl AsFd) -> io::Result<TcpListener> {
    let listener = receive(control.as_fd())?;
    if !rustix::net::sockopt::socket_acceptconn(&listener)? || is_ours(&listener)? {
        return Err(io::Error::other(
            "the helper handed over something else than a listener of its own network",
        ));
    }
    Ok(TcpListener::from(listener))
}

fn receive(control: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0; WORD.len()];
    let mut parts = [IoSliceMut::new(&mut word)];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    rustix::net::recvmsg(control, &mut parts, &mut ancillary, flags)?;
    let mut fds = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    let fd = fds.next().and_then(|mut fds| fds.next());
    fd.filter(|_| word == WORD)
        .ok_or_else(|| io::Error::other("the helper handed over no listener"))
}

/// Whether a socket is of this process's own network namespace.
fn is_ours(socket: &OwnedFd) -> io::Result<bool> {
    let theirs = rustix::fs::fstat(sys::network_of(socket)?)?;
    let ours = rustix::fs::stat("/proc/self/ns/net")?;
    Ok((theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino))
}
