//! An HTTP server on the loopback address that plays a part: what it answers to each request, byte for
//! byte.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::address::WebUrl;

/// What is done for one request.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// These bytes, then the connection ends.
    Raw(Vec<u8>),
    /// These bytes, then silence.
    Hang(Vec<u8>),
    /// These bytes, then the others again and again.
    Endless(Vec<u8>, Vec<u8>),
}

/// A request as it came: its head in lower case, and its body.
#[derive(Clone, Debug)]
pub(super) struct Came {
    pub(super) head: String,
    pub(super) body: String,
}

/// The server; it ends with the test.
#[derive(Clone, Debug)]
pub(super) struct Played {
    pub(super) port: u16,
    came: Arc<Mutex<Vec<Came>>>,
}

impl Played {
    pub(super) async fn start(part: impl Fn(&Came) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let played = Self {
            port: listener.local_addr().unwrap().port(),
            came: Arc::default(),
        };
        let came = Arc::clone(&played.came);
        let part: Arc<dyn Fn(&Came) -> Reply + Send + Sync> = Arc::new(part);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&came), Arc::clone(&part)));
            }
        });
        played
    }

    pub(super) fn url(&self, path: &str) -> WebUrl {
        WebUrl::read(&format!("http://127.0.0.1:{}{path}", self.port)).unwrap()
    }

    /// All requests so far.
    pub(super) fn came(&self) -> Vec<Came> {
        self.came.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    came: Arc<Mutex<Vec<Came>>>,
    part: Arc<dyn Fn(&Came) -> Reply + Send + Sync>,
) {
    let Some(request) = read(&mut stream).await else {
        return;
    };
    let reply = part(&request);
    came.lock().unwrap().push(request);
    // A client that turns away is no failure of the server.
    match reply {
        Reply::Raw(bytes) => {
            let _ = stream.write_all(&bytes).await;
        }
        Reply::Hang(bytes) => {
            let _ = stream.write_all(&bytes).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        Reply::Endless(bytes, again) => {
            let mut sent = stream.write_all(&bytes).await;
            while sent.is_ok() {
                sent = stream.write_all(&again).await;
            }
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Came> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8_lossy(&bytes[end..]).into_owned();
    Some(Came { head, body })
}

/// An answer with a body.
pub(super) fn answer(status: &str, fields: &str, body: &str) -> Reply {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{fields}content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    Reply::Raw(format!("{head}{body}").into_bytes())
}

pub(super) fn json(body: &str) -> Reply {
    answer("200 OK", "content-type: application/json\r\n", body)
}

pub(super) const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// A stream of events that ends.
pub(super) fn events(body: &str) -> Reply {
    Reply::Raw(format!("{STREAM}{body}").into_bytes())
}
