//! What a told request may be about: names that stand for what a solver's example is in.

use serde_json::{Value as Json, json};

use super::shrink::Words;
use super::told::Example;

/// A path in each place.
const PATHS: [(&str, &str); 11] = [
    ("project", "docs/a.md"),
    ("project-vcs", ".git/config"),
    ("project-config", ".vscode/tasks.json"),
    ("home", "~/notes.txt"),
    ("temp", "/tmp/a.txt"),
    ("cache", "~/.cache/a.txt"),
    ("config", "~/.config/creance/policies/me.cedar"),
    ("secrets", "~/.ssh/id_ed25519"),
    ("system", "/usr/lib/a.so"),
    ("devices", "/dev/sda"),
    ("other", "/srv/a.txt"),
];

/// The places that there are.
pub(super) fn places() -> impl Iterator<Item = &'static str> {
    PATHS.iter().map(|(place, _)| *place)
}

/// A host of each class.
const HOSTS: [(&str, &str); 7] = [
    ("unresolved", "example.com"),
    ("public", "93.184.215.14"),
    ("private", "10.0.0.1"),
    ("loopback", "127.0.0.1"),
    ("metadata", "169.254.169.254"),
    ("link-local", "169.254.1.1"),
    ("multicast", "224.0.0.1"),
];

/// All guesses for a resource of this type.
pub(super) fn of(example: &Example<'_>, kind: &str) -> Vec<Words> {
    let one = |word: &str, value: Json| vec![Words::from_iter([(word.to_owned(), value)])];
    let thing = example.resource;
    let id = thing.id().unescaped();
    match kind {
        "Path" => {
            let mut all = example.members_like(thing);
            all.extend(text(id).filter(|id| id.starts_with(['/', '.'])));
            all.extend(paths(&example.above(thing)));
            each("path", all)
        }
        "Host" => {
            let mut all = example.members_like(thing);
            all.extend(text(id));
            all.extend(hosts(
                &example.above(thing),
                example.described(thing, &["ip_class"]),
            ));
            each("host", all)
        }
        "Program" => {
            let pin = example.described(thing, &["pin", "path"]);
            let mut all = example.members_like(thing);
            all.extend(text(id));
            all.extend(pin.get("path").and_then(Json::as_str).map(str::to_owned));
            all.push("/usr/bin/git".to_owned());
            let named = |name: String| {
                let mut words = pin.clone();
                if let Some(members) = words.as_object_mut() {
                    members.shift_remove("path");
                    members.insert("name".to_owned(), json!(name));
                }
                Words::from_iter([("program".to_owned(), words)])
            };
            all.into_iter().map(named).collect()
        }
        "Server" => one("server", example.server(thing)),
        "Prompt" | "McpResource" => {
            let word = if kind == "Prompt" { "prompt" } else { "uri" };
            let mut words = Words::from_iter([("server".to_owned(), example.server_of(thing))]);
            let name = id.splitn(3, '/').nth(2).and_then(text);
            words.extend(name.map(|name| (word.to_owned(), json!(name))));
            vec![words]
        }
        "EnvVar" => {
            let mut words = example.described(thing, &["looks_secret"]);
            if let (Some(members), Some(name)) = (words.as_object_mut(), text(id)) {
                members.insert("name".to_owned(), json!(name));
            }
            one("variable", words)
        }
        "Secret" => one("secret", example.other(thing)),
        "Plugin" => one("plugin", example.other(thing)),
        "DevTool" => one("dev_tool", example.other(thing)),
        "SearchProvider" => one("provider", example.other(thing)),
        "Issuer" => one("issuer", example.other(thing)),
        "Model" => one("model", example.other(thing)),
        _ => Vec::new(),
    }
}

fn text(id: &str) -> Option<String> {
    Some(id.to_owned()).filter(|id| !id.is_empty())
}

fn each(word: &str, names: Vec<String>) -> Vec<Words> {
    let each = |name| Words::from_iter([(word.to_owned(), json!(name))]);
    names.into_iter().map(each).collect()
}

/// Paths that are in what an example is in; then one in every place, should nothing of that matter.
pub(super) fn paths(above: &[(String, String)]) -> Vec<String> {
    let of = |kind: &'static str| above.iter().filter(move |(known, _)| known == kind);
    let below = of("Path").map(|(_, folder)| match folder.as_str() {
        "/" => "/a.txt".to_owned(),
        folder => format!("{folder}/a.txt"),
    });
    let placed = of("Place").filter_map(|(_, place)| {
        let mut known = PATHS.iter();
        known.find(|(name, _)| name == place)
    });
    let placed = placed.chain(&PATHS).map(|(_, path)| (*path).to_owned());
    below.chain(placed).collect()
}

fn hosts(above: &[(String, String)], described: Json) -> Vec<String> {
    let class = described.get("ip_class").and_then(Json::as_str);
    let domains = above.iter().filter(|(kind, _)| kind == "Domain");
    let below = domains.map(|(_, domain)| format!("a.{domain}"));
    let classed = HOSTS.iter().filter(|(name, _)| Some(*name) == class);
    let classed = classed.chain(&HOSTS).map(|(_, host)| (*host).to_owned());
    below.chain(classed).collect()
}
