//! Targets from each form in which they come over the wire.

use std::net::IpAddr;

use proptest::prelude::*;

use crate::address::{HostName, Target};

fn shown<E>(target: Result<Target, E>) -> Option<String> {
    target.ok().map(|target| target.to_string())
}

#[test]
fn authorities() {
    for (text, want) in [
        ("api.test:443", Some("api.test:443")),
        ("API.test.:443", Some("api.test:443")),
        ("127.1:80", Some("127.0.0.1:80")),
        ("[::1]:80", Some("[::1]:80")),
        ("[::ffff:127.0.0.1]:80", Some("127.0.0.1:80")),
        ("api.test:00443", Some("api.test:443")),
        ("api.test", None),
        ("api.test:", None),
        ("api.test:0", None),
        ("api.test:65536", None),
        ("api.test:+443", None),
        ("api.test:-1", None),
        ("api.test:443:443", None),
        ("api.test:4 43", None),
        ("api.test:443/", None),
        ("user@api.test:443", None),
        ("api.test:443@evil.test:443", None),
        ("::1:443", None),
        ("[::1]443", None),
        ("[::1]:443]", None),
        ("[api.test]:443", None),
        (":443", None),
        ("http://api.test:443", None),
        ("*:443", None),
        ("a,b.test:443", None),
    ] {
        assert_eq!(
            shown(Target::from_authority(text)).as_deref(),
            want,
            "{text:?}"
        );
    }
    for (text, want) in [
        ("api.test", Some("api.test:80")),
        ("api.test:8080", Some("api.test:8080")),
        ("[::1]", Some("[::1]:80")),
        ("api.test:", None),
        ("", None),
    ] {
        let target = Target::from_authority_or(text, 80);
        assert_eq!(shown(target).as_deref(), want, "{text:?}");
    }
}

#[test]
fn socks() {
    let long = [b'a'; 255];
    for (name, port, want) in [
        (&b"api.test"[..], 443, Some("api.test:443")),
        (b"127.1", 443, Some("127.0.0.1:443")),
        (b"API.TEST.", 443, Some("api.test:443")),
        (b"api.test", 0, None),
        (b"", 443, None),
        (b"api.test\0.evil.test", 443, None),
        (b"\0", 443, None),
        (b"api.test\r\nx", 443, None),
        (b"b\xc3\xbccher.test", 443, None),
        (b"\xff\xfe", 443, None),
        (b"[::1]", 443, None),
        (b"::1", 443, None),
        (b"user@api.test", 443, None),
        (b"api.test:80", 443, None),
        (&long, 443, None),
    ] {
        let target = Target::from_socks_name(name, port);
        assert_eq!(shown(target).as_deref(), want, "{name:?}");
    }
    for (address, want) in [
        ("127.0.0.1", "127.0.0.1:9"),
        ("::ffff:127.0.0.1", "127.0.0.1:9"),
        ("::1", "[::1]:9"),
    ] {
        let address: IpAddr = address.parse().unwrap();
        let target = Target::from_address(address, 9);
        assert_eq!(shown(target).as_deref(), Some(want));
    }
}

proptest! {
    /// A host is a fixed point: read again, typed or sent, it is the same host.
    #[test]
    fn canonical_is_canonical(text in "[ -~\u{80}-\u{24ff}]{0,24}|[a-zA-Z0-9._-]{1,40}|[0-9a-fx.]{1,20}") {
        let read = [text.parse::<HostName>(), HostName::from_wire(&text)];
        for host in read.into_iter().flatten() {
            prop_assert_eq!(host.as_str().parse::<HostName>().ok(), Some(host.clone()));
            if !host.as_str().contains(':') {
                prop_assert_eq!(HostName::from_wire(host.as_str()).ok(), Some(host.clone()));
            }
            prop_assert!(host.as_str().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.:".contains(&b)));
        }
    }

    /// What the wire reader takes, the URL parser takes for the same host, and dials nothing else.
    #[test]
    fn the_url_parser_agrees(text in "[a-zA-Z0-9._-]{1,40}|[0-9a-fx.]{1,16}") {
        if let Ok(host) = HostName::from_wire(&text) {
            let url = url::Url::parse(&format!("http://{text}/")).unwrap();
            let other = url.host_str().unwrap();
            prop_assert_eq!(other.strip_suffix('.').unwrap_or(other), host.as_str());
        }
    }

    /// A target is a fixed point, and bytes of any kind never panic.
    #[test]
    fn targets_are_canonical(text in "\\PC{0,40}", name in proptest::collection::vec(any::<u8>(), 0..64), port: u16) {
        for target in [Target::from_authority(&text), Target::from_socks_name(&name, port)].into_iter().flatten() {
            prop_assert_eq!(Target::from_authority(&target.to_string()).ok(), Some(target));
        }
    }
}
