//! Our own standard input and output, whatever the client gave us: pipes, FIFOs, the UNIX socket
//! pairs of node parents, files or a terminal.
//!
//! Flags of the streams are never changed: they are shared with other processes (and our stderr),
//! which would fail on streams that suddenly do not block.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[cfg(unix)]
use super::socket::Socket;

/// Our standard input.
pub(crate) struct Stdin(Box<dyn AsyncRead + Send + Unpin>);

/// Our standard output.
pub(crate) struct Stdout(Box<dyn AsyncWrite + Send + Unpin>);

/// Opens our standard input. Must be called inside the runtime, once.
pub(crate) fn stdin() -> Stdin {
    #[cfg(unix)]
    {
        let stream = io::stdin();
        if let Ok(socket) = Socket::of(&stream) {
            return Stdin(Box::new(socket));
        }
        if let Ok(pipe) = super::socket::pipe_reader(&stream) {
            return Stdin(Box::new(pipe));
        }
    }
    // Threads that block: files and terminals have no other way.
    Stdin(Box::new(tokio::io::stdin()))
}

/// Opens our standard output. Must be called inside the runtime, once.
pub(crate) fn stdout() -> Stdout {
    #[cfg(unix)]
    {
        let stream = io::stdout();
        if let Ok(socket) = Socket::of(&stream) {
            return Stdout(Box::new(socket));
        }
        if let Ok(pipe) = super::socket::pipe_writer(&stream) {
            return Stdout(Box::new(pipe));
        }
    }
    Stdout(Box::new(tokio::io::stdout()))
}

impl std::fmt::Debug for Stdin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stdin")
    }
}

impl std::fmt::Debug for Stdout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stdout")
    }
}

impl AsyncRead for Stdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stdout {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
