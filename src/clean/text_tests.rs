//! The table of text cases, and what must hold of any text.

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::Value as Json;

use super::text;

const CASES: &str = include_str!("../../tests/cases/text-cases.tsv");

/// Rows whose answer is given elsewhere, and where.
const ELSEWHERE: &[(&str, &str)] = &[
    ("T126", "decoding of web pages"),
    ("T128", "the JSON reader repairs lone surrogates"),
    ("T129", "the JSON reader repairs lone surrogates"),
    ("T134", "the JSON reader refuses duplicate keys"),
    ("T136", "a rule about pins, no input"),
];

fn unhex(hex: &str) -> Vec<u8> {
    hex.split(' ')
        .map(|b| u8::from_str_radix(b, 16).unwrap())
        .collect()
}

fn check_row(id: &str, context: &str, input: &str, want: &str) {
    // The two big rows at a tenth of their size: tests run unoptimised.
    let got = match (id, context) {
        ("T137", _) => {
            assert_eq!(text(&"\u{1b}".repeat(500_000)), "");
            return;
        }
        ("T138", _) => {
            let payload = "a".repeat(1_000_000);
            assert_eq!(text(&format!("\u{1b}]{payload}")), payload);
            return;
        }
        (_, "raw bytes") => text(&String::from_utf8_lossy(&unhex(input))).into_owned(),
        (_, "JSON text of an MCP message") => {
            let message: Json = serde_json::from_str(&json(input)).unwrap();
            text(message["text"].as_str().unwrap()).into_owned()
        }
        _ => text(&json(input)).into_owned(),
    };
    assert_eq!(got, json(want), "{id}");
    assert_eq!(text(&got), got, "{id} again");
}

fn json(literal: &str) -> String {
    serde_json::from_str(literal).unwrap()
}

#[test]
fn every_row_of_the_table() {
    let mut rows = 0;
    for line in CASES.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [id, _, context, input, want, _] = cells[..] else {
            panic!("row {line}");
        };
        rows += 1;
        if !ELSEWHERE.iter().any(|(other, _)| *other == id) {
            check_row(id, context, input, want);
        }
    }
    assert_eq!(rows, 104);
}

#[test]
fn other_spellings_of_tags() {
    for (raw, want) in [
        ("<creance_note>", "(creance_note tag)>"),
        ("</CREANCE-NOTE>", "(/creance_note tag)>"),
        ("</untrusted foo>", "(/untrusted tag) foo>"),
        ("&amp;lt;/mcp_result>", "(/mcp_result tag)>"),
        ("%253C/mcp_result>", "(/mcp_result tag)>"),
        ("\\\\u003c/mcp_result>", "(/mcp_result tag)>"),
        ("<\u{301}/mcp_result>", "(/mcp_result tag)>"),
        ("\u{3010}/mcp_result\u{3011}", "(/mcp_result tag)\u{3011}"),
        ("<\u{ff5c}User\u{ff5c}>", "(user marker)"),
        (
            "<\u{ff5c}tool\u{2581}calls\u{2581}begin\u{ff5c}>",
            "(tool_calls_begin marker)",
        ),
        ("</tooI_resuIt>", "(/tool_result tag)>"),
        ("<syste\u{24c2}\u{fe0f}>", "(system tag)>"),
        (
            "<antml:invoke name=\"x\">",
            "(antml:invoke tag) name=\"x\">",
        ),
        ("<system>", "(system tag)>"),
        ("[system] ready", "[system] ready"),
        (
            "a < b && c[tools] % 3 \\u0041",
            "a < b && c[tools] % 3 \\u0041",
        ),
        ("f <| user", "f <| user"),
        ("Vec<ToolResultList>", "Vec<ToolResultList>"),
    ] {
        assert_eq!(text(raw), want, "{raw:?}");
    }
}

#[test]
fn clean_text_is_borrowed() {
    for raw in ["", "plain\n\ttext", "größer, 漢字, 😀", "if a < b { x[1] }"] {
        assert!(matches!(text(raw), Cow::Borrowed(_)), "{raw:?}");
    }
}

/// Long runs of what starts a search must not cost a search each.
#[test]
fn hostile_runs_take_linear_time() {
    let start = std::time::Instant::now();
    for run in [
        "\u{9d}",
        "\u{1b}]",
        "\u{1b}[0",
        "\u{1b}(",
        "<",
        "[",
        "&amp;",
        "&#0",
        "%25",
        "\\",
        "<!",
        "< ",
        "<mcp_",
        "e\u{301}",
        "\u{200d}",
        "<|system ",
    ] {
        let _ = text(&run.repeat(50_000 / run.len()));
    }
    let took = start.elapsed();
    assert!(took.as_secs() < 30, "{took:?}");
}

/// Pieces that have meaning to the cleaner, so that random texts hit its rules.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        proptest::char::range('\0', '\u{a0}').prop_map(String::from),
        proptest::char::range('\u{300}', '\u{303}').prop_map(String::from),
        proptest::char::range('\u{200b}', '\u{2064}').prop_map(String::from),
        proptest::char::range('\u{e0000}', '\u{e0080}').prop_map(String::from),
        proptest::char::range('\u{fe00}', '\u{fe0f}').prop_map(String::from),
        proptest::char::range('\u{900}', '\u{950}').prop_map(String::from),
        proptest::sample::select(vec![
            "\u{1b}",
            "\u{1b}[",
            "\u{1b}]",
            "\u{1b}\\",
            "\u{9d}",
            "\u{9c}",
            "\r\n",
            "<",
            "/",
            "&lt;",
            "&",
            "lt",
            ";",
            "%3c",
            "\\u003c",
            "[",
            "mcp_result",
            "mcp",
            "_",
            "result",
            "tag)",
            ">",
            "<|",
            "|>",
            "system",
            "im_start",
            "user",
            "untrusted",
            "\u{24c2}",
            "\u{1f468}",
            "\u{ff5c}",
            "\u{200d}",
            "\u{200c}",
            "\u{2028}",
            "\u{3164}",
            "\u{430}",
            " ",
            "\n",
            "\t",
            "AKIA",
            "Bearer ",
            "://",
            "@",
            "password=",
            "-----BEGIN PRIVATE KEY-----",
            "eyJ",
            "\u{27e6}",
        ])
        .prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn cleaning_twice_is_cleaning_once(raw in hostile()) {
        let once = text(&raw).into_owned();
        prop_assert_eq!(text(&once).into_owned(), once);
    }

    #[test]
    fn nothing_unseen_is_left(raw in hostile()) {
        let clean = text(&raw);
        let unseen = |c: char| {
            (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
                    | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                    | '\u{e0000}'..='\u{e0fff}')
        };
        prop_assert!(!clean.contains(unseen), "{:?}", clean);
    }

    #[test]
    fn no_tag_is_left(raw in hostile()) {
        let clean = text(&raw).to_lowercase();
        for tag in ["<mcp_result>", "</mcp_result>", "<system>", "<|system|>", "&lt;mcp_result>"] {
            prop_assert!(!clean.contains(tag), "{:?}", clean);
        }
    }
}
