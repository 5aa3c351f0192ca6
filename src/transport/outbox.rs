//! One writer for all who send: whole lines, in order, bounded in number and bytes.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Lines on their way to the peer.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    // Taken when no more is to be sent; the writer then closes the stream.
    queue: Arc<Mutex<Option<mpsc::Sender<Letter>>>>,
    room: Arc<Semaphore>,
}

type Letter = (String, OwnedSemaphorePermit);

/// The peer reads no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shut;

impl Outbox {
    /// An outbox and the task that empties it into a stream.
    pub(super) fn new(
        stream: impl AsyncWrite + Send + Unpin + 'static,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (sender, queue) = mpsc::channel(LINES_MAX);
        let outbox = Self {
            queue: Arc::new(Mutex::new(Some(sender))),
            room: Arc::new(Semaphore::new(ROOM)),
        };
        (outbox, write(stream, queue))
    }

    /// Queues a line; waits while the peer is slow to read.
    ///
    /// # Errors
    /// The peer reads no more.
    pub(super) async fn send(&self, line: String) -> Result<(), Shut> {
        let queue = self.queue().ok_or(Shut)?;
        let room = Arc::clone(&self.room);
        let permit = room.acquire_many_owned(size(&line)).await;
        let letter = (line, permit.map_err(|_| Shut)?);
        queue.send(letter).await.map_err(|_| Shut)
    }

    /// Queues a line if there is room at once, else drops it: for notes and for answers to a peer
    /// that asks without reading the answers.
    pub(super) fn offer(&self, line: String) {
        let room = Arc::clone(&self.room);
        let permit = room.try_acquire_many_owned(size(&line));
        if let (Some(queue), Ok(permit)) = (self.queue(), permit) {
            // Full or closed: dropped, as said above.
            let _ = queue.try_send((line, permit));
        }
    }

    /// Sends what is queued, then closes the stream.
    pub(super) fn close(&self) {
        self.lock().take();
    }

    fn queue(&self) -> Option<mpsc::Sender<Letter>> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<mpsc::Sender<Letter>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write(mut stream: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Letter>) {
    while let Some((line, room)) = queue.recv().await {
        let sent = stream.write_all(line.as_bytes()).await.is_ok();
        // Lines that wait already go out in one go with the next.
        if !sent || (queue.is_empty() && stream.flush().await.is_err()) {
            return;
        }
        drop(room);
    }
    // The peer may be gone: then there is nobody to tell.
    let _ = stream.shutdown().await;
}

/// Room that a line takes, in KiB.
fn size(line: &str) -> u32 {
    let kib = line.len().div_ceil(1024).clamp(1, ROOM);
    u32::try_from(kib).unwrap_or(u32::MAX)
}

const LINES_MAX: usize = 256;
/// 32 MiB in KiB: two messages of the largest size.
const ROOM: usize = 32 * 1024;
