//! How one server of another client reads on a screen.

use creance::{Client, Moved, ServerImport, Tone};

/// Where a server comes from.
pub(super) fn from(server: &ServerImport) -> String {
    let client = Client::ALL.into_iter().find(|c| c.word() == server.client);
    let title = client.map_or(server.client, Client::title);
    if server.of_project {
        format!("{title}, project")
    } else {
        title.to_owned()
    }
}

/// What becomes of a server.
pub(super) fn step(server: &ServerImport) -> (Tone, String) {
    match server.step {
        "add" if server.entry.get("enabled") == Some(&false.into()) => {
            (Tone::Plain, "add, switched off".to_owned())
        }
        "add" if server.of_project => (Tone::Plain, "add; it came from a project".to_owned()),
        "add" => (Tone::Plain, "add".to_owned()),
        "there" => (Tone::Quiet, "is there already".to_owned()),
        "taken" => (
            Tone::Warning,
            "left alone: yours of that name is another one".to_owned(),
        ),
        "project" if server.file.ends_with(".mcp.json") => {
            (Tone::Quiet, "in use here, as the project's".to_owned())
        }
        "project" => (
            Tone::Quiet,
            "left out: `--project` makes it yours".to_owned(),
        ),
        _ => {
            let why = server.why.as_deref().unwrap_or("it cannot be carried over");
            (Tone::Refused, format!("left out: {why}"))
        }
    }
}

/// What is started or reached, in one line.
pub(super) fn started(server: &ServerImport) -> String {
    let text = |key: &str| server.entry.get(key).and_then(|value| value.as_str());
    if let Some(url) = text("url") {
        return url.to_owned();
    }
    let args = server.entry.get("args").and_then(|args| args.as_array());
    let args = args.into_iter().flatten().filter_map(|arg| arg.as_str());
    let words: Vec<&str> = text("command").into_iter().chain(args).collect();
    words.join(" ")
}

/// A variable, and whether it has a value here.
pub(super) fn titled(secret: &Moved) -> String {
    match secret.set {
        true => format!("{} (set already)", secret.variable),
        false => secret.variable.clone(),
    }
}
