//! Tunnels by CONNECT and SOCKS5: what stands, and what must pass first.

use tokio::io::AsyncWriteExt;

use super::bench::{Bench, Origin, PUBLIC, hello, hello_with, prefixed, record, server_name};
use crate::address::Reach;
use crate::sandbox::egress::gate::Way;
use crate::sandbox::egress::{Carries, EgressEvent, End, Terms, Traffic};

fn web() -> Terms {
    Terms::default()
}

fn anything(reach: Reach) -> Terms {
    Terms {
        reach,
        carries: Carries::Anything,
    }
}

#[tokio::test]
async fn an_allowed_host_is_reached_by_connect() {
    let mut bench = Bench::allowing(&["api.test:443"], web());
    let origin = Origin::start(&bench, &[443]).await;
    let mut program = bench.program().await;
    program.connect("API.test.:443").await;
    let hello = hello(Some("api.test"));
    program.send(&hello).await;
    let mut host = origin.accept().await;
    assert_eq!(host.read(hello.len()).await, hello);
    host.send(b"answer").await;
    assert_eq!(program.read(6).await, b"answer");
    // Each side's end reaches the other, and the connection outlives half of it.
    program.0.shutdown().await.unwrap();
    assert_eq!(host.rest().await, "");
    host.send(b"more").await;
    drop(host);
    assert_eq!(program.rest().await, "more");
    assert_eq!(bench.dialled(), [format!("{PUBLIC}:443")]);
    let EgressEvent::Opened { wanted } = bench.event().await else {
        panic!()
    };
    assert_eq!(
        (wanted.target.to_string().as_str(), wanted.way),
        ("api.test:443", Way::Connect)
    );
    let traffic = Traffic {
        up: hello.len() as u64,
        down: 10,
    };
    let end = End::Done;
    assert_eq!(
        bench.event().await,
        EgressEvent::Closed {
            wanted,
            end,
            traffic
        }
    );
    let totals = bench.proxy.registry.totals();
    assert_eq!(totals.len(), 1);
    assert_eq!(totals[0].1, traffic);
}

#[tokio::test]
async fn an_allowed_host_is_reached_by_socks() {
    let bench = Bench::allowing(
        &["api.test:443", "93.184.215.14:443", "[2606::1]:443"],
        web(),
    );
    let origin = Origin::start(&bench, &[443]).await;
    bench.net.place("2606::1", 443, origin.at);
    let name = [&[3, 8][..], b"api.test"].concat();
    let v6 = [&[4, 0x26, 6][..], &[0; 13], &[1]].concat();
    for (address, named) in [
        (name, Some("api.test")),
        (vec![1, 93, 184, 215, 14], None),
        ([&[3, 13][..], b"93.184.215.14"].concat(), None),
        (v6, None),
    ] {
        let mut program = bench.program().await;
        program.send(&[5, 2, 2, 0]).await;
        assert_eq!(program.read(2).await, [5, 0]);
        program
            .send(&[&[5, 1, 0][..], &address, &[1, 187]].concat())
            .await;
        assert_eq!(program.read(10).await, [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        let hello = hello(named);
        program.send(&hello).await;
        let mut host = origin.accept().await;
        assert_eq!(host.read(hello.len()).await, hello);
    }
}

/// A program may send everything at once.
#[tokio::test]
async fn early_bytes_are_kept() {
    let bench = Bench::allowing(&["api.test:443"], web());
    let origin = Origin::start(&bench, &[443]).await;
    let hello = hello(Some("api.test"));
    let connect = b"CONNECT api.test:443 HTTP/1.0\r\n\r\n".to_vec();
    let socks = [&[5, 1, 0, 5, 1, 0, 3, 8][..], b"api.test", &[1, 187]].concat();
    for start in [connect, socks] {
        let mut program = bench.program().await;
        program.send(&[&start, &hello[..], b"rest"].concat()).await;
        let mut host = origin.accept().await;
        assert_eq!(
            host.read(hello.len() + 4).await,
            [&hello[..], b"rest"].concat()
        );
    }
}

/// Hellos with more than one name: a list of two, and two extensions.
fn two_names() -> [Vec<u8>; 3] {
    let named = |names: &[&str]| {
        let each = names
            .iter()
            .map(|name| (0, server_name(name)))
            .collect::<Vec<_>>();
        hello_with(&each)
    };
    let entry = |name: &[u8]| [&[0][..], &prefixed(name)].concat();
    let list = [entry(b"api.test"), entry(b"evil.test")].concat();
    [
        named(&["api.test", "evil.test"]),
        named(&["api.test", "api.test"]),
        hello_with(&[(0, prefixed(&list))]),
    ]
}

/// What a tunnel to `api.test` may start with, and whether it passes.
fn beginnings() -> Vec<(&'static str, Vec<u8>, bool)> {
    let good = hello(Some("api.test"));
    let message = &good[5..];
    let in_records = |size: usize| message.chunks(size).flat_map(record).collect::<Vec<u8>>();
    let [extensions, twice, list] = two_names();
    let ssl2 = [0x80, 0x2e, 1, 3, 1, 0, 3, 0, 0].to_vec();
    vec![
        ("the same host", good.clone(), true),
        ("in upper case", hello(Some("API.TEST")), true),
        ("in many records", in_records(7), true),
        ("in records of one byte", in_records(1), true),
        ("another host", hello(Some("evil.test")), false),
        ("a host below", hello(Some("x.api.test")), false),
        ("a look-alike", hello(Some("api.test.evil.test")), false),
        ("a NUL", hello(Some("api.test\0.evil.test")), false),
        ("an address", hello(Some("93.184.215.14")), false),
        ("no host", hello(None), false),
        ("an empty name", hello(Some("")), false),
        ("two extensions", extensions, false),
        ("twice the same", twice, false),
        ("two names", list, false),
        (
            "a hidden name",
            hello_with(&[(0, server_name("api.test")), (0xfe0d, vec![0; 40])]),
            false,
        ),
        (
            "a name hidden of old",
            hello_with(&[(0, server_name("api.test")), (0xffce, vec![0; 9])]),
            false,
        ),
        (
            "more in its record",
            record(&[message, &[11, 0, 0, 0]].concat()),
            false,
        ),
        ("an empty record", [&record(b"")[..], &good].concat(), false),
        (
            "another record first",
            [&[23, 3, 3, 0, 1, 0][..], &good].concat(),
            false,
        ),
        ("another message", record(&[2, 0, 0, 0]), false),
        ("SSL 2", ssl2, false),
        ("SSH", b"SSH-2.0-OpenSSH_9\r\n\r\n".to_vec(), false),
        ("bytes", vec![0; 64], false),
        (
            "HTTP/2 in the clear",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            false,
        ),
    ]
}

#[tokio::test]
async fn what_passes_first_names_the_host() {
    for (what, bytes, passes) in beginnings() {
        let bench = Bench::allowing(&["api.test:443"], web());
        let origin = Origin::start(&bench, &[443]).await;
        let mut program = bench.program().await;
        program.connect("api.test:443").await;
        let mut host = origin.accept().await;
        program.send(&bytes).await;
        if passes {
            assert_eq!(host.read(bytes.len()).await, bytes, "{what}");
            continue;
        }
        assert_eq!(host.rest().await, "", "{what}: nothing of it passes");
        program.rest().await;
        let events = bench.gate.events.lock().unwrap().clone();
        assert!(
            matches!(events[..], [EgressEvent::Refused { .. }]),
            "{what}: {events:?}"
        );
    }
}

/// One byte a packet: nothing is decided before the hello is whole.
#[tokio::test]
async fn a_hello_may_come_in_pieces() {
    let bench = Bench::allowing(&["api.test:443"], web());
    let origin = Origin::start(&bench, &[443]).await;
    for (name, passes) in [("api.test", true), ("evil.test", false)] {
        let mut program = bench.program().await;
        program.connect("api.test:443").await;
        let mut host = origin.accept().await;
        let hello = hello(Some(name));
        for byte in &hello {
            program.send(&[*byte]).await;
            tokio::task::yield_now().await;
        }
        if passes {
            assert_eq!(host.read(hello.len()).await, hello);
        } else {
            assert_eq!(host.rest().await, "");
        }
    }
}

/// Where the host is an address, no name stands in the hello, or the address does.
#[tokio::test]
async fn an_address_needs_no_name() {
    for (named, passes) in [
        (None, true),
        (Some("93.184.215.14"), true),
        (Some("api.test"), false),
        (Some("93.184.215.15"), false),
    ] {
        let bench = Bench::allowing(&["93.184.215.14:443"], web());
        let origin = Origin::start(&bench, &[443]).await;
        let mut program = bench.program().await;
        program.connect("93.184.215.14:443").await;
        let mut host = origin.accept().await;
        let hello = hello(named);
        program.send(&hello).await;
        if passes {
            assert_eq!(host.read(hello.len()).await, hello, "{named:?}");
        } else {
            assert_eq!(host.rest().await, "", "{named:?}");
        }
    }
}

/// By an explicit rule any bytes pass, also when the host speaks first.
#[tokio::test]
async fn an_explicit_rule_carries_anything() {
    let bench = Bench::allowing(&["api.test:22"], anything(Reach::Public));
    let origin = Origin::start(&bench, &[22]).await;
    let mut program = bench.program().await;
    program.connect("api.test:22").await;
    let mut host = origin.accept().await;
    host.send(b"SSH-2.0-x\r\n").await;
    assert_eq!(program.read(11).await, b"SSH-2.0-x\r\n");
    program.send(b"SSH-2.0-y\r\n").await;
    assert_eq!(host.read(11).await, b"SSH-2.0-y\r\n");
}

/// A literal that a rule names is reached, whatever its class; a name never is by the same terms.
#[tokio::test]
async fn a_named_address_is_reached() {
    let bench = Bench::allowing(&["127.0.0.1:5432", "api.test:5432"], anything(Reach::Named));
    let origin = Origin::start(&bench, &[]).await;
    bench.net.place("127.0.0.1", 5432, origin.at);
    bench.net.name("api.test", &[&["127.0.0.1"]]);
    bench.net.own("127.0.0.1");
    let mut program = bench.program().await;
    program.connect("127.0.0.1:5432").await;
    program.send(b"\0").await;
    assert_eq!(origin.accept().await.read(1).await, b"\0");
    let answer = bench.ask(b"CONNECT api.test:5432 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(bench.dialled().len(), 1);
}

/// Plain HTTP through a tunnel, as some programs do it, is held to the same rules as without one.
#[tokio::test]
async fn plain_http_in_a_tunnel_names_its_host() {
    let bench = Bench::allowing(&["api.test:80"], web());
    let origin = Origin::start(&bench, &[80]).await;
    let mut program = bench.program().await;
    program.connect("api.test:80").await;
    program
        .send(b"GET /x HTTP/1.1\r\nHost: API.test\r\nProxy-Authorization: x\r\n\r\n")
        .await;
    let seen = origin
        .answer(b"\r\n\r\n", b"HTTP/1.1 204 None\r\n\r\n")
        .await;
    assert_eq!(
        seen,
        "GET /x HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(
        program.rest().await,
        "HTTP/1.1 204 None\r\nConnection: close\r\n\r\n"
    );
    for request in [
        "GET /x HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n",
        "CONNECT evil.test:443 HTTP/1.1\r\nHost: api.test\r\n\r\n",
        "GET /x HTTP/1.1\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: api.test\r\n\r\nGET /y HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    ] {
        let mut program = bench.program().await;
        program.connect("api.test:80").await;
        let mut host = origin.accept().await;
        program.send(request.as_bytes()).await;
        let answer = program.rest().await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{request:?}: {answer}");
        assert_eq!(host.rest().await, "", "{request:?}");
    }
}

/// Where TLS alone is allowed, plain HTTP passes neither in a tunnel nor without one.
#[tokio::test]
async fn tls_alone_is_tls_alone() {
    let terms = Terms {
        carries: Carries::Tls,
        ..Terms::default()
    };
    let bench = Bench::allowing(&["api.test:80"], terms);
    let origin = Origin::start(&bench, &[80]).await;
    let plain = bench
        .ask(b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")
        .await;
    assert!(plain.starts_with("HTTP/1.1 403 "), "{plain}");
    assert_eq!(bench.dialled(), [""; 0]);
    let mut program = bench.program().await;
    program.connect("api.test:80").await;
    let mut host = origin.accept().await;
    program
        .send(b"GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
        .await;
    assert_eq!(host.rest().await, "");
    let answer = program.rest().await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let mut program = bench.program().await;
    program.connect("api.test:80").await;
    let hello = hello(Some("api.test"));
    program.send(&hello).await;
    assert_eq!(origin.accept().await.read(hello.len()).await, hello);
}
