//! What goes to standard output and standard error: a closed pipe is no failure worth a message.

use std::io::{self, IsTerminal as _, Write as _};

use clap::Args;
use creance::{Error, Workspace, steers, visible_lines};
use serde::Serialize;

use super::paint;

/// For whom data is printed.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Form {
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

impl Form {
    /// For programs.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }
}

/// Prints a text of one line or several. Names, paths and policies come from files that strangers
/// wrote: nothing in them reaches the terminal as a control.
pub(crate) fn line(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{}", visible_lines(text));
}

/// The same for columns: at a terminal, what is wider than it goes on below its column.
pub(crate) fn folded(text: &str) {
    match creance::stdout_width() {
        Some(width) => line(&paint::folded(text, width)),
        None => line(text),
    }
}

/// Prints a text whose parts from strangers are written out already, with its colours.
pub(crate) fn painted(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Prints a secret, which must not be lost: says whether it went out.
pub(crate) fn secret(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// JSON in which nothing steers the terminal; such characters can only stand in strings.
fn visible_json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) && c != '\n' {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Prints a value as JSON.
pub(crate) fn json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => line(&visible_json(&text)),
        Err(error) => error_line(&error.to_string()),
    }
}

/// Prints a value as one line of JSON.
pub(crate) fn json_line(value: &impl Serialize) {
    match serde_json::to_string(value) {
        Ok(text) => line(&visible_json(&text)),
        Err(error) => error_line(&error.to_string()),
    }
}

/// Says something beside the result.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "creance: {}", visible_lines(text));
}

/// Says how far something has come, on a line that the next one takes over; only where a person looks.
#[cfg(feature = "prove")]
pub(crate) fn progress(text: &str) {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        let _ = write!(err, "\r\x1b[K{}", visible_lines(text));
        let _ = err.flush();
    }
}

/// Says what went wrong.
pub(crate) fn error_line(text: &str) {
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let (on, off) = if colour {
        ("\x1b[31m", "\x1b[0m")
    } else {
        ("", "")
    };
    let _ = writeln!(
        io::stderr().lock(),
        "{on}creance:{off} {}",
        visible_lines(text)
    );
}

/// Opens the workspace of this process, and says what is wrong with its files.
pub(crate) fn workspace() -> Result<Workspace, Error> {
    let workspace = Workspace::open()?;
    for notice in &workspace.policies().notices {
        note(&notice.to_string());
    }
    if !workspace.policies().whole {
        note("until that is mended, everything is denied");
    }
    for problem in workspace.problems() {
        note(problem);
    }
    Ok(workspace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        let value = "\u{1b}\u{9b}\u{202e}\u{e0041}é";
        let text = visible_json(&serde_json::to_string(value).unwrap());
        assert!(!text.chars().any(steers), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), value);
    }
}
