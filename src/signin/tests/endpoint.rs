//! Addresses that servers name: public report SEC-04, and more of the kind.

use super::super::endpoint::{Endpoint, Ground};

/// SEC-04: only https, or http on this machine for a server on this machine, is ever opened.
#[test]
fn sec_04_only_pages_are_opened() {
    let path = format!(
        "{}/tests/cases/SEC-04.endpoints.tsv",
        env!("CARGO_MANIFEST_DIR")
    );
    let table = std::fs::read_to_string(path).unwrap();
    let mut seen = 0;
    for row in table.lines().skip(1).filter(|row| !row.is_empty()) {
        let (text, want) = row.split_once('\t').unwrap();
        let text: String = serde_json::from_str(text).unwrap();
        // No browser opens a page on port 9.
        let text = text.replace("127.0.0.1:9/", "127.0.0.1:8009/");
        let (public, local) = (
            Endpoint::read(&text, Ground::Public),
            Endpoint::read(&text, Ground::ThisMachine),
        );
        assert_eq!(public.is_ok(), want == "ask", "{text}: {public:?}");
        assert_eq!(local.is_ok(), want.starts_with("ask"), "{text}: {local:?}");
        seen += 1;
    }
    assert_eq!(seen, 12);
}

#[test]
fn what_only_looks_like_a_page_is_refused() {
    for text in [
        "https://user@login.example/",
        "https://login.example/#a",
        "https://login.example\\@evil.example/",
        "https://login.example/a b",
        "https://login.example/\u{202e}",
        "https://127.0.0.1/authorize",
        "https://localhost/authorize",
        "https://a.localhost/authorize",
        "http://2130706433/authorize",
        "https://0x7f.1/authorize",
        "https://login.example:22/authorize",
        "data:text/html,x",
        "//login.example/",
    ] {
        assert!(Endpoint::read(text, Ground::Public).is_err(), "{text}");
    }
    let page = Endpoint::read("https://login.example/a?b=c", Ground::Public).unwrap();
    assert_eq!(page.as_str(), "https://login.example/a?b=c");
    assert_eq!(page.origin(), "https://login.example");
}
