//! What a look at the folders of policies notices.

use std::fs;
use std::path::Path;

use super::*;

#[test]
fn every_change_is_seen() {
    type Change = fn(&Path);
    let changes: [(&str, Change, bool); 7] = [
        ("nothing", |_| (), false),
        (
            "added",
            |at| fs::write(at.join("b.cedar"), "b").unwrap(),
            true,
        ),
        (
            "written",
            |at| fs::write(at.join("a.cedar"), "other").unwrap(),
            true,
        ),
        (
            "exchanged for one of the same length",
            |at| {
                fs::write(at.join("new"), "text").unwrap();
                fs::rename(at.join("new"), at.join("a.cedar")).unwrap();
            },
            true,
        ),
        (
            "removed",
            |at| fs::remove_file(at.join("a.cedar")).unwrap(),
            true,
        ),
        ("folder removed", |at| fs::remove_dir_all(at).unwrap(), true),
        (
            "folder for a file",
            |at| {
                fs::remove_file(at.join("a.cedar")).unwrap();
                fs::create_dir(at.join("a.cedar")).unwrap();
            },
            true,
        ),
    ];
    for (name, change, seen) in changes {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("policies");
        fs::create_dir(&at).unwrap();
        fs::write(at.join("a.cedar"), "text").unwrap();
        let folders = [PolicyFolder::User(at.clone())];
        let before = look_at_policies(&folders).seen;
        change(&at);
        let after = look_at_policies(&folders).seen;
        assert_eq!(before != after, seen, "{name}");
    }
}
