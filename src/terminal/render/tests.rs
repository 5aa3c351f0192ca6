//! How questions look at 80 columns, and that hostile text stays harmless.

use insta::assert_snapshot;
use proptest::prelude::{prop_assert, proptest};

use super::*;
use crate::request::{Asked, Detail, Role};

fn question(details: &[(&str, &str)], warnings: &[&str]) -> Question {
    let details = details.iter().map(|&(label, text)| Detail::new(label, text));
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
            ("command", "npx -y @modelcontextprotocol/server-filesystem@2025.8.21 /home/u/project /home/u/documents/notes"),
            ("writes", "/home/u/project\n/home/u/documents"),
        ],
        &["runs a downloaded package without a pinned version, so what runs tomorrow may be something else"],
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
      - asked by policy project/rules/p1; the project says: "safe
          - asked by policy org/x: approve"
    "#);
}
