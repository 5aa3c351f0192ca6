//! The rule that finds the project's root.

use std::path::{Path, PathBuf};

use super::os;

/// What makes a folder a project.
const MARKS: [&str; 2] = [".git", ".creance"];

/// The project of a working folder: the nearest folder at or above it that has `.git` or
/// `.creance`, else the working folder itself. A project and its mark belong to this user (in
/// `/tmp` anybody can plant a mark), and it is never `/`, the home folder or one above it.
pub(crate) fn project_root(cwd: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let cwd = cwd.canonicalize().ok()?;
    let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
    let may_be = |folder: &Path| {
        folder.parent().is_some()
            && !home.as_ref().is_some_and(|home| home.starts_with(folder))
            && is_own(folder)
    };
    let marked = |folder: &Path| MARKS.iter().any(|mark| is_own(&folder.join(mark)));
    cwd.ancestors()
        .find(|folder| may_be(folder) && marked(folder))
        .or_else(|| may_be(&cwd).then_some(&cwd))
        .map(Path::to_owned)
}

/// What lies in a working folder that is no project and would be read in one, to be said.
pub(crate) fn unread(cwd: &Path, project: Option<&Path>) -> Option<String> {
    let there = |name: &&str| cwd.join(name).symlink_metadata().is_ok();
    let name = [".mcp.json", ".creance"].iter().find(|name| there(name))?;
    project.is_none().then(|| {
        format!(
            "{} is not read: this folder is no project, since it is `/`, the home folder, one above \
             it, or another user's; servers for every folder stand in your own configuration",
            cwd.join(name).display()
        )
    })
}

fn is_own(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| os::is_own(&meta))
}

#[cfg(test)]
mod tests {
    use std::fs::create_dir_all;

    use super::*;

    #[test]
    fn the_nearest_marked_folder_is_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for path in [
            "home/me/.git",
            "home/me/a/.creance",
            "home/me/a/b/c",
            "home/me/plain",
            "w/x/.git",
        ] {
            create_dir_all(top.join(path)).unwrap();
        }
        let home = top.join("home/me");
        let check = |cwd: &str, want: Option<&str>| {
            let found = project_root(&top.join(cwd), Some(&home));
            assert_eq!(found, want.map(|want| top.join(want)), "{cwd}");
        };
        check("home/me/a/b/c", Some("home/me/a"));
        check("home/me/a", Some("home/me/a"));
        check("home/me/plain", Some("home/me/plain"));
        check("home/me", None);
        check("home", None);
        check("", None);
        check("w/x", Some("w/x"));
        check("w", Some("w"));
        check("nowhere", None);
        assert_eq!(project_root(Path::new("/"), Some(&home)), None);
        create_dir_all(home.join(".creance")).unwrap();
        assert!(
            unread(&home, None)
                .unwrap()
                .contains("me/.creance is not read")
        );
        assert_eq!(unread(&home, Some(&home)), None);
        assert_eq!(unread(&home.join("plain"), None), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_project_of_another_user_is_none() {
        use std::os::unix::fs::{MetadataExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        if top.metadata().unwrap().uid() != 0 {
            println!("skipped: only root can give a folder away");
            return;
        }
        create_dir_all(top.join("theirs/.git")).unwrap();
        create_dir_all(top.join("mine/.git")).unwrap();
        create_dir_all(top.join("mine/deep")).unwrap();
        chown(top.join("theirs"), Some(65534), None).unwrap();
        chown(top.join("mine/.git"), Some(65534), None).unwrap();
        let find = |path: &str| project_root(&top.join(path), None);
        assert_eq!(find("theirs"), None);
        assert_eq!(find("mine/deep"), Some(top.join("mine/deep")));
    }
}
