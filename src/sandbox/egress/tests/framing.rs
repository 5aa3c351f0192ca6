//! The readers of heads and bodies beside another reader and a simple model.

use proptest::prelude::*;

use crate::address::Target;
use crate::sandbox::egress::body::Body;
use crate::sandbox::egress::head::{self, AnswerHead, RequestHead};
use crate::sandbox::egress::request::{Asked, in_tunnel, to_proxy};

/// Text that is often nearly a request.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "GET ",
        "POST ",
        "CONNECT ",
        "http://api.test/",
        "http://evil.test/",
        "api.test:443",
        "/",
        "*",
        " ",
        "HTTP/1.1",
        "HTTP/1.0",
        "\r\n",
        "\r\n",
        "\r\n\r\n",
        "\n",
        "\r",
        "\t",
        "Host: api.test",
        "Host: evil.test",
        "Host:",
        "Content-Length: 3",
        "content-length: 0",
        "Transfer-Encoding: chunked",
        "Connection: close, host",
        "Upgrade: h2c",
        "Proxy-X: 1",
        ": ",
        "X",
        "chunked",
        ",",
        "abc",
        "0",
        "3",
        "\0",
        "\u{e9}",
        "@",
        "#",
        "\\",
    ]);
    let words = prop::collection::vec(word, 0..24).prop_map(|words| words.concat().into_bytes());
    let whole = (words, any::<bool>()).prop_map(|(words, framed)| {
        if !framed {
            return words;
        }
        let start = b"POST http://api.test/x HTTP/1.1\r\nHost: api.test\r\n";
        [&start[..], &words, b"\r\n\r\n"].concat()
    });
    prop_oneof![4 => whole, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

fn read(bytes: &[u8]) -> Option<(RequestHead, usize)> {
    let end = head::end(bytes, 0).ok()??;
    RequestHead::read(&bytes[..end])
        .ok()
        .map(|head| (head, end))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// What is taken for a head, another reader takes for the same head.
    #[test]
    fn another_reader_agrees(bytes in nearly()) {
        let Some((head, end)) = read(&bytes) else { return Ok(()) };
        let mut fields = [httparse::EMPTY_HEADER; 128];
        let mut request = httparse::Request::new(&mut fields);
        let parsed = request.parse(&bytes);
        prop_assert_eq!(parsed, Ok(httparse::Status::Complete(end)));
        prop_assert_eq!(request.method, Some(head.method.as_str()));
        prop_assert_eq!(request.path, Some(head.target.as_str()));
        let theirs = request.headers.iter().map(|f| (f.name, f.value.trim_ascii()));
        prop_assert!(theirs.eq(head.fields.iter()));
    }

    /// Where a head ends does not hang on how it came in.
    #[test]
    fn pieces_do_not_matter(bytes in nearly(), cut in 0usize..200) {
        let cut = cut.min(bytes.len());
        let whole = head::end(&bytes, 0);
        let first = head::end(&bytes[..cut], 0);
        let rest = match first {
            Ok(None) => head::end(&bytes, cut),
            decided => decided,
        };
        prop_assert_eq!(rest, whole);
    }

    /// What is sent on has one host, the one that was judged, one framing at most, and no field that
    /// ends at a proxy.
    #[test]
    fn what_is_sent_on_has_one_meaning(bytes in nearly(), tunnel: bool) {
        let Some((head, _)) = read(&bytes) else { return Ok(()) };
        let known = Target::from_authority("api.test:80").unwrap();
        let found = if tunnel {
            in_tunnel(&head, &known).map(|forward| (known, forward))
        } else {
            match to_proxy(&head) {
                Ok(Asked::Forward(target, forward)) => Ok((target, forward)),
                Ok(Asked::Tunnel(_)) => return Ok(()),
                Err(refusal) => Err(refusal),
            }
        };
        let Ok((target, forward)) = found else { return Ok(()) };
        let (sent, end) = read(&forward.head).unwrap();
        prop_assert_eq!(end, forward.head.len());
        let hosts: Vec<_> = sent.fields.all("host").collect();
        prop_assert_eq!(hosts.len(), 1);
        let host = Target::from_authority_or(std::str::from_utf8(hosts[0]).unwrap(), 80);
        prop_assert_eq!(host.ok(), Some(target));
        prop_assert!(sent.target.starts_with('/') || sent.target == "*");
        prop_assert_eq!(Body::of(&sent), Ok(forward.body));
        let framing = sent.fields.all("content-length").count() + sent.fields.all("transfer-encoding").count();
        prop_assert!(framing <= 1);
        prop_assert_eq!(sent.fields.words("connection"), ["close"]);
        for (name, _) in sent.fields.iter() {
            let name = name.to_ascii_lowercase();
            prop_assert!(!name.starts_with("proxy-") && name != "upgrade" && name != "te");
        }
    }

    /// The reader of answers never panics.
    #[test]
    fn answers_never_panic(bytes in nearly()) {
        if let Ok(Some(end)) = head::end(&bytes, 0) {
            let _ = AnswerHead::read(&bytes[..end]);
        }
    }

    /// A chunked body ends where its model ends, however it comes in.
    #[test]
    fn chunks_end_where_they_end(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6),
        rest in prop::collection::vec(any::<u8>(), 0..20),
        step in 1usize..17,
        upper: bool,
    ) {
        let mut bytes = Vec::new();
        for chunk in &chunks {
            let size = if upper { format!("{:X}", chunk.len()) } else { format!("0{:x}", chunk.len()) };
            bytes.extend_from_slice(size.as_bytes());
            bytes.extend_from_slice(b"\r\n");
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        let end = bytes.len();
        bytes.extend_from_slice(&rest);
        let mut body = chunked();
        let mut taken = 0;
        for piece in bytes.chunks(step) {
            taken += body.take(piece).unwrap();
            if body.is_done() {
                break;
            }
        }
        prop_assert!(body.is_done());
        prop_assert_eq!(taken, end);
    }

    /// The reader of chunks never panics, never takes more than there is, and ends at the same byte
    /// whatever the pieces.
    #[test]
    fn chunks_never_panic(bytes in "[0-9a-fA-F\r\n;x]{0,60}", step in 1usize..9) {
        let bytes = bytes.as_bytes();
        let mut whole = chunked();
        let at_once = whole.take(bytes);
        let mut pieces = chunked();
        let mut taken = Ok(0);
        for piece in bytes.chunks(step) {
            match (taken, pieces.take(piece)) {
                (Ok(sum), Ok(more)) => taken = Ok(sum + more),
                (_, Err(misfit)) => { taken = Err(misfit); break }
                (Err(_), _) => break,
            }
            if pieces.is_done() {
                break;
            }
        }
        prop_assert!(at_once.is_ok_and(|taken| taken <= bytes.len()) || at_once.is_err());
        prop_assert_eq!(taken, at_once);
    }
}

fn chunked() -> Body {
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    Body::of(&RequestHead::read(head).unwrap()).unwrap()
}
