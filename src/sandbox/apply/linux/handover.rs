//! What the second stage is handed: the plan, the program's streams and the status. They travel in
//! a message of a socket, so that the process between the stages, a copy of this one, never holds
//! them: the status ends with `exec`, the streams end with the program.

use std::fs::File;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Result;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags,
    SocketType,
};
use rustix::process::Pid;

use super::passing;
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::StageError;

/// What the second stage says once it holds everything.
const TAKEN: &[u8] = b"T";

/// What is handed over.
pub(super) struct Load {
    /// The plan, in sealed memory.
    pub(super) plan: OwnedFd,
    /// Input, output and error output of the program.
    pub(super) streams: [OwnedFd; 3],
    /// Where a failed step is reported; closed by `exec`.
    pub(super) status: File,
}

/// The first stage's end of the socket.
pub(super) struct Handover(OwnedFd);

impl Handover {
    /// Sends the load, with this process's own streams, to a second stage that does not exist yet.
    /// The other end becomes this process's input, which the second stage inherits.
    pub(super) fn send(plan: &Plan, status: File) -> std::result::Result<Self, (File, StageError)> {
        match pack(plan, &status) {
            Ok(handover) => Ok(handover),
            Err(error) => Err((status, StageError::os("handover", "socket", &error))),
        }
    }

    /// Its descriptor, which can be read when the second stage has answered.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The second stage, when it has taken everything over. Does not wait.
    pub(super) fn taken(&self) -> Option<Pid> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut word = [0; TAKEN.len()];
        let mut parts = [IoSliceMut::new(&mut word)];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        rustix::net::recvmsg(&self.0, &mut parts, &mut control, flags).ok()?;
        let sender = control.drain().find_map(|message| match message {
            // The kernel's word, in numbers of this namespace.
            RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.pid),
            _ => None,
        });
        sender.filter(|_| word == TAKEN)
    }
}

/// Takes the status back that nobody has taken over.
pub(super) fn take_back() -> Option<File> {
    let input = rustix::stdio::stdin();
    unpack(input, RecvFlags::DONTWAIT)
        .ok()
        .map(|load| load.status)
}

/// In the second stage: takes everything over and says so.
pub(super) fn receive() -> Result<Load> {
    let input = rustix::stdio::stdin();
    let load = unpack(input, RecvFlags::empty())?;
    rustix::net::send(input, TAKEN, SendFlags::NOSIGNAL)?;
    Ok(load)
}

fn pack(plan: &Plan, status: &File) -> std::io::Result<Handover> {
    let memory = super::start::sealed(plan)?;
    let (near, far) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::net::sockopt::set_socket_passcred(&near, true)?;
    let (input, output, error) = streams();
    let fds = [memory.as_fd(), input, output, error, status.as_fd()];
    passing::send(&near, &fds)?;
    rustix::stdio::dup2_stdin(&far)?;
    Ok(Handover(near))
}

fn unpack(socket: BorrowedFd<'_>, flags: RecvFlags) -> Result<Load> {
    let [plan, input, output, error, status] = passing::receive(socket, flags)?;
    Ok(Load {
        plan,
        streams: [input, output, error],
        status: File::from(status),
    })
}

fn streams() -> (
    BorrowedFd<'static>,
    BorrowedFd<'static>,
    BorrowedFd<'static>,
) {
    (
        rustix::stdio::stdin(),
        rustix::stdio::stdout(),
        rustix::stdio::stderr(),
    )
}
