//! What a person sees before an effect: everything that will happen, cleaned, nothing cut silently.
//! Each value that comes from a file, a server or an agent is untrusted text.

use serde_json::Value;

use crate::clean;
use crate::grant::Launch;
use crate::protocol::names;
#[cfg(feature = "http")]
use crate::request::SignIn;
use crate::request::{
    Asked, CallTool, ConnectHost, ConnectServer, Pin, ReviewTools, RunCommand, StartServer,
};

use super::sheet::{LINE, Sheet};

/// What the person is told about a start beside its facts.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartView {
    /// Where the definition stands, `file:line`.
    pub(crate) origin: String,
    /// The command line as it is configured, where another is started in its place.
    pub(crate) configured: Option<String>,
    /// Names of the variables that the definition sets.
    pub(crate) env_names: Vec<String>,
    /// Why the program cannot be pinned, when it cannot.
    pub(crate) unpinned: Option<String>,
    /// Warnings about command line and grants.
    pub(crate) warnings: Vec<String>,
    /// Lines that changed since it was agreed to.
    pub(crate) difference: Vec<String>,
}

/// A command line as one would type it, quoted where needed.
pub(crate) fn command_line(launch: &Launch) -> String {
    words(&launch.name, &launch.args)
}

/// Words as one would type them, quoted where needed.
pub(crate) fn words(name: &str, args: &[String]) -> String {
    std::iter::once(name)
        .chain(args.iter().map(String::as_str))
        .map(quote)
        .collect::<Vec<_>>()
        .join(" ")
}

fn quote(word: &str) -> String {
    let plain = !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-./=:@%+,".contains(c));
    if plain {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The question about starting a server.
pub(crate) fn start(start: &StartServer, view: &StartView) -> Asked {
    let id = clean::line(&start.server.id.to_string(), 120);
    let changed = start.config_changed || start.program.pin == Pin::Changed;
    let mut sheet = Sheet::new(if changed {
        format!("Start the MCP server {id}, which has changed?")
    } else {
        format!("Start the MCP server {id}?")
    });
    sheet.full("command", &command_line(&start.launch));
    if let Some(configured) = &view.configured {
        sheet.full("in place of", configured);
    }
    sheet.line("program", &start.program.path);
    sheet.line("folder", &start.launch.cwd.to_string_lossy());
    sheet.line("defined in", &view.origin);
    let (package, version) = &start.package;
    if !package.is_empty() {
        let version = if version.is_empty() {
            "no pinned version"
        } else {
            version
        };
        sheet.line("package", &format!("{package} ({version})"));
    }
    sheet.lines("environment", &view.env_names);
    sheet.grant(&start.grant, &start.wishes);
    sheet.confinement(&start.confinement, start.grant.network);
    sheet.lines("what changed", &view.difference);
    for warning in &view.warnings {
        sheet.warn(warning);
    }
    if let Some(why) = &view.unpinned {
        sheet.warn(&format!(
            "the program is not pinned, so no change of it is noticed, and an answer holds in this \
             folder only: {why}"
        ));
    }
    if !start.secret_names.is_empty() {
        sheet.warn(&format!(
            "gets variables that look like secrets: {}",
            start.secret_names.join(", ")
        ));
    }
    sheet.asked
}

/// What the person is told about a remote server beside its facts.
#[derive(Clone, Debug, Default)]
pub(crate) struct RemoteView {
    /// Where the definition stands, `file:line`.
    pub(crate) origin: String,
    /// Its address as written; secrets masked.
    pub(crate) url: String,
    /// How it is spoken to.
    pub(crate) protocol: &'static str,
    /// Names of the headers that each request carries.
    pub(crate) headers: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// Lines that changed since it was agreed to.
    pub(crate) difference: Vec<String>,
}

/// The question about connecting to a remote server.
pub(crate) fn remote(connect: &ConnectServer, view: &RemoteView) -> Asked {
    let id = clean::line(&connect.server.id.to_string(), 120);
    let mut sheet = Sheet::new(if connect.server.pin == Pin::Changed {
        format!("Connect to the remote MCP server {id}, which has changed?")
    } else {
        format!("Connect to the remote MCP server {id}?")
    });
    sheet.line("address", &view.url);
    sheet.line("host", &connect.origin());
    let addresses: Vec<String> = connect
        .addresses
        .iter()
        .map(|ip| format!("{ip} ({})", ConnectServer::class(Some(*ip))))
        .collect();
    sheet.lines("leads to", &addresses);
    sheet.line("transport", view.protocol);
    sheet.line("defined in", &view.origin);
    sheet.lines("headers", &view.headers);
    sheet.lines("what changed", &view.difference);
    sheet.host_name(&connect.host);
    for warning in &view.warnings {
        sheet.warn(warning);
    }
    sheet.asked
}

/// One tool as the person reviews it: name, what is new, and its full text.
#[derive(Clone, Debug)]
pub(crate) struct ToolView {
    pub(crate) name: String,
    pub(crate) text: String,
    /// Lines that are gone (`- `) or new (`+ `) since it was agreed to.
    pub(crate) difference: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// The question about a tool list.
pub(crate) fn tools(review: &ReviewTools, views: &[ToolView]) -> Asked {
    let id = clean::line(&review.server.id.to_string(), 120);
    let mut sheet = Sheet::new(if review.first_time {
        format!("Use the tools of {id}?")
    } else {
        format!("The tools of {id} have changed. Use them?")
    });
    sheet.lines("new", &review.added);
    sheet.lines("changed", &review.changed);
    sheet.lines("gone", &review.removed);
    for view in views {
        let name = clean::line(&view.name, 120);
        if !view.difference.is_empty() {
            sheet.full(
                &format!("what changed in tool {name}"),
                &view.difference.join("\n"),
            );
        }
        sheet.full(&format!("tool {name}"), &view.text);
        for note in &view.notes {
            sheet.warn(&format!("tool {name}: {note}"));
        }
    }
    sheet.asked
}

/// The question about a tool call.
pub(crate) fn call(call: &CallTool) -> Asked {
    let tool = format!("{}/{}", call.tool.server.id, call.tool.name);
    let short = clean::line(&tool, 200);
    let mut sheet = Sheet::new(format!("Call {short}?"));
    if short != clean::line(&tool, LINE) {
        sheet.line("tool", &tool);
    }
    sheet.full("arguments", &pretty(&call.arguments));
    let paths: Vec<String> = call
        .paths
        .iter()
        .map(|arg| match &arg.path {
            Some(path) => format!("{} is {}", arg.arg, path.text),
            None => format!("{} cannot be resolved", arg.arg),
        })
        .collect();
    sheet.lines("paths", &paths);
    for (first, second) in near_keys(&call.arguments) {
        sheet.warn(&format!(
            "two arguments have names that are easily taken for one another: {first:?} and {second:?}"
        ));
    }
    if !call.valid {
        sheet.warn("the arguments do not fit the tool's own schema");
    }
    if call.secrets {
        sheet.warn("the arguments hold something that looks like a secret");
    }
    if !call.option_like.is_empty() {
        sheet.warn(&format!(
            "begins with a dash, which some programs take as an option: {}",
            call.option_like.join(", ")
        ));
    }
    if call.tool.claims.destructive {
        sheet.warn("the server says of this tool that it may destroy (not verified)");
    }
    sheet.asked
}

/// The question about running a command.
pub(crate) fn run(run: &RunCommand, warnings: &[String]) -> Asked {
    let mut sheet = Sheet::new("Run this command in the sandbox?".to_owned());
    sheet.full("command", &command_line(&run.launch));
    sheet.line("program", &run.program.path);
    sheet.line("folder", &run.launch.cwd.to_string_lossy());
    sheet.grant(&run.grant, &run.wishes);
    sheet.confinement(&run.confinement, run.grant.network);
    for warning in warnings {
        sheet.warn(warning);
    }
    sheet.asked
}

/// The question about one connection of what runs.
pub(crate) fn connect(connect: &ConnectHost, name: &str) -> Asked {
    let name = clean::line(name, 120);
    let host = connect.host.as_str();
    let mut sheet = Sheet::new(format!("Let {name} connect to {}?", connect.target()));
    sheet.line("host", host);
    sheet.line("port", &connect.port.to_string());
    if !connect.listed {
        sheet.warn("it is not among the hosts that were asked for when it started");
    }
    sheet.host_name(&connect.host);
    sheet.asked
}

/// The question about signing in to a remote server.
#[cfg(feature = "http")]
pub(crate) fn sign_in(sign_in: &SignIn, (url, callback): (&str, &str)) -> Asked {
    let id = clean::line(&sign_in.server.id.to_string(), 120);
    let mut sheet = Sheet::new(format!("Sign in to the MCP server {id}?"));
    sheet.full("server", url);
    sheet.line("sign-in page", &sign_in.page);
    sheet.line("sign-in server", &sign_in.issuer);
    let scopes = match sign_in.scopes.as_slice() {
        [] => "what the sign-in server gives by itself".to_owned(),
        scopes => scopes.join(" "),
    };
    sheet.full("asks for", &scopes);
    sheet.line("comes back to", callback);
    if sign_in.dynamic_registration {
        sheet.line("registration", "Creance registers itself there");
    }
    if !sign_in.issuer_matches_server {
        sheet.warn("the sign-in server belongs to another host than the server");
    }
    if sign_in.page.starts_with("http:") {
        sheet.warn("the page is not encrypted");
    }
    let host = sign_in.page.split_once("://").map_or("", |(_, host)| host);
    let host: Option<crate::address::HostName> =
        host.split(':').next().and_then(|host| host.parse().ok());
    if let Some(readable) = host.and_then(|host| host.in_other_letters()) {
        sheet.line("in other letters", &readable);
        sheet.warn(
            "the name has letters of other scripts, which can look like those of another name",
        );
    }
    sheet.asked
}

/// Pairs of different keys of one object that look alike: "command", "command " and one with a
/// Cyrillic letter.
fn near_keys(value: &Value) -> Vec<(&str, &str)> {
    match value {
        Value::Object(members) => {
            let own = names::lookalikes(members.keys().map(String::as_str));
            let inner = members.values().flat_map(near_keys);
            own.into_iter().chain(inner).collect()
        }
        Value::Array(items) => items.iter().flat_map(near_keys).collect(),
        _ => Vec::new(),
    }
}

/// JSON as people read it: strings with their real line breaks would hide keys, so they stay
/// escaped; keys and values one to a line.
fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn near_keys_are_found_at_any_depth() {
        let near = |value: &Value| near_keys(value).len();
        assert_eq!(
            near(&json!({ "command": 1, "command ": 2, "comm\u{430}nd": 3 })),
            2
        );
        assert_eq!(near(&json!([{ "a": { "path": 1, "Path": 2 } }])), 1);
        assert_eq!(near(&json!({ "from": 1, "to": { "from": 2 } })), 0);
    }
}
