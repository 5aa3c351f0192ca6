//! A TLS server on the loopback address that answers every request alike.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

const CERTIFICATE: &[u8] = include_bytes!("../../../tests/cases/bundles/server.pem");
const KEY: &[u8] = include_bytes!("../../../tests/cases/bundles/server.key");

/// The server; its thread ends with the test program.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    answer: Arc<Mutex<Vec<u8>>>,
    asked: Arc<AtomicUsize>,
}

impl Server {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            answer: Arc::default(),
            asked: Arc::default(),
        };
        let (answer, asked) = (Arc::clone(&server.answer), Arc::clone(&server.asked));
        let config = config();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                asked.fetch_add(1, Ordering::SeqCst);
                let answer = answer.lock().unwrap().clone();
                // A client that turns away is no failure of the server.
                let _ = serve(stream.unwrap(), &config, &answer);
            }
        });
        server
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}/acme.bundle", self.address)
    }

    /// What it answers from now on.
    pub(super) fn answers(&self, head: &str, body: &str) {
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        *self.answer.lock().unwrap() = answer.into_bytes();
    }

    /// How often it was asked.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn config() -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let config = builder.with_no_client_auth();
    Arc::new(config.with_single_cert(vec![certificate], key).unwrap())
}

fn serve(stream: TcpStream, config: &Arc<ServerConfig>, answer: &[u8]) -> std::io::Result<()> {
    let connection = ServerConnection::new(Arc::clone(config)).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    let (mut head, mut byte) = (Vec::new(), [0; 1]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    stream.write_all(answer)?;
    stream.conn.send_close_notify();
    stream.flush()
}
