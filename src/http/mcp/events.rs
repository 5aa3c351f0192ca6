//! Server-sent events out of bytes that come in pieces (WHATWG HTML, 9.2.6), bounded.

use std::time::Duration;

/// One event; comments and events without data are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Its type; empty for a message.
    pub(super) kind: String,
    pub(super) data: Vec<u8>,
}

/// A line or an event is larger than may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// Reads events; what it knows of the stream outlives a connection.
#[derive(Debug)]
pub(super) struct Events {
    max: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    kind: String,
    id: Option<String>,
    after_return: bool,
    /// The id of the last whole event, with which a stream goes on.
    pub(super) last_id: Option<String>,
    /// How long to wait before it is opened again.
    pub(super) retry: Option<Duration>,
}

/// Nobody waits longer than this because a server says so.
const RETRY_MAX: u64 = 60_000;
const ID_MAX: usize = 1_024;

impl Events {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            line: Vec::new(),
            data: Vec::new(),
            kind: String::new(),
            id: None,
            after_return: false,
            last_id: None,
            retry: None,
        }
    }

    /// Forgets a half event: the stream begins anew.
    pub(super) fn again(&mut self) {
        let (last_id, retry) = (self.last_id.take(), self.retry);
        *self = Self {
            last_id,
            retry,
            ..Self::new(self.max)
        };
    }

    /// Takes bytes; gives the events that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut found = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, after) = rest.split_at(at);
            let feed = after.first() == Some(&b'\n');
            rest = after.get(1..).unwrap_or_default();
            // The feed after a return belongs to it.
            let paired = feed && at == 0 && std::mem::take(&mut self.after_return);
            self.after_return = !feed;
            if paired {
                continue;
            }
            self.extend(line)?;
            found.extend(self.end_of_line()?);
        }
        if !rest.is_empty() {
            self.after_return = false;
        }
        self.extend(rest)?;
        Ok(found)
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        // Of a comment nothing is kept.
        let comment = self.line.first().or(bytes.first()) == Some(&b':');
        if comment {
            self.line.clear();
            if !bytes.is_empty() || self.line.is_empty() {
                self.line.push(b':');
            }
            return Ok(());
        }
        if self.line.len() + self.data.len() + bytes.len() > self.max {
            return Err(TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_of_line(&mut self) -> Result<Option<Event>, TooLarge> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.get(1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.kind = text(),
            b"id" if !value.contains(&0) && value.len() <= ID_MAX => self.id = Some(text()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let asked = text().parse::<u64>().ok();
                let asked = asked.map(|ms| Duration::from_millis(ms.min(RETRY_MAX)));
                self.retry = asked.or(self.retry);
            }
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<Event> {
        if let Some(id) = self.id.take() {
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        let kind = std::mem::take(&mut self.kind);
        let mut data = std::mem::take(&mut self.data);
        data.pop()?;
        Some(Event { kind, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &[(&str, &str)]) {
        // However the bytes are cut, the events are the same.
        for size in [1, 2, 3, 7, text.len().max(1)] {
            let mut events = Events::new(64);
            let mut found = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                found.extend(events.push(piece).unwrap());
            }
            let found: Vec<(String, String)> = found
                .into_iter()
                .map(|event| (event.kind, String::from_utf8(event.data).unwrap()))
                .collect();
            let want: Vec<(String, String)> = want
                .iter()
                .map(|(kind, data)| ((*kind).to_owned(), (*data).to_owned()))
                .collect();
            assert_eq!(found, want, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn events_are_read_however_they_are_cut() {
        check("data: a\n\n", &[("", "a")]);
        check(
            "data: a\r\n\r\ndata:b\r\rdata:c\n\n",
            &[("", "a"), ("", "b"), ("", "c")],
        );
        check(
            "event: endpoint\ndata: /m?s=1\n\n",
            &[("endpoint", "/m?s=1")],
        );
        check("data: {\ndata: }\n\n", &[("", "{\n}")]);
        check(": ping\n\nid: 1\n\ndata\n\n", &[("", "")]);
        check("event: x\n\ndata: y\n\n", &[("", "y")]);
        check("data: unfinished", &[]);
    }

    #[test]
    fn the_last_id_is_that_of_a_whole_event() {
        let mut events = Events::new(64);
        events
            .push(b"id: 1\nretry: 50\ndata: a\n\nid: 2\ndata: b\n")
            .unwrap();
        assert_eq!(events.last_id.as_deref(), Some("1"));
        assert_eq!(events.retry, Some(Duration::from_millis(50)));
        events.again();
        events.push(b"retry: 99999999999\n\n").unwrap();
        assert_eq!(events.retry, Some(Duration::from_secs(60)));
        assert_eq!(events.last_id.as_deref(), Some("1"));
    }

    #[test]
    fn nothing_grows_without_bound() {
        let mut events = Events::new(64);
        assert_eq!(events.push(&[b'x'; 65]), Err(TooLarge));
        let mut events = Events::new(64);
        assert_eq!(events.push(&b"data: 1234567890\n".repeat(7)), Err(TooLarge));
        // Comments are thrown away as they come, of whatever length.
        let mut events = Events::new(64);
        for _ in 0..1_000 {
            assert_eq!(
                events.push(b": keep-alive, keep-alive, keep-alive"),
                Ok(vec![])
            );
        }
        assert!(events.line.len() < 64);
    }
}
