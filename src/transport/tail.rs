//! The last lines that a process wrote to its standard error. The stream is always drained: a
//! process whose pipe is full would stand still for ever.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// A bounded tail, shared by the task that drains and those who show it. Raw: clean it first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    lines: usize,
}

impl Tail {
    /// The last lines as text; bytes that are not UTF-8 become U+FFFD.
    pub(crate) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.bytes.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads until the stream ends.
    pub(super) async fn drain(self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            self.push(buffer.get(..length).unwrap_or_default());
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for &byte in bytes {
            kept.bytes.push_back(byte);
            kept.lines += usize::from(byte == b'\n');
        }
        while kept.bytes.len() > BYTES_MAX || kept.lines > LINES_MAX {
            let gone = kept.bytes.pop_front();
            kept.lines -= usize::from(gone == Some(b'\n'));
        }
    }
}

const LINES_MAX: usize = 40;
const BYTES_MAX: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_last_lines_stay() {
        let tail = Tail::default();
        let text: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        tail.clone().drain(text.as_bytes()).await;
        let want: String = (960..1000).map(|n| format!("line {n}\n")).collect();
        assert_eq!(tail.text(), want);
        tail.clone().drain([b'x'; 40_000].as_slice()).await;
        assert_eq!(tail.text().len(), 16 * 1024);
    }
}
