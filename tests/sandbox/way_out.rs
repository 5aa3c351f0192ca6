//! The one way out of a sandbox whose hosts are decided one by one: a listener inside, held by main
//! outside. Nothing else opens with it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use creance::{Guarantee, Network, internal};

use crate::world::{World, backends, block_on};

/// The port inside, as programs are told it.
const PORT: &str = "61128";

/// What the program inside says through the proxy's port, main hears; a listener of the machine on the
/// same port hears nothing.
pub(crate) fn handover() {
    for backend in backends() {
        let world = World::new();
        // The namespace has its own ports: the machine's may be taken.
        let host = TcpListener::bind(format!("127.0.0.1:{PORT}")).ok();
        let mut grant = world.grant();
        grant.network = Network::Hosts;
        let mut launch = world.shell("");
        launch.program = std::env::current_exe().unwrap();
        launch.args = ["ground", "say", PORT].map(str::to_owned).to_vec();
        block_on(async {
            let mut running = internal::start(&backend, &launch, &grant).await.unwrap();
            let listener = running.listener();
            let per_host = running.confinement.enforces(Guarantee::NetworkPerHost);
            assert!(
                running.confinement.enforces(Guarantee::Network),
                "{backend}"
            );
            assert_eq!(listener.is_some(), per_host, "{backend}");
            assert_eq!(per_host, backend != "linux-landlock", "{backend}");
            let heard = listener.map(|listener| std::thread::spawn(move || hear(&listener)));
            let (out, err, _) = running.finish(b"").await;
            let want = if per_host {
                "answered\n"
            } else {
                "not reached\n"
            };
            assert_eq!(out, want, "{backend}: {err}");
            if let Some(heard) = heard {
                assert_eq!(heard.join().unwrap(), "hello", "{backend}");
            }
        });
        if let Some(host) = host {
            host.set_nonblocking(true).unwrap();
            assert!(host.accept().is_err(), "{backend}: it came through");
        }
    }
}

fn hear(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().unwrap();
    let limit = Some(Duration::from_secs(10));
    stream.set_read_timeout(limit).unwrap();
    let mut text = [0; 5];
    stream.read_exact(&mut text).unwrap();
    stream.write_all(b"answered").unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

/// Inside: speaks to a port of the own loopback.
pub(crate) fn say(port: &str) {
    let Ok(mut stream) = std::net::TcpStream::connect(format!("127.0.0.1:{port}")) else {
        println!("not reached");
        return;
    };
    stream.write_all(b"hello").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    println!("{answer}");
}
