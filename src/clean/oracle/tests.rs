//! Quick and plain find the same: in texts put together of secrets, of what is nearly one, and of what
//! stands around them.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use serde_json::{Map, Value};

use super::value::{has_secret, mask, mask_value};
use crate::clean::find::holds_secret;
use crate::clean::mask::mask as quick_mask;
use crate::clean::name::is_secret_key;
use crate::clean::shape::SHAPES;
use crate::clean::value as quick;

/// Whole texts that begin, end or look like secrets, and what stands between.
const PIECES: &[&str] = &[
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    ",",
    ".",
    "..",
    "-",
    "--",
    "_",
    "/",
    "//",
    "+",
    "=",
    "==",
    ":",
    "::",
    "://",
    "@",
    "\"",
    "'",
    "\\",
    "\\\"",
    "`",
    "[",
    "]",
    "{",
    "}",
    "(",
    "$",
    "<",
    ">",
    "%",
    "&",
    ";",
    "é",
    "漢",
    "\u{a0}",
    "a",
    "Z",
    "0",
    "42",
    "the",
    "word",
    "read_text_file",
    "user/files",
    "docs/guide.md",
    "claude-code",
    "password",
    "pwd",
    "token",
    "max_tokens",
    "next",
    "page",
    "api",
    "key",
    "keys",
    "apiKey",
    "X-Api-Key",
    "Authorization",
    "Cookie",
    "client_secret",
    "pin",
    "sid",
    "tokenizer",
    "Bearer",
    "basic",
    "bearer",
    "hunter2",
    "p4ssw0rd",
    "https",
    "http",
    "postgres",
    "user",
    "host",
    "eyJ",
    "eyJhbGciOiJIUzI1NiJ9",
    "eyJzdWIiOiIxIn0",
    "QUtJQUZBS0VGQUtFRkFLRTAwMDE",
    "QUtJQUZBS0VGQUtFRkFLRTAwMDE=",
    "cGFzc3dvcmQ9aHVudGVyMiBhbmQgbW9yZQ",
    "aGVsbG8gd29ybGQsIGhlbGxvIHdvcmxk",
    "4111",
    "1111",
    "4111111111111111",
    "4111-1111-1111-1111",
    "378282246310005",
    "30569309025904",
    "-----BEGIN ",
    "PRIVATE KEY",
    "-----",
    "-----END PRIVATE KEY-----",
    "[secret:",
    "[secret:named]",
    "[secret:aws-key:12345678]",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "123e4567-e89b-12d3-a456-426614174000",
    "FAKE-SECRET-01",
    "\u{212a}ey",
    "to\u{212a}en",
];

/// A key of one of the issuers, or one that is a little too short or too long.
fn key() -> impl Strategy<Value = String> {
    let filler = select(vec!["A7", "f", "0", "aZ9", "_x", "-b", ".c", "B"]);
    (0..SHAPES.len(), filler, -2_isize..6).prop_map(|(at, filler, more)| {
        let shape = &SHAPES[at];
        let len = shape.min.saturating_add_signed(more);
        let fits = |c: &char| u8::try_from(*c).is_ok_and(|b| (shape.set)(b)) || more == 5;
        let filling = filler.chars().cycle().filter(fits);
        let some = filler.chars().any(|c| fits(&c));
        let filling: String = if some {
            filling.take(len).collect()
        } else {
            "A".repeat(len)
        };
        format!("{}{filling}", shape.prefix)
    })
}

/// Base64 of a text that may hold a secret, in one line or broken into several.
fn encoded() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        "[a-z =:]{0,60}password=hunter2[a-z ]{0,60}",
        "[a-z ]{15,120}",
        key()
    ];
    (text, 16_usize..90, select(vec!["\n", "\r\n"]), 0_usize..3).prop_map(
        |(text, width, end, pad)| {
            const LETTERS: &[u8; 64] =
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            let mut bits = 0_usize;
            let mut held = 0;
            let mut line = String::new();
            for byte in text.bytes().chain([b' ']) {
                bits = bits << 8 | usize::from(byte);
                held += 8;
                while held >= 6 {
                    held -= 6;
                    line.push(char::from(LETTERS[bits >> held & 63]));
                }
                bits &= (1 << held) - 1;
            }
            let broken: Vec<&str> = line
                .as_bytes()
                .chunks(width)
                .map(|it| str::from_utf8(it).unwrap())
                .collect();
            broken.join(end) + &"=".repeat(pad)
        },
    )
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(PIECES).prop_map(str::to_owned),
        2 => key(),
        1 => "[A-Za-z0-9+/_=-]{1,40}",
        1 => "[a-z]{1,8}",
        1 => "[a-f0-9]{20,64}",
        1 => encoded(),
        1 => ".{0,6}",
    ]
}

/// Pieces one after the other.
fn text() -> impl Strategy<Value = String> {
    vec(piece(), 0..14).prop_map(|pieces| pieces.concat())
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => text().prop_map(Value::String),
        2 => piece().prop_map(Value::String),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        let object = vec((prop_oneof![piece(), text()], inner.clone()), 0..5);
        prop_oneof![
            vec(inner, 0..5).prop_map(Value::Array),
            object.prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn texts(text in text()) {
        let plain = mask(&text);
        prop_assert_eq!(&quick_mask(&text), &plain);
        prop_assert_eq!(holds_secret(&text), plain != text || !super::find::find(&text, crate::clean::find::Depth::Outer).is_empty());
    }

    #[test]
    fn names(name in vec(select(PIECES), 0..5), odd in ".{0,12}") {
        for name in [name.concat(), odd] {
            prop_assert_eq!(is_secret_key(&name), super::name::is_secret_key(&name), "{}", name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn values(value in json()) {
        prop_assert_eq!(quick::has_secret(&value), has_secret(&value));
        prop_assert_eq!(quick::mask_value(value.clone()), mask_value(&value));
    }
}

/// The cases would say nothing if they held no secrets, or nothing else.
#[test]
fn cases_hold_secrets_and_none() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let texts = (0..400).map(|_| text().new_tree(&mut runner).unwrap().current());
    let found = texts.filter(|text| holds_secret(text)).count();
    assert!((80..320).contains(&found), "{found}");
}

/// Every issuer's shortest key is found, and nothing that is one character shorter.
#[test]
fn every_shape() {
    for shape in SHAPES {
        let letter = (b'0'..=b'z')
            .find(|b| (shape.set)(*b))
            .map(char::from)
            .unwrap();
        let of = |len: usize| format!("{}{}", shape.prefix, letter.to_string().repeat(len));
        assert!(holds_secret(&of(shape.min)), "{}", shape.prefix);
        for len in [shape.min, shape.min - 1, shape.min + 1] {
            let text = format!("x {} y", of(len));
            assert_eq!(quick_mask(&text), mask(&text));
        }
    }
}

/// What is in the cases of the project, byte by byte cut off.
#[test]
fn known_cases() {
    let files = [
        include_str!("../../../tests/cases/AUD-01.calls.jsonl"),
        include_str!("../../../tests/cases/AUD-03.calls.jsonl"),
        include_str!("../../../tests/cases/SEC-01.call.json"),
    ];
    for line in files.iter().flat_map(|file| file.lines()) {
        assert_eq!(quick_mask(line), mask(line));
        for at in (0..line.len())
            .filter(|at| line.is_char_boundary(*at))
            .step_by(3)
        {
            let (head, tail) = line.split_at(at);
            assert_eq!(quick_mask(head), mask(head));
            assert_eq!(quick_mask(tail), mask(tail));
        }
    }
}
