//! What is denied or refused, how the program hears of it, and that nothing leaks before.

use super::bench::{Bench, Origin, PUBLIC};
use crate::sandbox::egress::{EgressEvent, Refusal, Terms};

#[tokio::test]
async fn a_denial_is_told_and_asks_no_resolver() {
    let bench = Bench::allowing(&[], Terms::default());
    let connect = bench
        .ask(b"CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
        .await;
    let (head, body) = connect.split_once("\r\n\r\n").unwrap();
    assert_eq!(
        body,
        "creance: this program may not connect to api.test:443: no rule  allows it\n"
    );
    assert!(
        head.starts_with("HTTP/1.1 403 Denied: api.test:443\r\n"),
        "{head}"
    );
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())));
    let plain = bench
        .ask(b"GET http://api.test/?q=1 HTTP/1.1\r\nHost: api.test\r\n\r\n")
        .await;
    assert!(
        plain.starts_with("HTTP/1.1 403 Denied: api.test:80\r\n"),
        "{plain}"
    );
    let mut program = bench.program().await;
    program
        .send(&[&[5, 1, 0, 5, 1, 0, 3, 8][..], b"api.test", &[1, 187]].concat())
        .await;
    assert_eq!(program.read(12).await, [5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(program.rest().await, "");
    assert_eq!(
        bench.judged(),
        ["api.test:443", "api.test:80", "api.test:443"]
    );
    assert_eq!(bench.looked_up(), [""; 0]);
    // The gate knows its own denials.
    assert_eq!(*bench.gate.events.lock().unwrap(), []);
}

/// What stands in a `CONNECT` line, and what the gate is asked.
const AUTHORITIES: &[(&str, Option<&str>)] = &[
    ("api.test:443", Some("api.test:443")),
    ("API.TEST:443", Some("api.test:443")),
    ("api.test.:443", Some("api.test:443")),
    ("sub.api.test:443", Some("sub.api.test:443")),
    ("api.test.evil.test:443", Some("api.test.evil.test:443")),
    ("xn--bcher-kva.test:443", Some("xn--bcher-kva.test:443")),
    ("api.test:8443", Some("api.test:8443")),
    ("2130706433:80", Some("127.0.0.1:80")),
    ("0x7f.1:80", Some("127.0.0.1:80")),
    ("0177.0.0.1:80", Some("127.0.0.1:80")),
    ("127.1:80", Some("127.0.0.1:80")),
    ("8.8.8.8:53", Some("8.8.8.8:53")),
    ("[::ffff:7f00:1]:80", Some("127.0.0.1:80")),
    ("[::1]:80", Some("[::1]:80")),
    ("b\u{fc}cher.test:443", None),
    ("api.test", None),
    ("api.test:0", None),
    ("api.test:443x", None),
    ("api..test:443", None),
    ("api.test..:443", None),
    ("a%00.test:443", None),
    ("api%2etest:443", None),
    ("[fe80::1%25eth0]:80", None),
    ("[fe80::1%eth0]:80", None),
    ("user:pw@api.test:443", None),
    ("api.test:443@evil.test:443", None),
    ("api.test\\.evil.test:443", None),
    ("/api.test:443", None),
    ("https://api.test:443", None),
];

/// The same for names in SOCKS requests, to port 443.
const SOCKS_NAMES: &[(&[u8], Option<&str>)] = &[
    (b"API.test.", Some("api.test:443")),
    (b"127.1", Some("127.0.0.1:443")),
    (b"api.test\0.evil.test", None),
    (b"\0", None),
    (b"", None),
    (b"api.test\r\n", None),
    (b" api.test", None),
    (b"b\xc3\xbccher.test", None),
    (b"::1", None),
    (b"fe80::1%eth0", None),
    (b"api.test:80", None),
];

/// The gate sees one spelling of a host, or none.
#[tokio::test]
async fn targets_are_canonical_before_they_are_judged() {
    let bench = Bench::allowing(&[], Terms::default());
    for (sent, want) in AUTHORITIES {
        let before = bench.judged().len();
        bench
            .ask(format!("CONNECT {sent} HTTP/1.1\r\n\r\n").as_bytes())
            .await;
        let judged = bench.judged();
        assert_eq!(
            judged.get(before).map(String::as_str),
            *want,
            "CONNECT {sent}"
        );
    }
    for (name, want) in SOCKS_NAMES {
        let before = bench.judged().len();
        let length = u8::try_from(name.len()).unwrap();
        bench
            .ask(&[&[5, 1, 0, 5, 1, 0, 3, length][..], name, &[1, 187]].concat())
            .await;
        let judged = bench.judged();
        assert_eq!(
            judged.get(before).map(String::as_str),
            *want,
            "SOCKS {name:?}"
        );
    }
}

/// A permitted name that leads where it may not: told by class, never by address.
#[tokio::test]
async fn addresses_are_judged_after_the_look_up() {
    let bench = Bench::open(crate::sandbox::egress::EgressLimits::default());
    Origin::start(&bench, &[443]).await;
    bench.net.own("93.184.215.99");
    for (answers, why) in [
        (&["127.0.0.1"][..], "loopback"),
        (&["::1"], "loopback"),
        (&["::ffff:127.0.0.1"], "loopback"),
        (&["169.254.169.254"], "metadata"),
        (&["64:ff9b::a9fe:a9fe"], "metadata"),
        (&["10.1.2.3"], "private"),
        (&["100.64.0.1"], "private"),
        (&["fd00::1"], "private"),
        (&["fe80::1"], "link-local"),
        (&["0.0.0.0"], "reserved"),
        (&["224.0.0.1"], "multicast"),
        (&[PUBLIC, "10.0.0.5"], "private"),
        (&[PUBLIC, "127.0.0.1"], "loopback"),
        (&["93.184.215.99"], "this machine itself"),
        (&[], "the name has no address"),
    ] {
        bench.net.name("api.test", &[answers]);
        let answer = bench.ask(b"CONNECT api.test:443 HTTP/1.1\r\n\r\n").await;
        let status = if answers.is_empty() { "502" } else { "403" };
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answers:?}: {answer}"
        );
        assert!(answer.contains(why), "{answers:?}: {answer}");
        for address in answers {
            assert!(!answer.contains(address), "{answers:?}: {answer}");
        }
    }
    assert_eq!(bench.dialled(), [""; 0]);
}

/// Names that cannot be public are not sent to a resolver: the query itself would tell.
#[tokio::test]
async fn local_names_are_not_looked_up() {
    let bench = Bench::open(crate::sandbox::egress::EgressLimits::default());
    for name in [
        "localhost",
        "a.localhost",
        "printer.local",
        "metadata.google.internal",
        "intranet",
        "abc.onion",
        "git.corp",
    ] {
        let answer = bench
            .ask(format!("CONNECT {name}:443 HTTP/1.1\r\n\r\n").as_bytes())
            .await;
        assert!(
            answer.starts_with("HTTP/1.1 403 Forbidden\r\n"),
            "{name}: {answer}"
        );
    }
    assert_eq!(bench.looked_up(), [""; 0]);
}

/// WEB-02, rebinding: one look-up a connection; what was judged is dialled.
#[tokio::test]
async fn a_name_is_looked_up_once() {
    let bench = Bench::open(crate::sandbox::egress::EgressLimits::default());
    let origin = Origin::start(&bench, &[443]).await;
    bench.net.name("flip.test", &[&[PUBLIC], &["127.0.0.1"]]);
    let mut program = bench.program().await;
    program.connect("flip.test:443").await;
    origin.accept().await;
    assert_eq!(bench.looked_up(), ["flip.test"]);
    assert_eq!(bench.dialled(), [format!("{PUBLIC}:443")]);
    let again = bench.ask(b"CONNECT flip.test:443 HTTP/1.1\r\n\r\n").await;
    assert!(again.starts_with("HTTP/1.1 403 "), "{again}");
    assert_eq!(bench.dialled().len(), 1);
}

/// Whoever else answers is nobody that was judged.
#[tokio::test]
async fn the_other_end_is_compared() {
    let mut bench = Bench::open(crate::sandbox::egress::EgressLimits::default());
    let _origin = Origin::start(&bench, &[443]).await;
    bench.net.impostor("10.0.0.5:443");
    let answer = bench.ask(b"CONNECT api.test:443 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    let EgressEvent::Refused { refusal, .. } = bench.event().await else {
        panic!()
    };
    assert_eq!(
        refusal,
        Refusal::Dial("another address answered than was judged")
    );
}

#[tokio::test]
async fn a_host_that_is_down_is_told() {
    let bench = Bench::open(crate::sandbox::egress::EgressLimits::default());
    let answer = bench.ask(b"CONNECT api.test:443 HTTP/1.1\r\n\r\n").await;
    assert!(
        answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"),
        "{answer}"
    );
    assert!(
        answer.ends_with("no connection to api.test:443: could not connect: connection refused\n")
    );
    let mut program = bench.program().await;
    program
        .send(&[&[5, 1, 0, 5, 1, 0, 3, 8][..], b"api.test", &[1, 187]].concat())
        .await;
    assert_eq!(program.read(4).await, [5, 0, 5, 5]);
    // Of several addresses the one that answers is taken.
    let origin = Origin::start(&bench, &[443]).await;
    bench
        .net
        .name("api.test", &[&["93.184.215.1", "93.184.215.2", PUBLIC]]);
    let mut program = bench.program().await;
    program.connect("api.test:443").await;
    origin.accept().await;
}

#[tokio::test]
async fn of_socks_only_connect_is_served() {
    let bench = Bench::open(crate::sandbox::egress::EgressLimits::default());
    let name = [&[3, 8][..], b"api.test", &[1, 187]].concat();
    for (request, code) in [
        ([&[5, 2, 0][..], &name].concat(), 7),
        ([&[5, 3, 0][..], &name].concat(), 7),
        ([&[5, 9, 0][..], &name].concat(), 7),
        (vec![5, 1, 0, 2, 0, 0], 8),
        ([&[5, 1, 1][..], &name].concat(), 1),
        ([&[4, 1, 0][..], &name].concat(), 1),
        ([&[5, 1, 0][..], &[3, 8], b"api.test", &[0, 0]].concat(), 2),
    ] {
        let mut program = bench.program().await;
        program.send(&[&[5, 1, 0][..], &request].concat()).await;
        assert_eq!(program.read(4).await, [5, 0, 5, code], "{request:?}");
        program.rest().await;
    }
    // No way in without a sign-in; SOCKS4 and other protocols are none of ours.
    let mut program = bench.program().await;
    program.send(&[5, 1, 2]).await;
    assert_eq!(program.read(2).await, [5, 0xff]);
    for other in [
        &[4, 1, 0, 80, 1, 2, 3, 4, 0][..],
        &[0x16, 3, 1, 0, 1],
        b"\r\n",
        b"get / HTTP/1.1",
    ] {
        let answer = bench.ask(other).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{other:?}: {answer}");
    }
    assert_eq!(bench.judged(), [""; 0]);
}
