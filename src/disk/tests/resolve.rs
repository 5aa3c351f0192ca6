//! SEC-07 and what else a path may be made of.

use super::*;

const SEC_07: &str = include_str!("../../../tests/cases/SEC-07.paths.tsv");

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    (folder, root)
}

#[cfg(unix)]
fn sec_07() -> (tempfile::TempDir, PathBuf) {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;
    let (folder, root) = folder();
    create_dir_all(root.join("proj/src")).unwrap();
    create_dir_all(root.join("proj_secret")).unwrap();
    write(root.join("proj/src/a.txt"), "in").unwrap();
    write(root.join("proj_secret/key.txt"), "out").unwrap();
    for (target, link) in [
        ("../proj_secret", "proj/dirlink"),
        ("../proj_secret/key.txt", "proj/filelink"),
        ("src/a.txt", "proj/inside"),
        ("not-there/yet", "proj/dangling"),
        ("loop-b", "proj/loop-a"),
        ("loop-a", "proj/loop-b"),
        ("/", "proj/top"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    (folder, root)
}

#[cfg(unix)]
#[test]
fn sec_07_containment_is_decided_on_the_resolved_path() {
    let (_folder, root) = sec_07();
    let proj = root.join("proj");
    let mut rows = 0;
    for row in SEC_07.lines().skip(1) {
        let (text, want) = row.split_once('\t').unwrap();
        let text = text.replacen("ROOT", root.to_str().unwrap(), 1);
        let found = resolve(&text, &proj, None).unwrap();
        // The encoded row names a file that is not there: it stays inside, and nothing is decoded.
        let inside = want == "allow" || want.starts_with("no such file");
        assert_eq!(found.starts_with(&proj), inside, "{text} is {found:?}");
        assert_eq!(found.exists(), !want.starts_with("no such file"), "{text}");
        rows += 1;
    }
    assert_eq!(rows, 13);
}

#[cfg(unix)]
#[test]
fn paths_are_resolved() {
    let (_folder, root) = sec_07();
    let proj = root.join("proj");
    let check = |text: &str, want: &str| {
        let found = resolve(text, &proj, Some(&root.join("home"))).unwrap();
        assert_eq!(found, root.join(want), "{text}");
    };
    check("src/a.txt", "proj/src/a.txt");
    check("./src//./a.txt", "proj/src/a.txt");
    check("", "proj");
    check("new/file", "proj/new/file");
    check("new/../src/a.txt", "proj/src/a.txt");
    check("dangling", "proj/not-there/yet");
    check("src/a.txt/below", "proj/src/a.txt/below");
    check("~", "home");
    check("~/x", "home/x");
    check("~//x", "home/x");
    check("~x", "proj/~x");
    check("%2e%2e/x", "proj/%2e%2e/x");
    check("file%3a", "proj/file%3a");
    check("inside", "proj/src/a.txt");
    let url = format!("file://{}/proj/%73rc/a%2etxt", root.display());
    check(&url, "proj/src/a.txt");
    check(&format!("FILE://localhost{}/a%20b", root.display()), "a b");
    // Decoded once.
    check(&format!("file:{}/a%2520", root.display()), "a%20");
    assert_eq!(
        resolve("top/etc", &proj, None).unwrap(),
        Path::new("/etc").canonicalize().unwrap()
    );
    assert_eq!(resolve("/../..", &proj, None).unwrap(), Path::new("/"));
}

#[cfg(unix)]
#[test]
fn what_cannot_be_told_is_refused() {
    let (_folder, root) = sec_07();
    let proj = root.join("proj");
    let check = |text: &str, want: &str| {
        let error = resolve(text, &proj, None).unwrap_err().to_string();
        assert!(error.contains(want), "{text}: {error}");
    };
    check("a\0b", "NUL");
    check("loop-a", "too many symbolic links");
    check("loop-a/x", "too many symbolic links");
    check("~/x", "no home folder");
    // The system opens ROOT/x, a program that shortens first opens ROOT/proj/x.
    check("dirlink/../x", "programs disagree");
    check("file://host/x", "another machine");
    check("file:x", "no absolute path");
    check("file://", "no absolute path");
    check("file:///a%00", "NUL");
    check("file:///a%2fb", "encoded slash");
    check("file:///a%5Cb", "encoded slash");
    check("file:///a%2", "without two digits");
    check("file:///a%zz", "without two digits");
    check("file:///a?b", "query");
    check(&"../".repeat(5000), "too many");
}

#[cfg(unix)]
#[test]
fn no_two_paths_have_one_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let check = |bytes: &[u8], want: &str| {
        assert_eq!(path_text(Path::new(OsStr::from_bytes(bytes))), want);
    };
    check("/é/漢".as_bytes(), "/é/漢");
    check(b"/a\xff\xfeb", r"/a\xff\xfeb");
    check(br"/a\xff", r"/a\x5cxff");
    check(br"/a\b", r"/a\b");
}
