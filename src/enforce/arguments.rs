//! Facts about the arguments of a call: which of them name paths and where those lead, which could
//! be taken for options.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::disk;
use crate::grant::Launch;
use crate::request::{ArgPath, Places};

/// Names of arguments (their last part, lower case) that hold a path.
const PATH_NAMES: &[&str] = &[
    "file",
    "files",
    "filename",
    "filenames",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
    "root",
    "roots",
    "repo",
    "repository",
    "source",
    "destination",
    "src",
    "dst",
    "dest",
    "target",
    "cwd",
    "workdir",
];
/// Endings of such names.
const PATH_ENDS: &[&str] = &[
    "path",
    "paths",
    "_file",
    "_files",
    "_dir",
    "_directory",
    "_folder",
    "_root",
];
/// Longest text that is taken for a path by its look alone: `PATH_MAX` of Linux.
const PATH_MAX: usize = 4096;

/// A string among the arguments, with its flattened name (`files.0`).
pub(crate) struct Leaf<'a> {
    name: String,
    text: &'a str,
}

fn leaves<'a>(value: &'a Value, name: String, found: &mut Vec<Leaf<'a>>) {
    let below = |part: &str| {
        if name.is_empty() {
            part.to_owned()
        } else {
            format!("{name}.{part}")
        }
    };
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                leaves(member, below(key), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, below(&index.to_string()), found);
            }
        }
        Value::String(text) => found.push(Leaf { name, text }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Every string among the arguments.
pub(crate) fn strings(arguments: &Value) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    leaves(arguments, String::new(), &mut found);
    found
}

/// Whether an argument names a path: by its own name, or by the look of its text.
fn names_path(leaf: &Leaf<'_>) -> bool {
    looks_like_path(leaf.text) || (is_path_name(&leaf.name) && !is_url(leaf.text))
}

/// Whether the name of an argument says that it holds a path.
fn is_path_name(name: &str) -> bool {
    let mut parts = name.rsplit('.');
    let own = parts.find(|part| part.parse::<usize>().is_err());
    let own = own.unwrap_or_default().to_lowercase();
    PATH_NAMES.contains(&own.as_str()) || PATH_ENDS.iter().any(|end| own.ends_with(end))
}

/// A name such as `source` may also hold a URL, which is judged where it is fetched.
fn is_url(text: &str) -> bool {
    text.contains("://") && !text.starts_with("file://")
}

fn looks_like_path(text: &str) -> bool {
    // Prose may begin like a path. What its name calls a path is one, whatever it looks like.
    if text.len() > PATH_MAX || text.contains('\n') {
        return false;
    }
    let starts = ["/", "~/", "./", "../", "file://", "\\\\"];
    text == ".."
        || text == "~"
        || starts.iter().any(|start| text.starts_with(start))
        || text.contains("/../")
        || text.ends_with("/..")
}

/// The folders against which a server may mean a relative path: its own, and those that its command
/// line names, as some servers take a path below the folder that they were told to serve.
pub(crate) fn bases(launch: &Launch) -> Vec<PathBuf> {
    let mut bases = vec![launch.cwd.clone()];
    for word in &launch.args {
        let text = match word.split_once('=') {
            Some((option, value)) if option.starts_with('-') => value,
            _ => word,
        };
        if let Ok(folder) = disk::resolve(text, &launch.cwd, None)
            && folder.is_dir()
            && !bases.contains(&folder)
        {
            bases.push(folder);
        }
    }
    bases
}

/// The arguments that name paths, each resolved as the server would: links followed, relative to
/// its folder. One that names different files below the folders that it may be meant against is not
/// resolved: what was judged might not be what the server opens.
pub(crate) fn paths(strings: &[Leaf<'_>], bases: &[PathBuf], places: &Places) -> Vec<ArgPath> {
    let home = (!places.home.is_empty()).then(|| Path::new(&places.home));
    let resolve = |text: &str| {
        let mut found = bases.iter().map(|base| disk::resolve(text, base, home));
        let first = found.next()?.ok()?;
        let same = found.all(|other| other.is_ok_and(|other| other == first));
        same.then(|| places.facts(disk::path_text(&first)))
    };
    let named = strings.iter().filter(|leaf| names_path(leaf));
    named
        .map(|leaf| ArgPath {
            path: resolve(leaf.text),
            arg: leaf.name.clone(),
        })
        .collect()
}

/// Names of arguments whose text begins with a dash.
pub(crate) fn option_like(strings: &[Leaf<'_>]) -> Vec<String> {
    let dashed = strings.iter().filter(|leaf| leaf.text.starts_with('-'));
    dashed.map(|leaf| leaf.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(arguments: &Value, want: &[&str]) {
        let names: Vec<String> = paths(
            &strings(arguments),
            &["/nowhere".into()],
            &Places::default(),
        )
        .into_iter()
        .map(|found| found.arg)
        .collect();
        assert_eq!(names, want, "{arguments}");
    }

    #[test]
    fn paths_are_found_by_name_and_by_look() {
        check(&json!({"path": "a.txt"}), &["path"]);
        check(&json!({"files": ["a", "b"]}), &["files.0", "files.1"]);
        check(&json!({"repoPath": "x"}), &["repoPath"]);
        check(
            &json!({"edits": [{"file_path": "x"}]}),
            &["edits.0.file_path"],
        );
        check(&json!({"anything": "/etc/passwd"}), &["anything"]);
        check(&json!({"q": "src/../../x"}), &["q"]);
        check(&json!({"uri": "file:///etc/passwd"}), &["uri"]);
        check(&json!({"content": "a/b and c"}), &[]);
        check(&json!({"source": "https://example.test/x"}), &[]);
        check(&json!({"text": "line one\n/etc/passwd"}), &[]);
        check(&json!({"n": 3}), &[]);
        // A name of a file may hold a line end, and a server may cut what is too long.
        check(&json!({"path": "docs/a\n/../../x"}), &["path"]);
        check(&json!({"path": "a/".repeat(3_000)}), &["path"]);
        check(
            &json!({"from_path": "x", "filepath": "y"}),
            &["from_path", "filepath"],
        );
    }

    /// `server-filesystem /srv` opens `/srv/a.txt` for `a.txt`, whatever its working folder.
    #[test]
    fn a_path_that_may_be_meant_below_two_folders_is_not_resolved() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (cwd, other) = (root.join("cwd"), root.join("other"));
        for folder in [&cwd, &other] {
            std::fs::create_dir(folder).unwrap();
        }
        let check = |args: &[&str], text: &str, want: Option<PathBuf>| {
            let launch = Launch {
                program: "/bin/server".into(),
                name: "server".to_owned(),
                args: args.iter().map(ToString::to_string).collect(),
                cwd: cwd.clone(),
                stamps: Vec::new(),
            };
            let arguments = json!({ "path": text });
            let found = paths(&strings(&arguments), &bases(&launch), &Places::default());
            let got = found[0].path.as_ref().map(|path| PathBuf::from(&path.text));
            assert_eq!(got, want, "{args:?} {text}");
        };
        let option = format!("--root={}", other.display());
        let other = other.to_str().unwrap();
        check(&["x", "-y", "missing/"], "a.txt", Some(cwd.join("a.txt")));
        check(&["."], "a.txt", Some(cwd.join("a.txt")));
        check(&["../cwd/"], "a.txt", Some(cwd.join("a.txt")));
        check(&[other], "a.txt", None);
        check(&[&option], "a.txt", None);
        let whole = root.join("other/a.txt");
        check(&[other], whole.to_str().unwrap(), Some(whole.clone()));
    }

    #[test]
    fn texts_that_begin_with_a_dash_are_named() {
        let found = option_like(&strings(
            &json!({"revision": "--output=/tmp/x", "n": "a-b", "l": ["-p"]}),
        ));
        assert_eq!(found, ["revision", "l.0"]);
    }
}
