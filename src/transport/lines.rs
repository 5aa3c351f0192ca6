//! Lines from a byte stream, bounded. Bytes are joined before anyone decodes them, so a letter that
//! is cut between two reads stays whole.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::protocol::json::MESSAGE_MAX;

/// Reads lines; what is returned is valid until the next call.
#[derive(Debug)]
pub(super) struct Lines<R> {
    stream: R,
    // Bytes read; those before `start` were given out, those before `searched` hold no line feed.
    buffer: Vec<u8>,
    start: usize,
    searched: usize,
    // Where the next line starts once the line that was given out is let go.
    next_start: usize,
    // While a line is too long: whether some of it was thrown away.
    dropping: bool,
    ended: bool,
}

/// One line, without its line feed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A line.
    Whole(&'a [u8]),
    /// A line over the limit: its beginning.
    TooLong(&'a [u8]),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of a stream.
    pub(super) fn new(stream: R) -> Self {
        Self {
            stream,
            buffer: Vec::with_capacity(CHUNK),
            start: 0,
            searched: 0,
            next_start: 0,
            dropping: false,
            ended: false,
        }
    }

    /// The next line; `None` at the end. A last line without a line feed counts.
    ///
    /// # Errors
    /// What the stream says.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.start = self.next_start;
        self.searched = self.searched.max(self.start);
        let end = loop {
            if let Some(feed) = self.find() {
                self.next_start = feed + 1;
                break feed;
            }
            if self.ended {
                self.next_start = self.buffer.len();
                break self.buffer.len();
            }
            self.drop_excess();
            self.ended = self.fill().await? == 0;
        };
        self.searched = self.next_start;
        let too_long = std::mem::take(&mut self.dropping) || end - self.start > MESSAGE_MAX;
        let line = self.buffer.get(self.start..end).unwrap_or_default();
        Ok(match line {
            [] if self.ended && self.next_start == end => None,
            long if too_long => Some(Line::TooLong(long.get(..HEAD).unwrap_or(long))),
            line => Some(Line::Whole(line)),
        })
    }

    fn find(&mut self) -> Option<usize> {
        let rest = self.buffer.get(self.searched..).unwrap_or_default();
        // `contains` is the fast search of the standard library; most of a long line is behind it.
        let feed = if rest.contains(&b'\n') {
            rest.iter().position(|byte| *byte == b'\n')
        } else {
            None
        };
        let found = feed.map(|at| at + self.searched);
        self.searched = found.unwrap_or(self.buffer.len());
        found
    }

    /// Of a line that is already too long only the beginning is kept.
    fn drop_excess(&mut self) {
        let length = self.buffer.len() - self.start;
        if length > MESSAGE_MAX || (self.dropping && length > HEAD) {
            self.dropping = true;
            self.buffer.truncate(self.start + HEAD);
            self.searched = self.buffer.len();
        }
    }

    // Cancelled in the middle, nothing is lost: bytes are in `buffer` or still in the stream.
    async fn fill(&mut self) -> io::Result<usize> {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        (self.start, self.next_start) = (0, 0);
        if self.buffer.len() < CHUNK && self.buffer.capacity() > ROOM_KEPT {
            self.buffer.shrink_to(CHUNK);
        }
        self.buffer.reserve(CHUNK);
        self.stream.read_buf(&mut self.buffer).await
    }
}

const CHUNK: usize = 64 * 1024;
const ROOM_KEPT: usize = 1024 * 1024;
const HEAD: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(stream: &[u8], want: &[&str]) {
        let mut lines = Lines::new(stream);
        let mut got = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            got.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                Line::TooLong(head) => format!("too long, {} kept", head.len()),
            });
        }
        assert_eq!(got, want);
    }

    #[tokio::test]
    async fn lines_are_cut_at_line_feeds_and_at_the_limit() {
        check(b"", &[]).await;
        check(b"a\n\r\nb", &["a", "\r", "b"]).await;
        let mut long = vec![b'x'; MESSAGE_MAX + 1];
        long.extend(b"\nafter\n");
        check(&long, &["too long, 65536 kept", "after"]).await;
        let mut longer = vec![b'x'; 3 * MESSAGE_MAX];
        check(&longer, &["too long, 65536 kept"]).await;
        longer.extend(b"\n\nz");
        check(&longer, &["too long, 65536 kept", "", "z"]).await;
        let mut most = vec![b'x'; MESSAGE_MAX];
        most.extend(b"\nafter");
        let whole = String::from_utf8(vec![b'x'; MESSAGE_MAX]).unwrap();
        check(&most, &[&whole, "after"]).await;
    }
}
