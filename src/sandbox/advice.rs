//! Why a backend does not work here, and the way out: from the step that failed and what is known
//! about the machine. Pure.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// What is known about the machine besides what works on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MachineFacts {
    /// The container that this runs in: `docker`, `podman`, `kubernetes`, …
    pub container: Option<String>,
    /// The version of the Windows Subsystem for Linux that this is.
    pub wsl: Option<u8>,
    /// How many user namespaces may be made (`user.max_user_namespaces`).
    pub max_user_namespaces: Option<u64>,
    /// Debian's switch (`kernel.unprivileged_userns_clone`).
    pub unprivileged_namespaces: Option<bool>,
    /// Ubuntu's switch (`kernel.apparmor_restrict_unprivileged_userns`).
    pub apparmor_restricts: Option<bool>,
    /// The security modules of the kernel.
    pub security_modules: Option<String>,
    /// Whether anybody may type into a terminal that is theirs (`dev.tty.legacy_tiocsti`).
    pub typing_into_terminals: Option<bool>,
    /// Whether system calls of this program are filtered already, as in a container.
    pub filtered: bool,
    /// This program's file.
    pub program: PathBuf,
}

impl MachineFacts {
    /// What a person should see of it, by name.
    pub(crate) fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if let Some(container) = &self.container {
            lines.push(("container", container.clone()));
        }
        if let Some(version) = self.wsl {
            lines.push(("wsl", format!("version {version}")));
        }
        if self.apparmor_restricts == Some(true) {
            lines.push(("apparmor", "user namespaces need a profile".to_owned()));
        }
        if self.unprivileged_namespaces == Some(false) {
            lines.push(("sysctl", "kernel.unprivileged_userns_clone=0".to_owned()));
        }
        if self.max_user_namespaces == Some(0) {
            lines.push(("sysctl", "user.max_user_namespaces=0".to_owned()));
        }
        if self.filtered {
            lines.push(("seccomp", "this program is filtered itself".to_owned()));
        }
        if self.typing_into_terminals == Some(true) {
            let text = "programs can type into their terminals (dev.tty.legacy_tiocsti=1): \
                        refused inside the sandbox";
            lines.push(("terminals", text.to_owned()));
        }
        lines
    }
}

/// Why a backend does not work here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The first step that failed: `user-namespace`, `proc`, …
    pub(crate) stage: String,
    /// What failed in it.
    pub(crate) error: String,
    /// The error number of the system.
    pub(crate) errno: Option<i32>,
    /// The way out.
    pub(crate) fix: Option<String>,
}

impl Failure {
    /// A failed step, with the way out that fits this machine.
    pub(crate) fn of(stage: &str, error: &str, errno: Option<i32>, facts: &MachineFacts) -> Self {
        Self {
            stage: stage.to_owned(),
            error: error.to_owned(),
            errno,
            fix: way_out(stage, errno, facts),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.stage != START {
            write!(f, "{}: ", self.stage)?;
        }
        f.write_str(&self.error)?;
        if let Some(fix) = &self.fix {
            write!(f, ": {fix}")?;
        }
        Ok(())
    }
}

/// The stage of a failure without a step of its own.
pub(crate) const START: &str = "start";

const EPERM: i32 = 1;
const EACCES: i32 = 13;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;
const ENOSYS: i32 = 38;

fn way_out(stage: &str, errno: Option<i32>, facts: &MachineFacts) -> Option<String> {
    if facts.wsl == Some(1) {
        return Some(
            "WSL 1 is no Linux kernel and has no namespaces: `wsl --set-version NAME 2`".to_owned(),
        );
    }
    let errno = errno.unwrap_or(0);
    let way = match (stage, errno) {
        ("user-namespace", ENOSPC) => {
            let now = facts.max_user_namespaces;
            let now = now.map_or(String::new(), |count| format!(" (it is {count})"));
            format!("raise `sysctl user.max_user_namespaces` above 0{now}")
        }
        ("namespaces" | "mounts" | "view", ENOSPC) => {
            "raise the `user.max_*_namespaces` settings of `sysctl`".to_owned()
        }
        ("user-namespace" | "namespaces", ENOSYS | EINVAL) => {
            "this kernel was built without namespaces: use one with CONFIG_USER_NS".to_owned()
        }
        ("user-namespace", EPERM | EACCES) => namespaces_refused(facts),
        (
            "user-map" | "groups" | "namespaces" | "loopback" | "mounts" | "view" | "pivot",
            EPERM | EACCES,
        ) => rights_refused(stage, facts),
        ("proc", _) => masked_proc(facts),
        ("landlock", _) => "use Linux 6.2 or newer with Landlock switched on: `landlock` in the \
                            kernel's `lsm=` list"
            .to_owned(),
        ("seccomp", _) => "this kernel has no filters of system calls: use one with \
                           CONFIG_SECCOMP_FILTER"
            .to_owned(),
        _ => return None,
    };
    Some(way)
}

fn namespaces_refused(facts: &MachineFacts) -> String {
    if facts.container.is_some() {
        return container(
            "allows `unshare` and `clone` with namespaces, such as \
                          `--security-opt seccomp=unconfined`",
            facts,
        );
    }
    if facts.apparmor_restricts == Some(true) {
        return apparmor(facts);
    }
    if facts.unprivileged_namespaces == Some(false) {
        return "`sysctl kernel.unprivileged_userns_clone=1`".to_owned();
    }
    "allow user namespaces: an AppArmor or SELinux profile, a seccomp filter or \
     `sysctl kernel.unprivileged_userns_clone` forbids them"
        .to_owned()
}

/// A user namespace came about, but gives no rights: this is how Ubuntu restricts them.
fn rights_refused(stage: &str, facts: &MachineFacts) -> String {
    if facts.apparmor_restricts == Some(true) {
        return apparmor(facts);
    }
    if stage == "user-map" && facts.container.is_some() {
        return container(
            "adds the capability that the kernel wants of root here: \
                          `--cap-add SETFCAP`",
            facts,
        );
    }
    if facts.container.is_some() {
        return container(
            "allows mounts: `--security-opt apparmor=unconfined \
                          --security-opt seccomp=unconfined`",
            facts,
        );
    }
    "an AppArmor or SELinux profile forbids it: make an exception for this program".to_owned()
}

fn masked_proc(facts: &MachineFacts) -> String {
    match facts.container.as_deref() {
        Some("kubernetes") => "`/proc` is masked here: set `procMount: Unmasked` for the \
                               container; until then the process list of the container stays visible"
            .to_owned(),
        _ => "`/proc` is masked, as in containers: start the container with \
              `--security-opt systempaths=unconfined`; until then its process list stays visible"
            .to_owned(),
    }
}

fn container(with: &str, facts: &MachineFacts) -> String {
    let name = facts.container.as_deref().unwrap_or("container");
    format!("this {name} container forbids it: start it with what {with}")
}

fn apparmor(facts: &MachineFacts) -> String {
    format!(
        "AppArmor gives namespaces only to programs with a profile; as root: `printf 'abi \
         <abi/4.0>,\\nprofile creance {} flags=(unconfined) {{\\n  userns,\\n}}\\n' > \
         /etc/apparmor.d/creance && apparmor_parser -r /etc/apparmor.d/creance`",
        facts.program.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> MachineFacts {
        MachineFacts {
            program: "/usr/bin/creance".into(),
            ..MachineFacts::default()
        }
    }

    fn check(stage: &str, errno: i32, facts: &MachineFacts, want: &str) {
        let failure = Failure::of(stage, "what", Some(errno), facts);
        let text = failure.to_string();
        assert!(text.starts_with(&format!("{stage}: what")), "{text}");
        assert!(text.contains(want), "`{want}` is not in: {text}");
    }

    #[test]
    fn advice() {
        let plain = plain();
        let with = |change: fn(&mut MachineFacts)| {
            let mut facts = plain.clone();
            change(&mut facts);
            facts
        };
        let none = with(|facts| facts.max_user_namespaces = Some(0));
        check(
            "user-namespace",
            ENOSPC,
            &none,
            "namespaces` above 0 (it is 0)",
        );
        let debian = with(|facts| facts.unprivileged_namespaces = Some(false));
        check(
            "user-namespace",
            EPERM,
            &debian,
            "kernel.unprivileged_userns_clone=1",
        );
        let wsl = with(|facts| facts.wsl = Some(1));
        check("user-namespace", EINVAL, &wsl, "WSL 1");
        check("user-namespace", EPERM, &plain, "SELinux");
        check("user-namespace", EINVAL, &plain, "CONFIG_USER_NS");
        check("landlock", 0, &plain, "lsm=");
        check("seccomp", ENOSYS, &plain, "CONFIG_SECCOMP_FILTER");
        assert_eq!(Failure::of("exec", "x", Some(EACCES), &plain).fix, None);
    }

    /// Ubuntu lets the namespace come about and takes its rights away.
    #[test]
    fn advice_where_apparmor_restricts() {
        let mut ubuntu = plain();
        ubuntu.apparmor_restricts = Some(true);
        check(
            "user-namespace",
            EPERM,
            &ubuntu,
            "profile creance /usr/bin/creance",
        );
        for stage in ["user-map", "loopback", "mounts"] {
            check(stage, EACCES, &ubuntu, "apparmor_parser -r");
        }
    }

    #[test]
    fn advice_in_containers() {
        let mut docker = plain();
        docker.container = Some("docker".to_owned());
        check("user-namespace", EPERM, &docker, "this docker container");
        check("user-map", EPERM, &docker, "--cap-add SETFCAP");
        check("view", EPERM, &docker, "apparmor=unconfined");
        check("proc", EPERM, &docker, "systempaths=unconfined");
        docker.container = Some("kubernetes".to_owned());
        check("proc", EPERM, &docker, "procMount: Unmasked");
    }
}
