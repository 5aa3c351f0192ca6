//! The program's side of a connection: bytes that came and are not yet used, and a decent farewell.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::refusal::Refusal;

/// Bytes that are taken while the program waits for a verdict.
const HELD_MAX: usize = 64 << 10;
/// How long and how much is still read from a program that was refused, so that the refusal is not
/// lost in a reset.
const FAREWELL: Duration = Duration::from_millis(500);
const FAREWELL_MAX: usize = 64 << 10;

/// The program's side.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) stream: TcpStream,
    held: Vec<u8>,
}

impl Client {
    pub(super) fn new(stream: TcpStream) -> Self {
        // Small answers are not held back; that it fails changes nothing but time.
        let _ = stream.set_nodelay(true);
        Self {
            stream,
            held: Vec::new(),
        }
    }

    /// Bytes that came and are not yet used.
    pub(super) fn held(&self) -> &[u8] {
        &self.held
    }

    /// The first bytes are used.
    pub(super) fn used(&mut self, count: usize) {
        self.held.drain(..count.min(self.held.len()));
    }

    /// All bytes that came.
    pub(super) fn take_held(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Reads until `read` finds what it looks for in the bytes held, which stay.
    pub(super) async fn until<T>(
        &mut self,
        max: usize,
        mut read: impl FnMut(&[u8]) -> Result<Option<T>, Refusal>,
    ) -> Result<T, Refusal> {
        loop {
            if let Some(found) = read(&self.held)? {
                return Ok(found);
            }
            if self.held.len() >= max {
                return Err(Refusal::Misfit(
                    "the request is larger than a request may be",
                ));
            }
            let room = max - self.held.len();
            if !self.fill(room).await {
                return Err(Refusal::Left);
            }
        }
    }

    /// Waits until the program leaves. What it sends meanwhile is held, up to a bound; past that
    /// its leaving shows when it is answered.
    pub(super) async fn left(&mut self) {
        while self.held.len() < HELD_MAX {
            let room = HELD_MAX - self.held.len();
            if !self.fill(room).await {
                return;
            }
        }
        std::future::pending().await
    }

    /// Reads once; whether something came.
    async fn fill(&mut self, room: usize) -> bool {
        let mut limited = (&mut self.stream).take(room as u64);
        let read = limited.read_buf(&mut self.held).await;
        read.is_ok_and(|count| count > 0)
    }

    /// Sends an answer; whether it went.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.stream
            .write_all(bytes)
            .await
            .map_err(|_| Refusal::Left)
    }

    /// Sends the last words and ends the connection.
    pub(super) async fn farewell(mut self, words: &[u8]) {
        let last = async {
            self.stream.write_all(words).await?;
            self.stream.shutdown().await?;
            let mut rest = (&mut self.stream).take(FAREWELL_MAX as u64);
            tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
        };
        // Whether it is heard is the program's affair.
        let _ = timeout(FAREWELL, last).await;
    }
}
