//! The two ends of a session's pipe: lines to its gateway, and lines from it.

use std::sync::Weak;

use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::mpsc;

use super::session::Session;

/// Reads what the gateway says until it says no more.
pub(super) async fn listen(session: Weak<Session>, from: ReadHalf<DuplexStream>) {
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        let more = matches!(from.read_until(b'\n', &mut line).await, Ok(1..));
        let Some(session) = session.upgrade() else {
            return;
        };
        if !more {
            session.end();
            return;
        }
        session.route(line);
    }
}

/// Writes to the gateway until nobody speaks any more, then closes its input.
pub(super) async fn speak(mut lines: mpsc::Receiver<String>, mut into: WriteHalf<DuplexStream>) {
    while let Some(line) = lines.recv().await {
        if into.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
    // The gateway may be gone already.
    let _ = into.shutdown().await;
}
