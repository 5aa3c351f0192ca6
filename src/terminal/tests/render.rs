//! How questions look at 80 columns, and that hostile text stays harmless.

use insta::assert_snapshot;
use proptest::prelude::{prop_assert, proptest};

use super::*;
use crate::request::{Asked, Detail, Role};

fn question(details: &[(&str, &str)], warnings: &[&str]) -> Question {
    let details = details
        .iter()
        .map(|&(label, text)| Detail::new(label, text));
    Question {
        id: "q".to_owned(),
        action: "server.start".to_owned(),
        asked: Asked {
            title: "Start the server \"files\"".to_owned(),
            details: details.collect(),
            warnings: warnings.iter().map(|&w| w.to_owned()).collect(),
            complete: true,
        },
        because: vec![
            Because {
                policy: "builtin/defaults/ask-start".to_owned(),
                layer: Layer::Builtin,
                role: Role::RequiresAnswer,
                reason: "a server runs code on this machine".to_owned(),
            },
            Because {
                policy: "project/rules/p1".to_owned(),
                layer: Layer::Project,
                role: Role::RequiresAnswer,
                reason: "safe\n  - asked by policy org/x: approve".to_owned(),
            },
        ],
        longest: Answer::Remembered,
        scopes: vec!["this server as it is".to_owned()],
        asker: "claude-code in /home/u/project".to_owned(),
    }
}

fn shown(question: &Question) -> String {
    let lines = render(question, 80);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_question_is_shown_in_full() {
    let question = question(
        &[
            (
                "command",
                "npx -y @modelcontextprotocol/server-filesystem@2025.8.21 /home/u/project /home/u/documents/notes",
            ),
            ("writes", "/home/u/project\n/home/u/documents"),
        ],
        &[
            "runs a downloaded package without a pinned version, so what runs tomorrow may be something else",
        ],
    );
    assert_snapshot!(shown(&question), @r#"
    ? Start the server "files"
      claude-code in /home/u/project asks for server.start
      command
      │ npx -y @modelcontextprotocol/server-filesystem@2025.8.21 /home/u/project 
      │   /home/u/documents/notes
      writes
      │ /home/u/project
      │ /home/u/documents
      ! runs a downloaded package without a pinned version, so what runs tomorrow 
        may be something else
      - asked by policy builtin/defaults/ask-start: a server runs code on this 
        machine
      - asked by policy project/rules/p1, which the project explains so:
      │ safe
      │   - asked by policy org/x: approve
    "#);
}

#[test]
fn what_cannot_be_shown_is_said() {
    let mut question = question(&[], &[]);
    question.because.clear();
    question.asked.complete = false;
    assert_snapshot!(shown(&question), @r#"
    ? Start the server "files"
      claude-code in /home/u/project asks for server.start
      ! not all of it can be shown, so agreeing is not offered
    "#);
}

/// Case SH-08: what hides behind blanks, blank lines, direction marks and carriage returns is seen.
#[test]
fn hidden_text_is_seen() {
    let blanks = " ".repeat(400);
    let blank_lines = "\n".repeat(80);
    let hostile = [
        format!("ls{blanks}; rm -rf x"),
        format!("ls{blank_lines}rm -rf x"),
        "echo \u{202e}xr- mr\u{202c} \u{200b}ok".to_owned(),
        "rm -rf x\recho harmless    ".to_owned(),
        "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}1A".to_owned(),
        "a\tb\u{a0}c\u{3164}d\u{e000}e\u{301}\u{301}\u{301}\u{301}".to_owned(),
    ];
    let details: Vec<_> = hostile.iter().map(|text| ("code", text.as_str())).collect();
    let mut question = question(&details, &["a\n  ! b\u{2028}c"]);
    question.because.clear();
    question.asked.title = "Call \"x\"\n  - asked by policy org/y\u{1b}[1A".to_owned();
    assert_snapshot!(shown(&question), @r#"
    ? Call "x"<line break>  - asked by policy org/y<escape>[1A
      claude-code in /home/u/project asks for server.start
      code
      │ ls<400 blanks>; rm -rf x
      code
      │ ls
      │ <79 blank lines>
      │ rm -rf x
      code
      │ echo <U+202E>xr- mr<U+202C> <U+200B>ok
      code
      │ rm -rf x<carriage return>echo harmless<4 blanks>
      code
      │ <escape>[2J<escape>]0;title<U+0007><U+009B>1A
      code
      │ a<tab>b<U+00A0>c<U+3164>d<U+E000>é́<U+0301><U+0301>
      ! a<line break>  ! b<U+2028>c
    "#);
}

/// Case SH-08: the last line of a long script is there, and so is every other one.
#[test]
fn a_long_script_is_never_cut() {
    let script = format!("import json\n{}import shutil", "# note\n".repeat(5_000));
    let shown = shown(&question(&[("code", &script)], &[]));
    assert_eq!(shown.matches("│ # note").count(), 5_000);
    assert!(shown.contains("│ import shutil"));
}

proptest! {
    /// No text whatever makes a line that is too wide, holds a control character, or stands at the
    /// margin; and nothing is lost.
    #[test]
    fn any_text_stays_behind_its_bar(text in "(?s).{0,300}", width in 30_usize..120) {
        let mut question = question(&[("code", &text)], &[&text]);
        question.because.iter_mut().for_each(|because| because.reason.clone_from(&text));
        let plain: Vec<String> = render(&question, width).iter().map(Line::to_string).collect();
        for line in plain.iter().skip(1) {
            prop_assert!(line.starts_with("  "), "{line:?}");
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
            prop_assert!(super::super::visible::columns(line) <= width, "{line:?}");
        }
        let ink = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
        let all: String = plain.concat();
        prop_assert!(ink(&all) >= 2 * ink(&text));
    }
}
