//! Descriptors in a message of a socket. So they reach a process that is only being started, by no
//! number that it would have to know, and no process between holds them.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, Result};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// What a message is about, beside its descriptors.
const WORD: &[u8] = b"D";

/// The most that one message holds here.
const MOST: usize = 5;

/// Sends descriptors; they wait in the socket until they are taken.
pub(super) fn send(socket: impl AsFd, fds: &[BorrowedFd<'_>]) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::NOBUFS);
    }
    let parts = [IoSlice::new(WORD)];
    rustix::net::sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes exactly so many descriptors out of one message. They are closed by `exec`.
pub(super) fn receive<const N: usize>(socket: impl AsFd, flags: RecvFlags) -> Result<[OwnedFd; N]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0; WORD.len()];
    let mut parts = [IoSliceMut::new(&mut word)];
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    rustix::net::recvmsg(socket, &mut parts, &mut control, flags)?;
    let fds: Vec<OwnedFd> = (control.drain())
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .collect();
    fds.try_into().map_err(|_| Errno::BADF)
}
