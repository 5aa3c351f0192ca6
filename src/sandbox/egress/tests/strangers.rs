//! The whole proxy against words of every kind: whatever comes in, what goes out goes to the host
//! that was judged and names it.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokio::io::AsyncReadExt;

use super::bench::{Bench, Origin, hello};
use crate::sandbox::egress::head::{self, RequestHead};
use crate::sandbox::egress::{EgressEvent, EgressLimits, Terms};

/// Pieces that a client could send, each by itself well formed or nearly so.
fn pieces() -> Vec<Vec<u8>> {
    let text = [
        "CONNECT api.test:443 HTTP/1.1\r\n\r\n",
        "CONNECT evil.test:443 HTTP/1.1\r\n\r\n",
        "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n",
        "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        "GET http://api.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        "POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nContent-Length: 60\r\n\r\n",
        "POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        "5\r\nhello\r\n",
        "0\r\n\r\n",
        "\r\n",
        "Host: evil.test\r\n",
    ];
    let socks = |name: &[u8]| [&[5, 1, 0, 3, 8][..], name, &[1, 187]].concat();
    let mut pieces: Vec<Vec<u8>> = text.iter().map(|text| text.as_bytes().to_vec()).collect();
    pieces.extend([
        vec![5, 1, 0],
        socks(b"api.test"),
        socks(b"evl.test"),
        hello(Some("api.test")),
        hello(Some("evil.test")),
        hello(None),
        vec![0; 70],
    ]);
    pieces
}

/// Whether what a host got first names the host that was judged, `api.test`.
fn names_the_host(bytes: &[u8]) -> bool {
    let size = hello(Some("api.test")).len();
    if bytes.first() == Some(&0x16) && bytes.len() >= size {
        return bytes[..size].to_ascii_lowercase().ends_with(b"api.test");
    }
    if bytes.is_empty() {
        return true;
    }
    let Ok(Some(end)) = head::end(bytes, 0) else {
        return false;
    };
    let Ok(head) = RequestHead::read(&bytes[..end]) else {
        return false;
    };
    let hosts: Vec<&[u8]> = head.fields.all("host").collect();
    let named = hosts == [&b"api.test"[..]] || hosts == [&b"api.test:443"[..]];
    named && head.target.starts_with('/')
}

/// One conversation: where it dialled, what the host got, and whether it came to stand.
async fn talk(
    words: Vec<Vec<u8>>,
    noise: Option<(prop::sample::Index, u8)>,
) -> (Vec<String>, Vec<u8>, bool) {
    let mut bytes = words.concat();
    if let Some((at, byte)) = noise {
        let at = at.index(bytes.len());
        bytes[at] = byte;
    }
    let limits = EgressLimits {
        head_ms: 30,
        hello_ms: 30,
        idle_ms: 30,
        ..EgressLimits::default()
    };
    let allowed = ["api.test:443", "api.test:80"];
    let bench = Bench::with_limits(&allowed, Terms::default(), limits);
    let origin = Origin::start(&bench, &[443, 80]).await;
    let mut program = bench.program().await;
    program.send(&bytes).await;
    let serving = tokio::spawn(async move {
        let mut host = Vec::new();
        let mut stream = origin.accept().await;
        let _ = stream.0.read_to_end(&mut host).await;
        host
    });
    program.rest().await;
    let events = bench.gate.events.lock().unwrap().clone();
    let stood = events
        .iter()
        .any(|event| matches!(event, EgressEvent::Opened { .. }));
    let dialled = bench.dialled();
    // What is still under way ends with the proxy.
    drop(bench);
    let host = if dialled.is_empty() {
        serving.abort();
        Vec::new()
    } else {
        serving.await.unwrap()
    };
    (dialled, host, stood)
}

/// Mostly a good beginning, then anything.
fn conversation() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let all = pieces();
    let socks = [&all[13][..], &all[14]].concat();
    let good = vec![
        all[0].clone(),
        all[2].clone(),
        all[5].clone(),
        all[6].clone(),
        socks,
    ];
    let first = prop_oneof![
        3 => prop::sample::select(good),
        1 => prop::sample::select(all.clone()),
    ];
    let rest = prop::collection::vec(prop::sample::select(all), 0..4);
    (first, rest).prop_map(|(first, rest)| [vec![first], rest].concat())
}

#[test]
fn what_goes_out_names_the_host_that_was_judged() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut runner = TestRunner::new(Config::with_cases(300));
    let noise = prop::option::weighted(0.3, (any::<prop::sample::Index>(), any::<u8>()));
    let opened = std::cell::Cell::new(0);
    let result = runner.run(&(conversation(), noise), |(words, noise)| {
        let (dialled, host, stood) = runtime.block_on(talk(words, noise));
        prop_assert!(dialled.len() <= 1);
        prop_assert!(
            stood || host.is_empty(),
            "{:?}",
            String::from_utf8_lossy(&host)
        );
        prop_assert!(
            names_the_host(&host),
            "{:?}",
            String::from_utf8_lossy(&host)
        );
        opened.set(opened.get() + u32::from(stood));
        Ok(())
    });
    result.unwrap();
    assert!(
        opened.get() > 30,
        "only {} of the conversations came to stand",
        opened.get()
    );
}
