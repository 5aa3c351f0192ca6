//! A proxy with a scripted gate and a scripted network, and programs that talk to it.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::sandbox::egress::outside::{Dialled, Later, Outside};
use crate::sandbox::egress::{
    EgressEvent, EgressLimits, Gate, Judging, Proxy, Terms, Verdict, Wanted,
};

/// Longer than anything here takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A public address that stands for the origin of each bench.
pub(super) const PUBLIC: &str = "93.184.215.14";

type Judge = Box<dyn Fn(&Wanted) -> Judging<'static> + Send + Sync>;

/// A gate that does as it is told, and remembers.
pub(super) struct Script {
    judge: Judge,
    pub(super) judged: Mutex<Vec<String>>,
    pub(super) events: Mutex<Vec<EgressEvent>>,
    told: mpsc::UnboundedSender<EgressEvent>,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Script")
    }
}

impl Gate for Script {
    fn judge<'a>(&'a self, wanted: &'a Wanted) -> Judging<'a> {
        self.judged.lock().unwrap().push(wanted.target.to_string());
        (self.judge)(wanted)
    }

    fn report(&self, event: EgressEvent) {
        self.events.lock().unwrap().push(event.clone());
        let _ = self.told.send(event);
    }
}

/// A network in which names and addresses lead where the test says.
#[derive(Debug, Default)]
pub(super) struct Net {
    /// The answers for each name, one for each look-up; the last one stays.
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    /// Where public addresses really are.
    places: Mutex<HashMap<SocketAddr, SocketAddr>>,
    own: Mutex<Vec<IpAddr>>,
    pub(super) looked_up: Mutex<Vec<String>>,
    pub(super) dialled: Mutex<Vec<SocketAddr>>,
    /// Whose address a connection claims to have reached.
    impostor: Mutex<Option<SocketAddr>>,
}

impl Net {
    pub(super) fn name(&self, name: &str, answers: &[&[&str]]) {
        let parse = |answer: &&[&str]| answer.iter().map(|a| a.parse().unwrap()).collect();
        let answers = answers.iter().map(parse).collect();
        self.names.lock().unwrap().insert(name.to_owned(), answers);
    }

    pub(super) fn place(&self, public: &str, port: u16, real: SocketAddr) {
        let public = SocketAddr::new(public.parse().unwrap(), port);
        self.places.lock().unwrap().insert(public, real);
    }

    pub(super) fn own(&self, address: &str) {
        self.own.lock().unwrap().push(address.parse().unwrap());
    }

    pub(super) fn impostor(&self, address: &str) {
        *self.impostor.lock().unwrap() = Some(address.parse().unwrap());
    }
}

impl Outside for Net {
    fn resolve<'a>(&'a self, name: &'a str) -> Later<'a, Vec<IpAddr>> {
        self.looked_up.lock().unwrap().push(name.to_owned());
        let mut names = self.names.lock().unwrap();
        let found = names.get_mut(name).map(|answers| {
            if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers[0].clone()
            }
        });
        Box::pin(async move {
            match found {
                Some(found) => Ok(found),
                None => std::future::pending().await,
            }
        })
    }

    fn dial(&self, to: SocketAddr) -> Later<'_, Dialled> {
        self.dialled.lock().unwrap().push(to);
        let place = self.places.lock().unwrap().get(&to).copied();
        let peer = self.impostor.lock().unwrap().unwrap_or(to);
        Box::pin(async move {
            let place = place.ok_or(io::ErrorKind::ConnectionRefused)?;
            let stream = TcpStream::connect(place).await?;
            Ok(Dialled { stream, peer })
        })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        self.own.lock().unwrap().contains(&address)
    }
}

/// A running proxy, its gate and its network.
pub(super) struct Bench {
    pub(super) proxy: Proxy,
    pub(super) at: SocketAddr,
    pub(super) gate: Arc<Script>,
    pub(super) net: Arc<Net>,
    events: mpsc::UnboundedReceiver<EgressEvent>,
}

impl Bench {
    /// A proxy whose gate allows these targets under these terms, and denies the rest.
    pub(super) fn allowing(targets: &[&str], terms: Terms) -> Self {
        Self::with_limits(targets, terms, EgressLimits::default())
    }

    /// The same within limits.
    pub(super) fn with_limits(targets: &[&str], terms: Terms, limits: EgressLimits) -> Self {
        let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
        Self::new(limits, move |wanted| {
            let verdict = if targets.contains(&wanted.target.to_string()) {
                Verdict::Allow(terms)
            } else {
                Verdict::Deny {
                    reason: "no rule\r\nallows it".to_owned(),
                }
            };
            Box::pin(std::future::ready(verdict))
        })
    }

    /// One whose gate allows everything.
    pub(super) fn open(limits: EgressLimits) -> Self {
        Self::new(limits, |_| {
            Box::pin(std::future::ready(Verdict::Allow(Terms::default())))
        })
    }

    pub(super) fn new(
        limits: EgressLimits,
        judge: impl Fn(&Wanted) -> Judging<'static> + Send + Sync + 'static,
    ) -> Self {
        let (told, events) = mpsc::unbounded_channel();
        let gate = Arc::new(Script {
            judge: Box::new(judge),
            judged: Mutex::default(),
            events: Mutex::default(),
            told,
        });
        let net = Arc::new(Net::default());
        for name in ["api.test", "other.test"] {
            net.name(name, &[&[PUBLIC]]);
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let (a, b): (Arc<dyn Gate>, Arc<dyn Outside>) = (gate.clone(), net.clone());
        let proxy = Proxy::start_with(listener, a, limits, b).unwrap();
        Self {
            proxy,
            at,
            gate,
            net,
            events,
        }
    }

    /// The next thing that the gate hears of.
    pub(super) async fn event(&mut self) -> EgressEvent {
        timeout(PATIENCE, self.events.recv())
            .await
            .unwrap()
            .unwrap()
    }

    pub(super) async fn program(&self) -> Program {
        Program(TcpStream::connect(self.at).await.unwrap())
    }

    /// Sends bytes and reads what comes until the end.
    pub(super) async fn ask(&self, bytes: &[u8]) -> String {
        let mut program = self.program().await;
        program.send(bytes).await;
        program.rest().await
    }

    pub(super) fn judged(&self) -> Vec<String> {
        self.gate.judged.lock().unwrap().clone()
    }

    pub(super) fn looked_up(&self) -> Vec<String> {
        self.net.looked_up.lock().unwrap().clone()
    }

    pub(super) fn dialled(&self) -> Vec<String> {
        let dialled = self.net.dialled.lock().unwrap();
        dialled.iter().map(ToString::to_string).collect()
    }
}

/// A program inside the sandbox.
pub(super) struct Program(pub(super) TcpStream);

impl Program {
    pub(super) async fn send(&mut self, bytes: &[u8]) {
        // Who was refused may be cut off while it still talks.
        let _ = self.0.write_all(bytes).await;
    }

    pub(super) async fn read(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        let read = timeout(PATIENCE, self.0.read_exact(&mut bytes)).await;
        read.unwrap().unwrap();
        bytes
    }

    /// Reads to the end, also when it is a hard one.
    pub(super) async fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        let _ = timeout(PATIENCE, self.0.read_to_end(&mut bytes))
            .await
            .unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Asks for a tunnel and hears that it stands.
    pub(super) async fn connect(&mut self, target: &str) {
        self.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes())
            .await;
        let answer = self.read(ESTABLISHED.len()).await;
        assert_eq!(String::from_utf8_lossy(&answer), ESTABLISHED);
    }
}

pub(super) const ESTABLISHED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

/// A server outside.
pub(super) struct Origin {
    listener: TcpListener,
    pub(super) at: SocketAddr,
}

impl Origin {
    /// Listens, and is where the public address leads at these ports.
    pub(super) async fn start(bench: &Bench, ports: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        for port in ports {
            bench.net.place(PUBLIC, *port, at);
        }
        Self { listener, at }
    }

    pub(super) async fn accept(&self) -> Program {
        let (stream, _) = timeout(PATIENCE, self.listener.accept())
            .await
            .unwrap()
            .unwrap();
        Program(stream)
    }

    /// Accepts, reads a request up to an ending, answers, and closes.
    pub(super) async fn answer(&self, ending: &[u8], answer: &[u8]) -> String {
        let mut program = self.accept().await;
        let mut seen = Vec::new();
        while !seen.ends_with(ending) {
            let read = timeout(PATIENCE, program.0.read_buf(&mut seen)).await;
            assert!(
                read.unwrap().unwrap() > 0,
                "{}",
                String::from_utf8_lossy(&seen)
            );
        }
        program.send(answer).await;
        program.0.shutdown().await.unwrap();
        String::from_utf8(seen).unwrap()
    }
}

/// A TLS hello in one record.
pub(super) fn hello(name: Option<&str>) -> Vec<u8> {
    let names: Vec<(u16, Vec<u8>)> = name
        .map(|name| (0, server_name(name)))
        .into_iter()
        .collect();
    hello_with(&names)
}

/// The content of a `server_name` extension.
pub(super) fn server_name(name: &str) -> Vec<u8> {
    let entry = [&[0][..], &prefixed(name.as_bytes())].concat();
    prefixed(&entry)
}

pub(super) fn prefixed(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
    [&length[..], bytes].concat()
}

pub(super) fn hello_with(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    record(&handshake(extensions))
}

/// The handshake message, without its record.
pub(super) fn handshake(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let each = extensions
        .iter()
        .map(|(kind, data)| [&kind.to_be_bytes()[..], &prefixed(data)].concat());
    let all: Vec<u8> = each.flatten().collect();
    let fixed = [&[3, 3][..], &[7; 32], &[0], &[0, 2, 0x13, 1], &[1, 0]].concat();
    let body = [fixed, prefixed(&all)].concat();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[1][..], &length[1..], &body].concat()
}

pub(super) fn record(content: &[u8]) -> Vec<u8> {
    [&[22, 3, 1][..], &prefixed(content)].concat()
}
