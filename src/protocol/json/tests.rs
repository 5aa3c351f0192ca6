//! The JSON reader and writer against tables and against `serde_json`.

use proptest::prelude::*;

use super::read::{Bounds, read_within};
use super::*;

/// Reads a text; wants the compact text, or the error's text.
#[track_caller]
fn check(text: &[u8], want: &str) {
    let bounds = Bounds {
        bytes: 4096,
        depth: 4,
    };
    let got = match read_within(text, bounds) {
        Ok(parsed) => parsed.json.to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(got, want, "{}", String::from_utf8_lossy(text));
}

#[test]
fn what_is_read_is_written_the_same() {
    for same in [
        "null",
        "true",
        "[]",
        "{}",
        "\"\"",
        "-0",
        "0",
        "1.0",
        "1e400",
        "-1E-7",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "123456789012345678901234567890123456789",
        r#"{"b":1,"a":[2,{"c":null}],"":""}"#,
        r#""naïve — 日本語 🚀""#,
        r#""\"\\\n\r\t\b\f\u0000\u001f""#,
        "\"\u{7f}\u{2028}\"",
    ] {
        check(same.as_bytes(), same);
    }
    check(b" [ 1 , 2 ] \r\n", "[1,2]");
    check(br#""\u0041\/\ud83d\ude80""#, "\"A/🚀\"");
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    check(b"", "not JSON at byte 0: the text ends inside a value");
    check(b"[1", "not JSON at byte 2: the text ends inside a value");
    check(b"nul", "not JSON at byte 3: the text ends inside a value");
    check(b"NaN", "not JSON at byte 0: a value is expected here");
    check(b"[1,]", "not JSON at byte 3: a value is expected here");
    check(
        b"{\"a\":1,}",
        "not JSON at byte 7: a key in quotes is expected here",
    );
    check(
        b"{a:1}",
        "not JSON at byte 1: a key in quotes is expected here",
    );
    check(b"{\"a\" 1}", "not JSON at byte 5: `:` is expected here");
    check(b"[1 2]", "not JSON at byte 3: `,` or `]` is expected here");
    check(b"1 2", "not JSON at byte 2: more text after the value");
    check(
        b"01",
        "not JSON at byte 1: a number must not start with a zero",
    );
    check(b"-x", "not JSON at byte 1: a number needs a digit here");
    check(
        b"1.x",
        "not JSON at byte 2: a number needs a digit after its point",
    );
    check(
        b"1ex",
        "not JSON at byte 2: a number needs a digit in its exponent",
    );
    check(b"+1", "not JSON at byte 0: a value is expected here");
    check(
        b"\"\n\"",
        "not JSON at byte 1: a control character must be escaped in a string",
    );
    check(
        b"\"\\x\"",
        "not JSON at byte 2: no such escape in a JSON string",
    );
    check(
        b"\"\\u12g4\"",
        "not JSON at byte 5: four hexadecimal digits are expected here",
    );
    check(b"\"\xff\"", "not UTF-8 at byte 1");
    check(
        b"\xEF\xBB\xBF1",
        "not JSON at byte 0: a value is expected here",
    );
    check(b"[[[[1]]]]", "[[[[1]]]]");
    check(b"[[[[[1]]]]]", "nested deeper than 4 levels at byte 4");
    check(&[b' '; 4097], "larger than 4096 bytes");
}

/// Two readers of one text must not see two values.
#[test]
fn a_repeated_key_is_refused_at_every_level() {
    let twice =
        |at| format!("the key `a` stands twice in one object (byte {at}); send each key once");
    check(br#"{"a":1,"a":1}"#, &twice(7));
    check(br#"[{"x":{"a":1,"b":2,"\u0061":3}}]"#, &twice(19));
    let many: Vec<String> = (0..40).map(|n| format!("\"k{n}\":0")).collect();
    check(
        format!("{{{}}}", many.join(",")).as_bytes(),
        &format!("{{{}}}", many.join(",")),
    );
    let text = format!("{{\"a\":0,{},\"a\":1}}", many.join(","));
    check(text.as_bytes(), &twice(text.len() - 6));
    check(
        br#"{"a":{"a":1},"b":{"a":1}}"#,
        r#"{"a":{"a":1},"b":{"a":1}}"#,
    );
    // Two lone surrogates are the same key once they are mended.
    assert!(read(br#"{"\ud800":1,"\udfff":2}"#).is_err());
}

#[test]
fn lone_surrogates_are_mended_and_counted() {
    for (text, want, count) in [
        (r#""\ud800""#, "\u{fffd}", 1),
        (r#""a\udc00b""#, "a\u{fffd}b", 1),
        (r#""\ud800\u0041""#, "\u{fffd}A", 1),
        (r#""\ud800\ud83d\ude80""#, "\u{fffd}🚀", 1),
        (r#""\ud800\ud800""#, "\u{fffd}\u{fffd}", 2),
        (r#""\ud83d\ude80""#, "🚀", 0),
    ] {
        let parsed = read(text.as_bytes()).unwrap();
        assert_eq!(parsed.json.as_str(), Some(want), "{text}");
        assert_eq!(parsed.repaired, count, "{text}");
    }
}

#[test]
fn the_depth_bound_holds_for_any_input() {
    let deep = vec![b'['; 1_000_000];
    assert!(matches!(
        read(&deep).unwrap_err().reason,
        Reason::Depth(128)
    ));
    let all = Bounds {
        bytes: usize::MAX,
        depth: usize::MAX,
    };
    assert!(matches!(
        read_within(&deep, all).unwrap_err().reason,
        Reason::Depth(512)
    ));
}

#[test]
fn numbers_that_do_not_fit_are_said() {
    for (text, want, inexact) in [
        ("1", "1", 0),
        ("1.0", "1.0", 0),
        ("0.1", "0.1", 0),
        ("-0", "-0.0", 0),
        ("18446744073709551615", "18446744073709551615", 0),
        ("18446744073709551616", "1.8446744073709552e+19", 1),
        ("36893488147419103232", "3.6893488147419103e+19", 1),
        ("0.1000000000000000000001", "0.1", 1),
        ("1e400", "\"1e400\"", 1),
        ("1e-400", "0.0", 1),
        ("1e2", "100.0", 0),
    ] {
        let converted = read(text.as_bytes()).unwrap().json.to_value();
        assert_eq!(converted.value.to_string(), want, "{text}");
        assert_eq!(converted.inexact, inexact, "{text}");
    }
}

#[test]
fn numbers_of_one_value_have_one_canonical_text() {
    for (text, want) in [
        ("1", "1"),
        ("1.0", "1"),
        ("10e-1", "1"),
        ("100", "1e2"),
        ("1e2", "1e2"),
        ("-0.0", "-0"),
        ("12.50", "125e-1"),
    ] {
        let number = Number::parse(text).unwrap();
        assert_eq!(number.canonical_text(), want, "{text}");
    }
    let huge = |digit| {
        let text = format!("1e{}{digit}", "9".repeat(40));
        Number::parse(&text).unwrap().canonical_text()
    };
    assert_ne!(huge(1), huge(2));
    let json = read(br#"{"b":[1.0],"a":{"d":1,"c":2}}"#).unwrap().json;
    assert_eq!(json.canonical(), r#"{"a":{"c":2,"d":1},"b":[1]}"#);
}

fn any_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,20}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::vec((".{0,6}", inner), 0..20)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A double that lies halfway between two shortest texts is exact in both.
#[test]
fn both_shortest_texts_of_a_double_are_exact() {
    for text in ["-1341797920779542.2", "-1341797920779542.3"] {
        assert_eq!(
            read(text.as_bytes()).unwrap().json.to_value().inexact,
            0,
            "{text}"
        );
    }
    let rounded = read(b"-1341797920779542.21").unwrap().json.to_value();
    assert_eq!(rounded.inexact, 1);
}

proptest! {
    #[test]
    fn valid_texts_mean_what_serde_json_says(value in any_value()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let parsed = read(text.as_bytes()).unwrap();
            let converted = parsed.json.to_value();
            prop_assert_eq!(&converted.value, &value);
            prop_assert_eq!(converted.inexact, 0);
            prop_assert_eq!(parsed.json.to_string(), value.to_string());
            prop_assert_eq!(Json::from_value(&value), parsed.json);
        }
    }

    #[test]
    fn mangled_texts_never_panic_and_are_never_more_than_serde_json_takes(
        value in any_value(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = value.to_string().into_bytes();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(parsed) = read(&bytes) {
            let again = read(parsed.json.to_string().as_bytes()).unwrap();
            prop_assert_eq!(&again.json, &parsed.json);
            let huge = parsed.json.to_string().contains(['e', 'E']);
            if parsed.repaired == 0 && !huge {
                prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
            }
        }
    }
}
