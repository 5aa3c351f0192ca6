//! git: what people do in a repository all day, and what it may not write.

use crate::stage::{Line, check};
use crate::tools::GIT;

const REPOSITORY: &str = "
    git init -q -b main . && git config user.name t && git config user.email t@example.org
    git add --all && git commit -qm first";

const WITH_LIBRARY: &str = "
    git init -q -b main ../lib && cd ../lib
    git config user.name t && git config user.email t@example.org
    echo one > lib.txt && git add --all && git commit -qm lib && cd ../project
    git init -q -b main . && git config user.name t && git config user.email t@example.org
    git -c protocol.file.allow=always submodule --quiet add ../lib lib
    git add --all && git commit -qm first
    cd lib && git config user.name t && git config user.email t@example.org";

#[test]
fn commits_and_branches() {
    let line = |script, says| Line {
        before: REPOSITORY,
        ..Line::new("git", &[GIT], script, says)
    };
    check(&[
        line(
            "echo more >> readme.txt && git commit -qam second && git log --oneline | wc -l",
            &["2"],
        ),
        line(
            "git switch -qc topic && echo t > t && git add t && git commit -qm topic
             git switch -q main && git merge -q --no-ff -m merged topic && git log -1 --format=%s",
            &["merged"],
        ),
        line(
            "echo more >> readme.txt && git stash -q && git stash pop && git tag v1 && git gc -q
             git status --short && git fsck && git commit -qam third && git rebase -q HEAD~1",
            &[" M readme.txt"],
        ),
    ]);
}

#[test]
fn worktrees() {
    check(&[Line {
        before: REPOSITORY,
        ..Line::new(
            "git worktree",
            &[GIT],
            "git worktree add -q tree -b topic && cd tree && echo t > t && git add t
             git commit -qm there && cd .. && git worktree list && git log -1 --format=%s topic
             git worktree remove --force tree",
            &["[topic]", "there"],
        )
    }]);
}

#[test]
fn submodules() {
    check(&[Line {
        before: WITH_LIBRARY,
        ..Line::new(
            "git submodule",
            &[GIT],
            // Not `git submodule update`: it writes the module's settings, which are guarded.
            "cd lib && echo two >> lib.txt && git commit -qam second && cd ..
             git submodule status && git commit -qam raised
             git submodule foreach 'git log -1 --format=%s' && git log -1 --format=%s",
            &["second", "raised"],
        )
    }]);
}

#[test]
fn a_clone_of_the_project() {
    check(&[Line {
        before: REPOSITORY,
        ..Line::new(
            "git clone",
            &[GIT],
            "git clone -q . \"$TMPDIR/copy\" && git clone -q . copy && git -C copy log --oneline",
            &["first"],
        )
    }]);
}
