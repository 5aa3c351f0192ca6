//! One request of plain HTTP and its answer, each with a head that is written anew.

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};

use super::body::Body;
use super::client::Client;
use super::gate::End;
use super::head::{self, AnswerHead, Misfit};
use super::meter::{Direction, Meter};
use super::relay::{pass, pump};
use super::request::Forward;

/// Interim answers (100, 103) before the one that counts.
const INTERIM_MAX: usize = 16;
const PIECE: usize = 16 << 10;

/// Fields of an answer that end at a proxy.
const HOP: &[&str] = &["connection", "keep-alive", "upgrade"];

/// Sends the request, passes the answer on, and ends: one request a connection.
pub(super) async fn exchange(
    client: &mut Client,
    host: TcpStream,
    forward: Forward,
    (meter, head_max): (&Meter, usize),
) -> End {
    let early = client.take_held();
    let (mut from_program, mut to_program) = client.stream.split();
    let (mut from_host, mut to_host) = host.into_split();
    let up = async {
        pass(&forward.head, &mut to_host, meter, Direction::Up).await?;
        let sent = send_body(
            (early, &mut from_program),
            &mut to_host,
            forward.body,
            meter,
        );
        sent.await?;
        // Nothing more is read: a second request is nobody's.
        std::future::pending::<Result<(), End>>().await
    };
    let down = answer(&mut from_host, &mut to_program, meter, head_max);
    tokio::select! {
        Err(end) = up => end,
        down = down => down.err().unwrap_or(End::Done),
        () = meter.idle() => End::Idle,
    }
}

/// Passes the body on, and nothing behind it.
async fn send_body(
    (early, from): (Vec<u8>, &mut ReadHalf<'_>),
    to: &mut OwnedWriteHalf,
    mut body: Body,
    meter: &Meter,
) -> Result<(), End> {
    let mut piece = early;
    loop {
        let taken = body.take(&piece).map_err(|_| End::Broken)?;
        let own = piece.get(..taken).unwrap_or_default();
        pass(own, to, meter, Direction::Up).await?;
        if body.is_done() {
            return Ok(());
        }
        piece.clear();
        let mut limited = (&mut *from).take(PIECE as u64);
        match limited.read_buf(&mut piece).await {
            Ok(count) if count > 0 => {}
            _ => return Err(End::Broken),
        }
    }
}

/// Passes the answer on: its head strictly read, its body to the end of the connection.
async fn answer(
    from: &mut OwnedReadHalf,
    to: &mut WriteHalf<'_>,
    meter: &Meter,
    head_max: usize,
) -> Result<(), End> {
    let mut held = Vec::new();
    for _ in 0..INTERIM_MAX {
        let end = match head_end(from, &mut held, head_max).await {
            Ok(end) => end,
            Err(misfit) => return failed(to, misfit, meter).await,
        };
        let rest = held.split_off(end);
        let head = match AnswerHead::read(&held) {
            Ok(head) if head.status != 101 => head,
            Ok(_) => return failed(to, "it switches to another protocol", meter).await,
            Err(misfit) => return failed(to, misfit, meter).await,
        };
        pass(&rewritten(&head), to, meter, Direction::Down).await?;
        if head.status >= 200 {
            pass(&rest, to, meter, Direction::Down).await?;
            return pump(from, to, meter, Direction::Down).await;
        }
        held = rest;
    }
    Err(End::Broken)
}

/// Reads until a head is complete.
async fn head_end(
    from: &mut OwnedReadHalf,
    held: &mut Vec<u8>,
    max: usize,
) -> Result<usize, Misfit> {
    let mut seen = 0;
    loop {
        if let Some(end) = head::end(held, seen)? {
            return Ok(end);
        }
        seen = held.len();
        let room = max.saturating_sub(seen);
        if room == 0 {
            return Err("its head is too large");
        }
        let mut limited = (&mut *from).take(room as u64);
        match limited.read_buf(held).await {
            Ok(count) if count > 0 => {}
            _ => return Err("it broke off"),
        }
    }
}

/// Tells the program that the host's answer is none.
async fn failed(to: &mut WriteHalf<'_>, misfit: Misfit, meter: &Meter) -> Result<(), End> {
    let text = format!("creance: the host's answer is not HTTP as it should be: {misfit}");
    let message = super::answer::http(502, "Bad Gateway", &text);
    pass(&message, to, meter, Direction::Down).await?;
    Err(End::Broken)
}

/// The head as the program gets it.
fn rewritten(head: &AnswerHead) -> Vec<u8> {
    let mut out = head.line.clone().into_bytes();
    out.extend_from_slice(b"\r\n");
    let named = head.fields.words("connection");
    for (name, value) in head.fields.iter() {
        let lower = name.to_ascii_lowercase();
        let framing = ["content-length", "transfer-encoding"].contains(&lower.as_str());
        let hop = HOP.contains(&lower.as_str()) || lower.starts_with("proxy-");
        if hop || (named.contains(&lower) && !framing) {
            continue;
        }
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    if head.status >= 200 {
        out.extend_from_slice(b"Connection: close\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out
}
