//! Whose words a text is: said first, and each line of the server's behind a mark that none of
//! Creance's own lines has, so that a server cannot speak as Creance or as another server.

use std::fmt::Write as _;

use crate::clean;

/// The longest name of a server within a text.
const NAME_MAX: usize = 120;

/// A server's words under a heading of ours, with facts of ours between them.
pub(crate) fn quoted(server: &str, what: &str, facts: &[(&str, &str)], words: &str) -> String {
    let server = clean::line(server, NAME_MAX);
    let mut text = format!("The server {server} {what}. Creance only passes this on.\n");
    for (label, fact) in facts {
        let _ = writeln!(text, "{label}: {fact}");
    }
    if words.trim().is_empty() {
        return text;
    }
    text.push_str("The words of the server:\n");
    for line in clean::person(words).text.lines() {
        let _ = writeln!(text, "> {line}");
    }
    text
}
