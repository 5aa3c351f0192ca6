//! Facts about the arguments of a call: which of them name paths and where those lead, which could
//! be taken for options.

use std::path::Path;

use serde_json::Value;

use crate::disk;
use crate::request::{ArgPath, Places};

/// Names of arguments (their last part, lower case) that hold a path.
const PATH_NAMES: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "filepath",
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
    "from_path",
    "to_path",
    "old_path",
    "new_path",
];
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
/// Longest text that is taken for a path: `PATH_MAX` of Linux.
const PATH_MAX: usize = 4096;

/// A string among the arguments, with its flattened name (`files.0`).
struct Leaf<'a> {
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

fn all_leaves(arguments: &Value) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    leaves(arguments, String::new(), &mut found);
    found
}

/// Whether an argument names a path: by its own name, or by the look of its text.
fn names_path(leaf: &Leaf<'_>) -> bool {
    if leaf.text.len() > PATH_MAX || leaf.text.contains('\n') {
        return false;
    }
    let mut parts = leaf.name.rsplit('.');
    let own = parts
        .find(|part| part.parse::<usize>().is_err())
        .unwrap_or_default()
        .to_lowercase();
    let by_name =
        PATH_NAMES.contains(&own.as_str()) || PATH_ENDS.iter().any(|end| own.ends_with(end));
    // A name such as `source` may also hold a URL, which is judged where it is fetched.
    let url = leaf.text.contains("://") && !leaf.text.starts_with("file://");
    (by_name && !url) || looks_like_path(leaf.text)
}

fn looks_like_path(text: &str) -> bool {
    let starts = ["/", "~/", "./", "../", "file://", "\\\\"];
    text == ".."
        || text == "~"
        || starts.iter().any(|start| text.starts_with(start))
        || text.contains("/../")
        || text.ends_with("/..")
}

/// The arguments that name paths, each resolved as the server would: relative to its folder, links
/// followed.
pub(crate) fn paths(arguments: &Value, base: &Path, places: &Places) -> Vec<ArgPath> {
    let home = (!places.home.is_empty()).then(|| Path::new(&places.home));
    all_leaves(arguments)
        .into_iter()
        .filter(names_path)
        .map(|leaf| ArgPath {
            path: disk::resolve(leaf.text, base, home)
                .ok()
                .map(|path| places.facts(disk::path_text(&path))),
            arg: leaf.name,
        })
        .collect()
}

/// Names of arguments whose text begins with a dash.
pub(crate) fn option_like(arguments: &Value) -> Vec<String> {
    all_leaves(arguments)
        .into_iter()
        .filter(|leaf| leaf.text.starts_with('-'))
        .map(|leaf| leaf.name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(arguments: &Value, want: &[&str]) {
        let names: Vec<String> = paths(arguments, Path::new("/nowhere"), &Places::default())
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
    }

    #[test]
    fn texts_that_begin_with_a_dash_are_named() {
        let found = option_like(&json!({"revision": "--output=/tmp/x", "n": "a-b", "l": ["-p"]}));
        assert_eq!(found, ["revision", "l.0"]);
    }
}
