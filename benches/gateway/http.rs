//! The echo server and a client over Streamable HTTP: as little as a bench needs, without a library whose
//! own time would be measured.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{HTTP_FLAG, Outcome, Peer, hello, reply};

/// Serves the echo tool on loopback, and says where.
pub(super) fn echo() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        std::thread::spawn(move || {
            let _gone = answer_all(stream);
        });
    }
    Ok(())
}

fn answer_all(stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BufReader::new(stream.try_clone()?);
    let mut output = stream;
    while let Some((head, body)) = message(&mut input)? {
        let answer = match head.starts_with("POST ") {
            true => answer(&serde_json::from_slice(&body)?),
            false => empty("405 Method Not Allowed"),
        };
        output.write_all(answer.as_bytes())?;
    }
    Ok(())
}

fn answer(message: &Value) -> String {
    let Some(id) = message.get("id") else {
        return empty("202 Accepted");
    };
    let body = reply(message, id).to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn empty(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")
}

/// One message: the lines of its head, and its body; `None` when there is none any more.
fn message(input: &mut impl BufRead) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        head.push_str(&line);
        line.make_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        if line.trim_end().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(Some((head, body)))
}

/// The echo server as a process of its own.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start() -> Outcome<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(HTTP_FLAG)
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("no pipe")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().parse()?;
        Ok(Self { child, address })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A client over one connection a call that is in flight.
pub(crate) struct HttpClient {
    address: SocketAddr,
    /// Held for the gateway that it started.
    child: Option<Child>,
    session: String,
    connections: Vec<BufReader<TcpStream>>,
    last_id: u64,
}

impl HttpClient {
    /// A client of a server that runs.
    pub(crate) fn direct(address: SocketAddr) -> Outcome<Self> {
        Self::join(address, None)
    }

    /// A client of a gateway that this starts on a free port.
    pub(crate) fn through(mut creance: impl FnMut(&[&str]) -> Command) -> Outcome<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let child = creance(&["serve", "--no-token", "--http", &address.to_string()])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Self::join(address, Some(child))
    }

    fn join(address: SocketAddr, child: Option<Child>) -> Outcome<Self> {
        let mut client = Self {
            address,
            child,
            session: String::new(),
            connections: Vec::new(),
            last_id: 0,
        };
        let end = Instant::now() + Duration::from_secs(10);
        while let Err(error) = TcpStream::connect(address) {
            if Instant::now() > end {
                return Err(error.into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let head = client.exchange(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello(),
        }))?;
        let session = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id")
                .then(|| format!("Mcp-Session-Id: {}\r\n", value.trim()))
        });
        client.session = session.unwrap_or_default();
        client.exchange(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Sends one message and gives the head of its answer.
    fn exchange(&mut self, body: &Value) -> Outcome<String> {
        self.send(0, body)?;
        Ok(self.hear(0)?.0)
    }

    fn send(&mut self, at: usize, body: &Value) -> Outcome<()> {
        while self.connections.len() <= at {
            let stream = TcpStream::connect(self.address)?;
            stream.set_nodelay(true)?;
            self.connections.push(BufReader::new(stream));
        }
        let body = body.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n\
             {}Content-Length: {}\r\n\r\n{body}",
            self.address,
            self.session,
            body.len()
        );
        self.connections[at]
            .get_mut()
            .write_all(request.as_bytes())?;
        Ok(())
    }

    fn hear(&mut self, at: usize) -> Outcome<(String, Vec<u8>)> {
        message(&mut self.connections[at])?.ok_or_else(|| "the connection ended".into())
    }
}

impl Peer for HttpClient {
    fn requests(&mut self, method: &str, params: &[Value]) -> Outcome<Vec<Value>> {
        for (at, params) in params.iter().enumerate() {
            self.last_id += 1;
            let id = self.last_id;
            let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            self.send(at, &body)?;
        }
        (0..params.len())
            .map(|at| {
                let (head, body) = self.hear(at)?;
                serde_json::from_slice(&body).map_err(|error| {
                    let body = String::from_utf8_lossy(&body);
                    format!("{error}: {head:.400}{body:.400}").into()
                })
            })
            .collect()
    }
}

impl Drop for HttpClient {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _gone = child.kill();
            let _reaped = child.wait();
        }
    }
}
