//! SBX-06: a link at the file or on the way to it leads no write out of the project.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

#[test]
fn sbx_06_a_link_leads_no_write_out() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let ws = top.join("ws");
    fs::create_dir_all(ws.join("sub")).unwrap();
    fs::create_dir_all(top.join("outside")).unwrap();
    fs::write(top.join("outside/victim.txt"), "original").unwrap();
    fs::write(ws.join("sub/real.txt"), "in").unwrap();
    for (to, at) in [
        ("../outside/victim.txt", "notes.md"),
        ("../outside/new.txt", "draft.txt"),
        ("../outside", "dir"),
        ("sub/real.txt", "inside.txt"),
    ] {
        symlink(to, ws.join(at)).unwrap();
    }
    let paths = include_str!("../../../tests/cases/sandbox/SBX-06.paths.tsv");
    for line in paths.lines().skip(1) {
        let (path, want) = line.split_once('\t').unwrap();
        for path in [Path::new(path), &top.join(path)] {
            let got = named(path, &top, Some(&ws));
            assert_eq!(got.is_ok(), want == "allow", "{path:?}: {got:?}");
        }
    }
    let real = named(Path::new("inside.txt"), &ws, Some(&ws)).unwrap();
    assert_eq!(real, ws.join("sub/real.txt"));
    for (path, want) in [
        ("new.txt", true),
        ("sub/new.txt", true),
        ("../plain.txt", true),
        ("sub", false),
    ] {
        assert_eq!(
            named(Path::new(path), &ws, Some(&ws)).is_ok(),
            want,
            "{path}"
        );
    }
}
