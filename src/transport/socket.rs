//! Inherited sockets and pipes, read and written without blocking and without a change of the flags
//! that they share with other processes.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::{FileType, OFlags, fstat};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};

/// A stream socket that we share with others. Each call says by itself that it must not wait.
#[derive(Debug)]
pub(super) struct Socket(AsyncFd<OwnedFd>);

impl Socket {
    /// The socket that a descriptor is.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn of(stream: &impl AsFd) -> io::Result<Self> {
        expect(stream, FileType::Socket)?;
        let own = stream.as_fd().try_clone_to_owned()?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for owners whose descriptor may change; this one's never does"
        )]
        let registered = AsyncFd::new(own)?;
        Ok(Self(registered))
    }
}

/// The reading end that a descriptor is, opened anew so that its flags are ours alone.
///
/// # Errors
/// It is no pipe, or there is no `/proc`.
pub(super) fn pipe_reader(stream: &impl AsFd) -> io::Result<Receiver> {
    let file = reopen(stream, File::options().read(true))?;
    Receiver::from_file(file)
}

/// The writing end that a descriptor is, opened anew.
///
/// # Errors
/// It is no pipe, or there is no `/proc`.
pub(super) fn pipe_writer(stream: &impl AsFd) -> io::Result<Sender> {
    let file = reopen(stream, File::options().write(true))?;
    Sender::from_file(file)
}

fn reopen(stream: &impl AsFd, options: &mut std::fs::OpenOptions) -> io::Result<File> {
    expect(stream, FileType::Fifo)?;
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    // On other systems than Linux this path does not exist, and the caller takes another way.
    let path = format!("/proc/self/fd/{}", stream.as_fd().as_raw_fd());
    options.custom_flags(flags).open(path)
}

fn expect(stream: &impl AsFd, kind: FileType) -> io::Result<()> {
    let stat = fstat(stream)?;
    if FileType::from_raw_mode(stat.st_mode) == kind {
        return Ok(());
    }
    Err(io::ErrorKind::InvalidInput.into())
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.0.poll_read_ready(cx))?;
            let into = buf.initialize_unfilled();
            let tried = guard.try_io(|fd| Ok(recv(fd, into, RecvFlags::DONTWAIT)?.0));
            match tried {
                Ok(read) => {
                    buf.advance(read?);
                    return Poll::Ready(Ok(()));
                }
                Err(_not_ready) => {}
            }
        }
    }
}

/// How is sent: without waiting, and without SIGPIPE when the other side is gone. Apple's systems have
/// no flag for the latter; Rust programs ignore that signal from their start.
#[cfg(not(target_vendor = "apple"))]
const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
#[cfg(target_vendor = "apple")]
const SEND: SendFlags = SendFlags::DONTWAIT;

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.poll_write_ready(cx))?;
            if let Ok(written) = guard.try_io(|fd| Ok(send(fd, bytes, SEND)?)) {
                return Poll::Ready(written);
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The socket is shared (input and output may be one): only our copy goes, when it is dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
