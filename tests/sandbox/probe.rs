//! Runs inside the sandbox: tries each forbidden thing, and some that must work. Prints one line
//! per attempt: name, `ok` or `denied`, detail.
#![expect(unsafe_code, reason = "attacks are raw system calls")]

use crate::attacks;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Error, Read, Write};

use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};

use std::path::Path;

pub(crate) type Try = io::Result<()>;

/// `HOME PROJECT OUTSIDE TEMP TCP_PORT UDP_PORT HOST_PID SOCKET ABSTRACT SHM PART`.
pub(crate) fn main(args: &[String]) {
    let [
        home,
        project,
        outside,
        temp,
        tcp,
        udp,
        pid,
        socket,
        abstract_name,
        shm,
    ] = args
    else {
        panic!("arguments: {args:?}")
    };
    let (home, project, outside, temp) = (
        Path::new(home),
        Path::new(project),
        Path::new(outside),
        Path::new(temp),
    );
    files(home, project, outside, temp);
    reads(home, project);
    processes(pid.parse().unwrap());
    attacks::network(
        tcp.parse().unwrap(),
        udp.parse().unwrap(),
        socket,
        project,
        abstract_name,
    );
    attacks::kernel(project, shm.parse().unwrap());
    attacks::state();
    // Last, because it would move the ground under the others.
    let git = project.join(".git");
    say(
        "rename-parent",
        fs::rename(&git, project.join(".git2")).and_then(|()| write(&git.join("hooks/x"))),
    );
    say("rename-project", fs::rename(project, temp.join("p")));
    say("remove-project-git", fs::remove_dir_all(git.join("hooks")));
}

pub(crate) fn say(name: &str, result: Try) {
    match result {
        Ok(()) => println!("{name}\tok\t"),
        Err(error) => println!("{name}\tdenied\t{error}"),
    }
}

fn write(path: &Path) -> Try {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?
        .write_all(b"x\n")
}

fn read(path: impl AsRef<Path>) -> Try {
    let mut text = String::new();
    File::open(path)?.read_to_string(&mut text)?;
    if text.is_empty() {
        return Err(Error::other("empty"));
    }
    Ok(())
}

pub(crate) fn call(result: i64) -> Try {
    if result < 0 {
        Err(Error::last_os_error())
    } else {
        Ok(())
    }
}

fn files(home: &Path, project: &Path, outside: &Path, temp: &Path) {
    say("write-project", write(&project.join("new.txt")));
    say("write-temp", write(&temp.join("t.txt")));
    say("write-tmp", write(Path::new("/tmp/own.txt")));
    say("write-outside", write(&outside.join("evil.txt")));
    say("append-outside", write(&outside.join("target.txt")));
    say(
        "truncate-outside",
        File::create(outside.join("target.txt")).map(drop),
    );
    say("write-home", write(&home.join("evil.txt")));
    say("write-bashrc", write(&home.join(".bashrc")));
    say("write-etc", write(Path::new("/etc/creance-evil")));
    say("write-root", write(Path::new("/creance-evil")));
    say(
        "chmod-outside",
        fs::set_permissions(
            outside.join("target.txt"),
            fs::Permissions::from_mode(0o666),
        ),
    );
    say("append-hook", write(&project.join(".git/hooks/pre-commit")));
    say(
        "create-hook",
        write(&project.join(".git/hooks/post-checkout")),
    );
    say("write-git-config", write(&project.join(".git/config")));
    say(
        "rename-hooks",
        fs::rename(project.join(".git/hooks"), project.join(".git/hooks2")),
    );
    say(
        "rename-into-hooks",
        write(&project.join("h"))
            .and_then(|()| fs::rename(project.join("h"), project.join(".git/hooks/h"))),
    );
    say(
        "replace-config",
        write(&project.join("c"))
            .and_then(|()| fs::rename(project.join("c"), project.join(".git/config"))),
    );
    say(
        "create-absent-dir",
        fs::create_dir(project.join(".creance"))
            .and_then(|()| write(&project.join(".creance/policy"))),
    );
    say(
        "create-in-absent-dir",
        write(&project.join(".creance/policy")),
    );
    say("create-absent-file", write(&project.join(".mcp.json")));
    say(
        "rename-onto-absent",
        write(&project.join("m"))
            .and_then(|()| fs::rename(project.join("m"), project.join(".mcp.json"))),
    );
    say(
        "unlink-placeholder",
        fs::remove_file(project.join(".mcp.json")),
    );
    say(
        "rmdir-placeholder",
        fs::remove_dir(project.join(".creance")),
    );
    say(
        "rename-placeholder",
        fs::rename(project.join(".creance"), project.join("cr")),
    );
    say(
        "symlink-out",
        symlink(outside.join("target.txt"), project.join("l"))
            .and_then(|()| write(&project.join("l"))),
    );
    say(
        "hardlink-hook",
        fs::hard_link(project.join(".git/hooks/pre-commit"), project.join("hl"))
            .and_then(|()| write(&project.join("hl"))),
    );
    say(
        "chmod-hook",
        fs::set_permissions(
            project.join(".git/hooks/pre-commit"),
            fs::Permissions::from_mode(0o777),
        ),
    );
    say(
        "git-index",
        fs::write(project.join(".git/index.lock"), "x")
            .and_then(|()| fs::rename(project.join(".git/index.lock"), project.join(".git/index"))),
    );
    say(
        "rename-across-pin",
        write(&project.join("o"))
            .and_then(|()| fs::rename(project.join("o"), project.join(".git/objects/o"))),
    );
    say("exec-project", exec_copy(&project.join("prog")));
    say("dev-null", write(Path::new("/dev/null")));
    say("dev-shm", write(Path::new("/dev/shm/x")));
    say(
        "make-device",
        call(
            unsafe {
                libc::mknod(
                    c"/tmp/sda".as_ptr(),
                    libc::S_IFBLK | 0o666,
                    libc::makedev(8, 0),
                )
            }
            .into(),
        ),
    );
    say(
        "raw-disk",
        File::open("/dev/vda")
            .or_else(|_| File::open("/dev/sda"))
            .map(drop),
    );
}

fn exec_copy(program: &Path) -> Try {
    fs::copy("/bin/true", program)?;
    fs::set_permissions(program, fs::Permissions::from_mode(0o755))?;
    let status = std::process::Command::new(program).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::other(status.to_string()))
    }
}

fn reads(home: &Path, project: &Path) {
    let key = home.join(".ssh/id_rsa");
    say("read-key", read(&key));
    say("read-aws", read(home.join(".aws/credentials")));
    say("read-notes", read(home.join("notes.txt")));
    say("read-project", read(project.join("a.txt")));
    say("read-tool", read(home.join(".tool/data")));
    say("read-tool-token", read(home.join(".tool/token")));
    say("read-env-file", read(project.join(".env")));
    say(
        "rename-env-file",
        fs::rename(project.join(".env"), project.join("e")).and_then(|()| read(project.join("e"))),
    );
    say(
        "link-env-file",
        fs::hard_link(project.join(".env"), project.join("e2"))
            .and_then(|()| read(project.join("e2"))),
    );
    say("read-passwd", read("/etc/passwd"));
    say("read-shadow", read("/etc/shadow"));
    say(
        "read-by-link",
        symlink(&key, project.join("k")).and_then(|()| read(project.join("k"))),
    );
    say(
        "read-by-proc-root",
        read(format!("/proc/self/root{}", key.display())),
    );
    say(
        "read-by-proc-1",
        read(format!("/proc/1/root{}", key.display())),
    );
    say("read-by-cwd", read("/proc/self/cwd/../.ssh/id_rsa"));
    say(
        "hardlink-key",
        fs::hard_link(&key, project.join("k2")).and_then(|()| read(project.join("k2"))),
    );
    say(
        "write-hidden",
        fs::DirBuilder::new()
            .mode(0o777)
            .create(home.join(".ssh/x")),
    );
    say(
        "write-binary",
        OpenOptions::new()
            .append(true)
            .open("/proc/1/exe")
            .map(drop),
    );
    say(
        "write-own-binary",
        OpenOptions::new()
            .append(true)
            .open("/proc/self/exe")
            .map(drop),
    );
}

fn processes(pid: i32) {
    let canary = |path: std::path::PathBuf| {
        fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("CANARY"))
    };
    let found = |hit: bool| if hit { Ok(()) } else { Err(Error::other("no")) };
    say(
        "env-own",
        found(std::env::vars_os().any(|(name, _)| name.to_string_lossy().contains("CANARY"))),
    );
    let all = fs::read_dir("/proc").map(|entries| {
        entries
            .flatten()
            .any(|entry| canary(entry.path().join("environ")))
    });
    say("env-others", found(all.unwrap_or(false)));
    say(
        "see-host",
        fs::metadata(format!("/proc/{pid}/status")).map(drop),
    );
    say("signal-host", call(unsafe { libc::kill(pid, 0) }.into()));
    let parent = unsafe { libc::getppid() };
    say(
        "ptrace",
        call(unsafe { libc::ptrace(libc::PTRACE_SEIZE, parent, 0, 0) }),
    );
    let mut byte = [0_u8; 8];
    let local = libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: 8,
    };
    say(
        "read-memory",
        call(
            unsafe { libc::process_vm_readv(parent, &raw const local, 1, &raw const local, 1, 0) }
                as i64,
        ),
    );
    say(
        "kill-init",
        call(unsafe { libc::kill(1, libc::SIGKILL) }.into()).and_then(|()| found(false)),
    );
}
