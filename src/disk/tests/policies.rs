//! Folders of policies as users, administrators and strangers leave them.

use std::fs::{create_dir_all, write};

use super::*;

const PERMIT: &str = "permit (principal, action, resource);";

fn read(folder: PolicyFolder) -> PolicySources {
    read_policies(&[folder])
}

fn names(sources: &PolicySources) -> Vec<(&str, bool)> {
    sources
        .files
        .iter()
        .map(|f| (f.file.as_str(), f.text.is_ok()))
        .collect()
}

fn error<'a>(sources: &'a PolicySources, file: &str) -> &'a str {
    let found = sources.files.iter().find(|f| f.file == file).unwrap();
    found.text.as_ref().unwrap_err()
}

#[test]
fn pol_05_nothing_is_left_out_silently() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path.join("20-b.cedar"), PERMIT).unwrap();
    write(path.join("10-a.cedar"), "").unwrap();
    write(path.join("30-bom.cedar"), format!("\u{feff}{PERMIT}")).unwrap();
    write(path.join("40-bytes.cedar"), b"// \xff").unwrap();
    write(path.join("10.cedar.txt"), PERMIT).unwrap();
    create_dir_all(path.join("50-folder.cedar")).unwrap();
    let sources = read(PolicyFolder::User(path.to_owned()));
    assert_eq!(
        names(&sources),
        [
            ("10-a.cedar", true),
            ("20-b.cedar", true),
            ("30-bom.cedar", true),
            ("40-bytes.cedar", false),
            ("50-folder.cedar", false)
        ]
    );
    assert_eq!(sources.files[2].text.as_deref(), Ok(PERMIT));
    assert!(error(&sources, "40-bytes.cedar").contains("byte 4"));
    assert!(error(&sources, "50-folder.cedar").contains("not a regular file"));
    assert_eq!(sources.ignored.len(), 1);
    assert_eq!(sources.ignored[0].file, "10.cedar.txt");
}

#[test]
fn a_folder_that_is_not_there_is_empty_and_one_that_is_a_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none");
    assert_eq!(
        read(PolicyFolder::User(none.clone())),
        PolicySources::default()
    );
    assert_eq!(
        read(PolicyFolder::Org(none.clone())),
        PolicySources::default()
    );
    assert_eq!(
        read(PolicyFolder::Project(none.clone())),
        PolicySources::default()
    );
    write(&none, "").unwrap();
    let sources = read(PolicyFolder::User(none.clone()));
    assert_eq!(sources.files.len(), 1);
    assert!(
        sources.files[0]
            .text
            .as_ref()
            .unwrap_err()
            .contains("not a folder")
    );
}

#[cfg(unix)]
#[test]
fn a_project_cannot_lead_the_reader_astray() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("secret.cedar");
    write(&outside, PERMIT).unwrap();
    let root = folder.path().join("project");
    let policies = root.join(".creance/policies");
    create_dir_all(&policies).unwrap();
    write(policies.join("10.cedar"), PERMIT).unwrap();
    symlink(&outside, policies.join("20-link.cedar")).unwrap();
    let large = std::fs::File::create(policies.join("30-large.cedar")).unwrap();
    large.set_len(1 << 30).unwrap();
    make_fifo(&policies.join("40-fifo.cedar"));
    let sources = read(PolicyFolder::Project(root.clone()));
    assert_eq!(
        names(&sources),
        [
            ("10.cedar", true),
            ("20-link.cedar", false),
            ("30-large.cedar", false),
            ("40-fifo.cedar", false)
        ]
    );
    assert!(error(&sources, "20-link.cedar").contains("symbolic link"));
    assert!(error(&sources, "30-large.cedar").contains("larger than"));
    assert!(error(&sources, "40-fifo.cedar").contains("not a regular file"));

    for number in 0..PROJECT_ENTRIES_MAX {
        write(policies.join(format!("many-{number}.cedar")), "").unwrap();
    }
    let sources = read(PolicyFolder::Project(root.clone()));
    assert_eq!(sources.files.len(), 1);
    assert!(
        sources.files[0]
            .text
            .as_ref()
            .unwrap_err()
            .contains("holds more than")
    );

    std::fs::rename(root.join(".creance"), folder.path().join("moved")).unwrap();
    symlink(folder.path().join("moved"), root.join(".creance")).unwrap();
    let sources = read(PolicyFolder::Project(root));
    assert_eq!(sources.files.len(), 1);
    assert!(
        sources.files[0]
            .text
            .as_ref()
            .unwrap_err()
            .contains("a link is not followed")
    );
}

#[cfg(unix)]
fn make_fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[cfg(unix)]
#[test]
fn a_users_file_may_be_a_link_but_not_anybodys() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("dotfiles.cedar");
    write(&kept, PERMIT).unwrap();
    let policies = folder.path().join("policies");
    create_dir_all(&policies).unwrap();
    symlink(&kept, policies.join("10.cedar")).unwrap();
    symlink("user@host.1234", policies.join(".#10.cedar")).unwrap();
    symlink("nowhere", policies.join("20.cedar")).unwrap();
    let sources = read(PolicyFolder::User(policies.clone()));
    assert_eq!(names(&sources), [("10.cedar", true), ("20.cedar", false)]);
    assert_eq!(sources.ignored[0].why, "it is an editor's lock file");
    set_permissions(&kept, Permissions::from_mode(0o666)).unwrap();
    let sources = read(PolicyFolder::User(policies));
    assert!(error(&sources, "10.cedar").contains("chmod o-w"));
}

#[cfg(unix)]
#[test]
fn the_organisations_files_are_roots() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path.join("10.cedar"), PERMIT).unwrap();
    write(path.join("20.cedar"), PERMIT).unwrap();
    let sources = |path: &Path| read(PolicyFolder::Org(path.to_owned()));
    if path.metadata().unwrap().uid() != 0 {
        println!("skipped in part: only root can play the organisation");
        assert!(sources(path).files[0].text.is_err());
        return;
    }
    assert_eq!(
        names(&sources(path)),
        [("10.cedar", true), ("20.cedar", true)]
    );
    chown(path.join("10.cedar"), Some(65534), None).unwrap();
    set_permissions(path.join("20.cedar"), Permissions::from_mode(0o664)).unwrap();
    let found = sources(path);
    assert!(error(&found, "10.cedar").contains("does not belong to root"));
    assert!(error(&found, "20.cedar").contains("others than root"));
}
