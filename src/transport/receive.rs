//! What a server sends: answers to their calls, requests of its own to whoever listens, the rest
//! told.

use tokio::io::AsyncRead;

use crate::protocol::json::{Json, MESSAGE_MAX, Object, Parsed, Reason, read};
use crate::protocol::rpc::{Fault, Message, Misfit, Notification, Request, Response};

use super::asks::Asks;
use super::calls::Calls;
use super::error::CallError;
use super::events::Board;
use super::lines::{Line, Lines};
use super::outbox::Outbox;

/// Takes messages until the stream ends or fails. Never waits for anything but the stream.
pub(super) async fn receive(
    stream: impl AsyncRead + Unpin,
    calls: &Calls,
    outbox: &Outbox,
    (board, asks): (&Board, &Asks),
) {
    let server = Server {
        calls,
        outbox,
        board,
        asks,
    };
    let mut lines = Lines::new(stream);
    while let Ok(Some(line)) = lines.next().await {
        match line {
            Line::Whole(line) => server.line(line),
            Line::TooLong(head) => server.too_long(head),
        }
    }
}

struct Server<'a> {
    calls: &'a Calls,
    outbox: &'a Outbox,
    board: &'a Board,
    asks: &'a Asks,
}

impl Server<'_> {
    fn line(&self, line: &[u8]) {
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return;
        }
        match self.parse(line) {
            // Batches are part of 2025-03-26 only; a server that sends one is understood.
            Ok(Json::Array(messages)) if !messages.is_empty() => {
                for message in messages {
                    self.message(Message::from_json(message), line);
                }
            }
            Ok(json) => self.message(Message::from_json(json), line),
            Err(misfit) => self.misfit(&misfit, line),
        }
    }

    /// Reads a line; bad bytes are mended, as the answer that they stand in is still an answer.
    fn parse(&self, line: &[u8]) -> Result<Json, Misfit> {
        let first = read(line);
        let bad_bytes = matches!(&first, Err(error) if error.reason == Reason::Utf8);
        let parsed = if bad_bytes {
            read(String::from_utf8_lossy(line).as_bytes())
        } else {
            first
        };
        let Parsed { json, repaired } =
            parsed.map_err(|error| Misfit::of_bytes(Fault::Unreadable(error), line))?;
        if bad_bytes || repaired > 0 {
            self.board.mended();
        }
        Ok(json)
    }

    fn message(&self, message: Result<Message, Misfit>, line: &[u8]) {
        match message {
            // A late answer, after a timeout or a cancel, is nobody's.
            Ok(Message::Response(response)) => drop(self.calls.answer(response)),
            Ok(Message::Notification(note)) => self.notification(note),
            Ok(Message::Request(request)) => self.request(request),
            Err(misfit) => self.misfit(&misfit, line),
        }
    }

    fn notification(&self, note: Notification) {
        match (note.method.as_str(), note.params) {
            ("notifications/progress", Some(params)) => self.calls.progress(params),
            ("notifications/progress", None) => {}
            (_, params) => {
                let method = note.method;
                let note = self.asks.note(Notification { method, params });
                note.into_iter().for_each(|note| self.board.note(note));
            }
        }
    }

    /// Answers what the server asks.
    fn request(&self, request: Request) {
        if request.method != "ping" {
            return self.asks.put(request);
        }
        let answer = Response {
            id: request.id,
            outcome: Ok(Json::Object(Object::default())),
        };
        self.outbox.offer(Message::from(answer).to_line());
    }

    /// A line that is no message fails the call that it was meant for, or is set aside.
    fn misfit(&self, misfit: &Misfit, line: &[u8]) {
        let counter = misfit.id.as_ref().and_then(|id| id.as_counter());
        let meant = match counter {
            None if misfit.answers => self.calls.only(),
            counter => counter.filter(|_| misfit.answers),
        };
        let error = CallError::Reply(misfit.to_string());
        if meant.is_some_and(|id| self.calls.settle(id, Err(error))) {
            return;
        }
        if misfit.calls && misfit.id.is_some() {
            misfit
                .reply()
                .into_iter()
                .for_each(|l| self.outbox.offer(l));
        }
        self.board.stray(line);
    }

    /// Without its end, a line cannot be read: whoever may wait for it must not wait for ever.
    fn too_long(&self, head: &[u8]) {
        let fault = Fault::TooLong(MESSAGE_MAX);
        let error = CallError::Reply(fault.to_string());
        self.board.stray(head);
        if !head.trim_ascii_start().starts_with(b"{") {
            return;
        }
        let misfit = Misfit::of_bytes(fault, head);
        match misfit.id.as_ref().and_then(|id| id.as_counter()) {
            Some(id) if !misfit.calls => drop(self.calls.settle(id, Err(error))),
            _ if misfit.calls => {}
            _ => self.calls.fail_all(&error),
        }
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
