//! What goes to standard output and standard error: a closed pipe is no failure worth a message.

use std::io::{self, IsTerminal as _, Write as _};

use creance::{Error, Workspace};
use serde::Serialize;

/// Prints a line.
pub(crate) fn line(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Prints a value as JSON.
pub(crate) fn json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => line(&text),
        Err(error) => error_line(&error.to_string()),
    }
}

/// Says something beside the result.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "creance: {text}");
}

/// Says what went wrong.
pub(crate) fn error_line(text: &str) {
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let (on, off) = if colour {
        ("\x1b[31m", "\x1b[0m")
    } else {
        ("", "")
    };
    let _ = writeln!(io::stderr().lock(), "{on}creance:{off} {text}");
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
