//! What is masked, what stays, and that nothing planted gets through.

use proptest::prelude::*;

use super::super::find::{Depth, find, find_long};
use super::super::text::tests::hostile;
use super::mask;

#[test]
fn known_shapes() {
    for (text, want) in [
        (
            "a Bearer FAKE-SECRET-01 b",
            "a [..]er [secret:authorization] b",
        ),
        (
            "postgres://u:p4ss@h/d",
            "postgres://u:[secret:url-password]@h/d",
        ),
        ("https://user@host/a@b", "https://user@host/a@b"),
        (
            "https://t0ken-of-20-letters-x@host/a",
            "https://[secret:url-password]@host/a",
        ),
        ("password=hunter2 x", "password=[secret:named] x"),
        ("{\"apiKey\": \"abc\"}", "{\"apiKey\": \"[secret:named]\"}"),
        ("Cookie: a=b; c=d\nx", "Cookie: [secret:named]\nx"),
        ("run --token abc --x", "run --token [secret:named] --x"),
        ("pay 4111 1111 1111 1111.", "pay [secret:card]."),
        ("-----BEGIN PRIVATE KEY-----\nabc", "[secret:private-key:*]"),
    ] {
        let want = want.replace("[..]er", "Bearer");
        let got = mask(text);
        match want.split_once('*') {
            Some((head, tail)) => assert!(got.starts_with(head) && got.ends_with(tail), "{got}"),
            None => assert_eq!(got, want),
        }
        assert_eq!(mask(&got), got, "masking twice is masking once");
    }
}

#[test]
fn look_alikes_stay() {
    for text in [
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "123e4567-e89b-12d3-a456-426614174000",
        "4111 1111 1111 1112",
        "token: String, secret: &str",
        "the secret of the bearer of news",
        "export TOKEN=$OTHER",
        "https://example.test:8080/a?b=c",
        "monkey=banana tokenizer=bpe task-runner-is-a-long-slug-name",
        "1732968000000",
    ] {
        assert_eq!(mask(text), text);
    }
}

#[test]
fn the_same_key_has_the_same_mask() {
    let plain = mask("AKIAFAKEFAKEFAKE0001").into_owned();
    assert_eq!(mask("QUtJQUZBS0VGQUtFRkFLRTAwMDE="), plain);
    assert_ne!(mask("AKIAFAKEFAKEFAKE0002"), plain);
    assert_eq!(plain.len(), "[secret:aws-key:12345678]".len());
}

#[test]
fn hostile_runs_take_linear_time() {
    let start = std::time::Instant::now();
    for run in [
        "AIza-",
        "eyJ-",
        "sk-",
        "://",
        "A",
        "A\n",
        "AAAAAAAAAAAAAAAAAAAA\n",
        "a=",
        "a:",
        "[secret:",
        "token ",
        "4",
        "-----BEGIN ",
    ] {
        let _ = mask(&run.repeat(20_000 / run.len()));
    }
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn masking_never_panics_and_settles(text in hostile()) {
        let once = mask(&text).into_owned();
        prop_assert_eq!(mask(&once).into_owned(), once);
    }

    #[test]
    fn what_is_passed_over_by_its_length_holds_no_secret(text in r#"([A-Za-z0-9\-_/+.,"'\\\]é]|token|pwd|--|eyJ|basic|4000){0,14}"#) {
        let (passed, read) = (find(&text, Depth::Outer), find_long(&text, Depth::Outer));
        prop_assert_eq!(passed.len(), read.len(), "{}", text);
    }

    #[test]
    fn a_planted_key_never_stays(
        before in "[^A-Za-z0-9]{0,8}",
        key in "(AKIA[A-Z0-9]{16}|ghp_[A-Za-z0-9]{36}|sk-ant-[a-z0-9]{30}|glpat-[a-z0-9]{20})",
        after in "[^A-Za-z0-9_.-]{0,8}",
    ) {
        let masked = mask(&format!("{before}{key}{after}")).into_owned();
        prop_assert!(!masked.contains(&key), "{}", masked);
    }
}
