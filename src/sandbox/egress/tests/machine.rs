//! The network of this machine: what is its own, and who answers.

use tokio::net::TcpListener;

use crate::sandbox::egress::outside::{Outside, ThisMachine};

#[tokio::test]
async fn own_addresses_are_known() {
    let machine = ThisMachine;
    for (address, own) in [
        ("127.0.0.1", true),
        ("93.184.215.14", false),
        ("2606:4700::1111", false),
    ] {
        assert_eq!(machine.is_own(address.parse().unwrap()), own, "{address}");
    }
    // The address from which this machine would talk to others, where it has one.
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    match socket
        .connect("192.0.2.1:9")
        .and_then(|()| socket.local_addr())
    {
        Ok(source) => assert!(machine.is_own(source.ip()), "{source}"),
        Err(error) => println!("skipped: this machine has no way out ({error})"),
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let dialled = machine.dial(at).await.unwrap();
    assert_eq!(
        (dialled.peer, dialled.stream.peer_addr().unwrap()),
        (at, at)
    );
    drop(listener);
    assert!(machine.dial(at).await.is_err());
    assert!(machine.resolve("nowhere.invalid").await.is_err());
}
