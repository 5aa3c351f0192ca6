//! What real programs say first, as they said it to a recorder: all of them pass unchanged.

use super::bench::{Bench, ESTABLISHED, Origin, Program};
use crate::sandbox::egress::gate::Way;
use crate::sandbox::egress::{EgressEvent, EgressLimits};

const PROGRAMS: &str = include_str!("../../../../tests/cases/programs.tsv");

fn from_hex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// What the host has to get of a request of plain HTTP: the same without the proxy's part.
fn through(request: &str) -> String {
    let own = |line: &&str| {
        !["proxy-connection", "connection"]
            .contains(&line.split(':').next().unwrap().to_lowercase().as_str())
    };
    let lines: Vec<&str> = request.trim_end().split("\r\n").filter(own).collect();
    lines.join("\r\n").replace("http://api.test", "")
}

#[tokio::test]
async fn real_programs_are_understood() {
    let mut rows = 0;
    for line in PROGRAMS.lines().skip(1) {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap();
        let (program, words, inside) = (next(), next(), from_hex(next()));
        let mut bench = Bench::open(EgressLimits::default());
        let origin = Origin::start(&bench, &[443, 80]).await;
        let mut client = bench.program().await;
        let way = said(&mut client, program, words).await;
        if way == Way::Http {
            let words: String = serde_json::from_str(words).unwrap();
            let seen = origin
                .answer(b"\r\n\r\n", b"HTTP/1.1 204 None\r\n\r\n")
                .await;
            same_lines(&seen, &through(&words), program);
        }
        if !inside.is_empty() {
            client.send(&inside).await;
        }
        let plain = inside.first().is_some_and(u8::is_ascii_uppercase);
        if plain {
            let seen = origin
                .answer(b"\r\n\r\n", b"HTTP/1.1 204 None\r\n\r\n")
                .await;
            same_lines(
                &seen,
                &through(std::str::from_utf8(&inside).unwrap()),
                program,
            );
        } else if !inside.is_empty() {
            let mut host = origin.accept().await;
            assert_eq!(host.read(inside.len()).await, inside, "{program}");
        }
        let EgressEvent::Opened { wanted } = bench.event().await else {
            panic!("{program}")
        };
        assert_eq!(wanted.way, way, "{program}");
        assert_eq!(wanted.target.host.as_str(), "api.test", "{program}");
        rows += 1;
    }
    assert_eq!(rows, 16);
}

/// Says a program's first words, and hears that its tunnel stands if it wants one.
async fn said(client: &mut Program, program: &str, words: &str) -> Way {
    if program.ends_with("-socks") {
        let words = from_hex(words);
        client.send(&words[..4]).await;
        assert_eq!(client.read(2).await, [5, 0]);
        client.send(&words[4..]).await;
        assert_eq!(client.read(10).await, [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        return Way::Socks;
    }
    let words: String = serde_json::from_str(words).unwrap();
    client.send(words.as_bytes()).await;
    if !words.starts_with("CONNECT ") {
        return Way::Http;
    }
    assert_eq!(client.read(ESTABLISHED.len()).await, ESTABLISHED.as_bytes());
    Way::Connect
}

/// The same lines, in any order, besides the one that ends the connection.
fn same_lines(seen: &str, want: &str, program: &str) {
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text
            .trim_end()
            .split("\r\n")
            .map(str::to_lowercase)
            .collect();
        lines.retain(|line| line != "connection: close");
        lines.sort();
        lines
    };
    assert_eq!(sorted(seen), sorted(want), "{program}");
}
