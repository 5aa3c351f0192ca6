//! Bounded JSON lines on a socket.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
};

/// A message as a line.
pub(super) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

pub(super) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> io::Result<()> {
    to.write_all(&line(message)?).await
}

/// The next message; `None` at the end. A line beyond the bound is an error, and is not read on.
pub(super) async fn read<M: DeserializeOwned>(
    from: &mut (impl AsyncBufRead + Unpin),
    size_max: usize,
) -> io::Result<Option<M>> {
    let mut line = Vec::new();
    let bound = u64::try_from(size_max).unwrap_or(u64::MAX);
    from.take(bound).read_until(b'\n', &mut line).await?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) if line.len() + 1 >= size_max => Err(invalid("a message is too long")),
        Some(_) => Err(invalid("a message is cut short")),
    }
}

pub(super) fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}
