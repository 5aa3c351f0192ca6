//! Files that a stranger left, and files that are replaced.

use std::fs::{create_dir_all, write};
use std::os::unix::fs::{MetadataExt, symlink};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::disk::write::write_atomic;

#[test]
fn only_regular_files_within_the_limit_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    create_dir_all(root.join("real")).unwrap();
    write(root.join("real/file"), "12345").unwrap();
    symlink("file", root.join("real/link")).unwrap();
    symlink("real", root.join("way")).unwrap();
    symlink("../outside", root.join("real/out")).unwrap();
    mknodat(
        CWD,
        root.join("fifo"),
        FileType::Fifo,
        Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    File::create(root.join("large"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let check = |path: &str, below: &str, alone: &str| {
        let said = |read: Result<Vec<u8>, ReadError>| match read {
            Ok(bytes) => String::from_utf8(bytes).unwrap(),
            Err(error) => error.to_string(),
        };
        let found = said(safe_read_below(&root, Path::new(path), 5));
        assert!(found.contains(below), "below: {path}: {found}");
        let found = said(safe_read(&root.join(path), 5));
        assert!(found.contains(alone), "alone: {path}: {found}");
    };
    check("real/file", "12345", "12345");
    check("real/link", "symbolic link", "symbolic link");
    check("real/out", "symbolic link", "symbolic link");
    // The way to a file is checked only below a root.
    check("way/file", "symbolic link", "12345");
    check("fifo", "not a regular file", "not a regular file");
    check("real", "not a regular file", "not a regular file");
    check("large", "larger than 5 bytes", "larger than 5 bytes");
    check("none", "does not exist", "does not exist");
    check("real/../real/file", "cannot be read", "12345");
    write(root.join("real/file"), "123456").unwrap();
    check("real/file", "larger than 5 bytes", "larger than 5 bytes");
    assert!(
        safe_read(&root.join("none"), 5)
            .unwrap_err()
            .to_string()
            .ends_with("does not exist")
    );
    assert!(safe_read(Path::new("/dev/zero"), 5).is_err());
}

#[test]
fn a_replaced_file_is_private_and_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let target = folder.path().join("target");
    write(&target, "kept").unwrap();
    symlink(&target, &path).unwrap();
    for content in ["one", "other"] {
        write_atomic(&path, content.as_bytes()).unwrap();
        assert_eq!(safe_read(&path, 10).unwrap(), content.as_bytes());
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    }
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
    assert!(write_atomic(&folder.path().join("none/file"), b"").is_err());
    assert_eq!(folder.path().read_dir().unwrap().count(), 2);
}
