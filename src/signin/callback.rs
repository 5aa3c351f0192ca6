//! The one-shot listener on this machine to which the sign-in page sends the browser back.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::answer::{Answer, Expected, read};
use super::endpoint::{Endpoint, Ground};
use super::error::{SignInError, Trouble};

/// A browser says what it wants within this time; one that only opens connections waits for nothing.
const HEAD_LIMIT: Duration = Duration::from_secs(10);
const HEAD_MAX: usize = 16 * 1024;
/// The most connections at once: a browser opens a few in advance.
const CONNECTIONS_MAX: usize = 16;

/// Where a sign-in comes back.
#[derive(Debug)]
pub(super) struct Callback {
    listeners: Vec<TcpListener>,
    redirect: String,
    path: String,
}

impl Callback {
    /// A free port of our own choice.
    pub(super) async fn any() -> Result<Self, SignInError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(|e| port_error(0, &e))?;
        let port = listener.local_addr().map_err(|e| port_error(0, &e))?.port();
        Ok(Self {
            listeners: vec![listener],
            redirect: format!("http://127.0.0.1:{port}/callback"),
            path: "/callback".to_owned(),
        })
    }

    /// This very callback, which is registered at the sign-in server.
    pub(super) async fn at(redirect: &str) -> Result<Self, SignInError> {
        let wrong = |why: &str| {
            let text = format!(
                "the callback {redirect} cannot be used: {why}; write `http://127.0.0.1:PORT/callback`"
            );
            SignInError::new(Trouble::Registration, text)
        };
        let endpoint = Endpoint::read(redirect, Ground::ThisMachine).map_err(|why| wrong(&why))?;
        let target = endpoint.target();
        let rest = redirect
            .strip_prefix("http://")
            .ok_or_else(|| wrong("it is not http"))?;
        let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/");
        if path.contains('?') {
            return Err(wrong("it holds a query"));
        }
        let hosts = match target.host.address() {
            Some(address) if address.is_loopback() => vec![address],
            // A name may lead to both.
            None if target.host.as_str() == "localhost" => {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            }
            _ => return Err(wrong("it is not on this machine")),
        };
        let mut listeners = Vec::new();
        for host in hosts {
            match TcpListener::bind(SocketAddr::new(host, target.port)).await {
                Ok(listener) => listeners.push(listener),
                // A machine without IPv6 has no second one.
                Err(error) if !listeners.is_empty() && error.kind() != io::ErrorKind::AddrInUse => {
                }
                Err(error) => return Err(port_error(target.port, &error)),
            }
        }
        Ok(Self {
            listeners,
            redirect: redirect.to_owned(),
            path: path.to_owned(),
        })
    }

    pub(super) fn redirect(&self) -> &str {
        &self.redirect
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Waits for the answer to this sign-in; the query of the callback. Nobody listens afterwards.
    pub(super) async fn wait(self, expected: Expected) -> Result<String, SignInError> {
        let (sender, mut answers) = mpsc::channel(1);
        let mut tasks = JoinSet::new();
        for listener in self.listeners {
            tasks.spawn(serve(listener, expected.clone(), sender.clone()));
        }
        drop(sender);
        let answer = answers.recv().await;
        // Whoever is still connected is let go with the tasks.
        drop(tasks);
        match answer {
            Some(Answer::Code(query)) => Ok(query),
            Some(Answer::No(code)) => {
                let text = format!("the sign-in server said no: {code}");
                Err(SignInError::new(Trouble::Refused, text))
            }
            Some(Answer::Foreign) => Err(SignInError::new(
                Trouble::Foreign,
                "the answer does not come from the sign-in server that was asked, so it was not used",
            )),
            _ => Err(SignInError::new(
                Trouble::NoAnswer,
                "nobody listens for the answer any more",
            )),
        }
    }
}

fn port_error(port: u16, error: &io::Error) -> SignInError {
    let text = match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!(
                "port {port} of the callback is taken: end the program that uses it, or name another callback"
            )
        }
        _ => format!("nothing can listen for the answer on port {port}: {error}"),
    };
    SignInError::new(Trouble::Port, text)
}

async fn serve(listener: TcpListener, expected: Expected, sender: mpsc::Sender<Answer>) {
    let mut visitors: JoinSet<Option<Answer>> = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if visitors.len() < CONNECTIONS_MAX => {
                let Ok((stream, _)) = accepted else { return };
                visitors.spawn(visit(stream, expected.clone()));
            }
            Some(answer) = visitors.join_next() => {
                if let Ok(Some(answer)) = answer {
                    let _ = sender.send(answer).await;
                    return;
                }
            }
        }
    }
}

/// Answers one browser; what it brought, when it is the answer to this sign-in.
async fn visit(mut stream: TcpStream, expected: Expected) -> Option<Answer> {
    let head = timeout(HEAD_LIMIT, head(&mut stream)).await.ok()??;
    let line = head.split("\r\n").next().unwrap_or_default();
    let answer = read(line, &expected);
    let (status, said) = match &answer {
        Answer::Stray(status, said) => (*status, *said),
        Answer::Foreign => (
            400,
            "This is not the answer of the sign-in server that was asked. It was not used.",
        ),
        Answer::No(_) => (200, "You are not signed in. You can close this page."),
        Answer::Code(_) => (200, "Signed in. You can close this page and go back."),
    };
    let page = page(status, said);
    let _ = timeout(HEAD_LIMIT, async {
        stream.write_all(page.as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
    (!matches!(answer, Answer::Stray(..))).then_some(answer)
}

/// The head of a request; `None` when it is none, or too long.
async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 2048];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut chunk).await.ok()?;
        bytes.extend_from_slice(chunk.get(..read)?);
        if read == 0 || bytes.len() > HEAD_MAX {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

/// A page of fixed text: nothing of the request stands in it.
fn page(status: u16, said: &str) -> String {
    let reason = match status {
        200 => "OK",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Bad Request",
    };
    let body = format!("<!doctype html><meta charset=utf-8><title>Creance</title><p>{said}</p>\n");
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\n\
         content-security-policy: default-src 'none'\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
