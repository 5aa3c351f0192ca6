//! Plain HTTP in absolute form: what is sent on, and what is refused for having two meanings.

use super::bench::{Bench, Origin, PUBLIC};
use crate::sandbox::egress::gate::Way;
use crate::sandbox::egress::{EgressEvent, EgressLimits, Terms};

#[tokio::test]
async fn a_request_is_written_anew() {
    let mut bench = Bench::allowing(&["api.test:80"], Terms::default());
    let origin = Origin::start(&bench, &[80]).await;
    for (request, want) in [
        (
            "GET http://API.test/a/%2e%2e/b?q=1 HTTP/1.1\r\nHost: api.TEST\r\nAccept: */*\r\n\r\n",
            "GET /a/%2e%2e/b?q=1 HTTP/1.1\r\nHost: api.test\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        ),
        (
            "GET http://api.test HTTP/1.1\r\nHost: api.test:80\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n",
        ),
        (
            "GET HTTP://api.test?q HTTP/1.1\r\nHost: api.test.\r\n\r\n",
            "GET /?q HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n",
        ),
        (
            "GET http://api.test/ HTTP/1.0\r\n\r\n",
            "GET / HTTP/1.0\r\nHost: api.test\r\nConnection: close\r\n\r\n",
        ),
        (
            "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nProxy-Connection: keep-alive\r\n\
             Proxy-Authorization: Basic c2VjcmV0\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n\
             Keep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\
             Authorization: Bearer t\r\nCookie: a=b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer t\r\nCookie: a=b\r\n\
             Connection: close\r\n\r\n",
        ),
        (
            "POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nContent-Length: 3\r\n\
             Connection: Host, Content-Length\r\nExpect: 100-continue\r\n\r\nabc",
            "POST / HTTP/1.1\r\nHost: api.test\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\
             Connection: close\r\n\r\nabc",
        ),
        (
            "POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\ntransfer-encoding: Chunked\r\n\r\n\
             3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\
             Connection: close\r\n\r\n3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n",
        ),
    ] {
        let mut program = bench.program().await;
        program.send(request.as_bytes()).await;
        let last = want.as_bytes().last_chunk::<4>().unwrap();
        let answer = b"HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n\
            Keep-Alive: 5\r\nProxy-Authenticate: x\r\nContent-Length: 2\r\n\r\nhi";
        let seen = origin.answer(last, answer).await;
        assert_eq!(seen, want);
        let answer = program.rest().await;
        assert_eq!(
            answer,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
        );
        let EgressEvent::Opened { wanted } = bench.event().await else {
            panic!()
        };
        assert_eq!(wanted.way, Way::Http);
        let EgressEvent::Closed { traffic, .. } = bench.event().await else {
            panic!()
        };
        assert_eq!(
            (traffic.up, traffic.down),
            (want.len() as u64, answer.len() as u64)
        );
    }
}

/// Requests with two hosts, or with a body that has two ends.
fn two_hosts_or_ends() -> Vec<String> {
    let line = "GET http://api.test/ HTTP/1.1\r\n";
    let good = "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n";
    let post = "POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\n";
    vec![
        // Two hosts.
        format!("{line}Host: evil.test\r\n\r\n"),
        format!("{line}\r\n"),
        format!("{line}Host:\r\n\r\n"),
        format!("{good}Host: api.test\r\n\r\n"),
        format!("{good}host: evil.test\r\n\r\n"),
        format!("{line}Host: api.test:81\r\n\r\n"),
        format!("{line}Host: user@api.test\r\n\r\n"),
        format!("{line}Host: api.test, evil.test\r\n\r\n"),
        "GET http://user:pw@api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://@api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api.test\\@evil.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api.test#@evil.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http:///api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api.test:0/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api%2etest/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        // Two ends of a body.
        format!("{post}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        format!("{post}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
        format!("{post}Content-Length: 3, 3\r\n\r\nabc"),
        format!("{post}Content-Length: +3\r\n\r\nabc"),
        format!("{post}Content-Length: 0x3\r\n\r\nabc"),
        format!("{post}Content-Length: -1\r\n\r\n"),
        format!("{post}Content-Length: 99999999999999999999\r\n\r\n"),
        format!("{post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        format!("{post}Transfer-Encoding: identity\r\n\r\n"),
        format!("{post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        format!("{post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        format!("{post}Transfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n"),
        "POST http://api.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
    ]
}

/// Requests that two readers would read as two, and what is no request to a proxy.
fn two_readings() -> Vec<String> {
    let good = "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n";
    let post = "POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\n";
    vec![
        // Two ends of a line, two names of a field.
        format!("{good}X: a\nY: b\r\n\r\n"),
        format!("{good}X: a\rY: b\r\n\r\n"),
        format!("{good}X: a\r\n folded\r\n\r\n"),
        format!("{good}\tX: a\r\n\r\n"),
        format!("{good}Content-Length : 3\r\n\r\nabc"),
        format!("{good}: a\r\n\r\n"),
        format!("{good}no colon\r\n\r\n"),
        format!("{good}X: a\0b\r\n\r\n"),
        format!("{good}X\u{e9}: a\r\n\r\n"),
        "GET  http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET\thttp://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api.test/ x HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api.test/ HTTP/1.1 \r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api.test/ HTTP/2.0\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api.test/ http/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api.test/\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api.test/\u{e9} HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        // Another message behind this one.
        format!("{good}\r\nGET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"),
        format!("{post}Content-Length: 1\r\n\r\naGET / HTTP/1.1\r\n\r\n"),
        format!("{post}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
        // Another protocol.
        format!("{good}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
        format!("{good}Upgrade: h2c, websocket\r\n\r\n"),
        // No proxy request at all.
        "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "OPTIONS * HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET https://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET ftp://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET ws://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET file:///etc/passwd HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "CONNECT api.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n".to_owned(),
        "CONNECT api.test:443 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
        "CONNECT api.test:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
    ]
}

/// Nothing of these reaches anybody, and nobody is asked about them.
#[tokio::test]
async fn two_meanings_are_refused() {
    let bench = Bench::open(EgressLimits::default());
    for request in two_hosts_or_ends().into_iter().chain(two_readings()) {
        let answer = bench.ask(request.as_bytes()).await;
        assert!(
            answer.starts_with("HTTP/1.1 400 Bad Request\r\n"),
            "{request:?}: {answer}"
        );
    }
    assert_eq!(bench.judged(), [""; 0]);
    assert_eq!(bench.dialled(), [""; 0]);
}

/// A body that turns out to be ill formed on its way is broken off where it does.
#[tokio::test]
async fn a_bad_chunk_is_not_passed_on() {
    for (rest, passed) in [
        ("3;x=y\r\nabc\r\n0\r\n\r\n", ""),
        ("3\r\nabcd\r\n0\r\n\r\n", ""),
        ("3\nabc\r\n0\r\n\r\n", ""),
        ("0\r\nTrailer: x\r\n\r\n", ""),
        ("+3\r\nabc\r\n0\r\n\r\n", ""),
        ("FFFFFFFFFFFFFFFF\r\n", ""),
    ] {
        let bench = Bench::open(EgressLimits::default());
        let origin = Origin::start(&bench, &[80]).await;
        let mut program = bench.program().await;
        let head = "POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n";
        program.send(format!("{head}1\r\nx\r\n").as_bytes()).await;
        let mut host = origin.accept().await;
        let first = "POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\
             Connection: close\r\n\r\n1\r\nx\r\n";
        assert_eq!(
            String::from_utf8(host.read(first.len()).await).unwrap(),
            first
        );
        program.send(rest.as_bytes()).await;
        assert_eq!(host.rest().await, passed, "{rest:?}");
    }
}

/// One request a connection: what follows later reaches nobody, whomever it names.
#[tokio::test]
async fn a_second_request_reaches_nobody() {
    let bench = Bench::open(EgressLimits::default());
    let origin = Origin::start(&bench, &[80]).await;
    let mut program = bench.program().await;
    program
        .send(b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")
        .await;
    let mut host = origin.accept().await;
    let first = "GET / HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n";
    host.read(first.len()).await;
    host.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        .await;
    let want = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    assert_eq!(program.read(want.len()).await, want.as_bytes());
    program
        .send(b"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n")
        .await;
    tokio::io::AsyncWriteExt::shutdown(&mut host.0)
        .await
        .unwrap();
    assert_eq!(program.rest().await, "");
    assert_eq!(host.rest().await, "");
    assert_eq!(bench.judged(), ["api.test:80"]);
}

/// What a host answers: interim answers pass, another protocol and nonsense do not.
#[tokio::test]
async fn answers_are_read_too() {
    for (answer, want) in [
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nbody",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbody",
        ),
        (
            "HTTP/1.1 204\r\n\r\n",
            "HTTP/1.1 204\r\nConnection: close\r\n\r\n",
        ),
        (
            "HTTP/1.0 200 OK\r\nA: b\r\n\r\n\r\n\r\n",
            "HTTP/1.0 200 OK\r\nA: b\r\nConnection: close\r\n\r\n\r\n\r\n",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: Transfer-Encoding\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
        ),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nraw",
            "HTTP/1.1 502 ",
        ),
        ("<html>old</html>\r\n\r\n", "HTTP/1.1 502 "),
        ("HTTP/1.1 200 OK\nA: b\n\n", "HTTP/1.1 502 "),
        ("HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 502 "),
        ("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "HTTP/1.1 502 "),
        ("HTTP/1.1 200 OK\r\nA: b", "HTTP/1.1 502 "),
        ("", "HTTP/1.1 502 "),
    ] {
        let bench = Bench::open(EgressLimits::default());
        let origin = Origin::start(&bench, &[80]).await;
        let mut program = bench.program().await;
        program
            .send(b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")
            .await;
        origin.answer(b"\r\n\r\n", answer.as_bytes()).await;
        let got = program.rest().await;
        if want.ends_with("502 ") {
            assert!(got.starts_with(want), "{answer:?}: {got}");
        } else {
            assert_eq!(got, want, "{answer:?}");
        }
    }
}

/// Endless interim answers end.
#[tokio::test]
async fn interim_answers_are_counted() {
    let bench = Bench::open(EgressLimits::default());
    let origin = Origin::start(&bench, &[80]).await;
    let mut program = bench.program().await;
    program
        .send(b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")
        .await;
    let many = "HTTP/1.1 103 Early\r\n\r\n".repeat(40);
    origin.answer(b"\r\n\r\n", many.as_bytes()).await;
    assert_eq!(program.rest().await.matches("103").count(), 16);
    assert_eq!(bench.dialled(), [format!("{PUBLIC}:80")]);
}

/// Neither path, query, fields nor body stand in what the gate hears.
#[tokio::test]
async fn nothing_secret_is_reported() {
    let mut bench = Bench::open(EgressLimits::default());
    let origin = Origin::start(&bench, &[80]).await;
    let mut program = bench.program().await;
    let request = "POST http://api.test/s3cret?key=s3cret HTTP/1.1\r\nHost: api.test\r\n\
         Authorization: s3cret\r\nProxy-Authorization: s3cret\r\nContent-Length: 6\r\n\r\ns3cret";
    program.send(request.as_bytes()).await;
    origin
        .answer(
            b"\r\n\r\ns3cret",
            b"HTTP/1.1 200 OK\r\nSet-Cookie: s3cret\r\n\r\ns3cret",
        )
        .await;
    program.rest().await;
    bench
        .ask(b"GET http://s3cret:s3cret@api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")
        .await;
    for _ in 0..3 {
        let event = format!("{:?}", bench.event().await);
        assert!(!event.contains("s3cret"), "{event}");
    }
}
