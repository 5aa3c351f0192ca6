//! The plan of macOS: one profile for Seatbelt, written anew for each launch, with nothing imported.
//! Everything is denied that is not named, and of two rules that fit the later one counts: so what
//! is hidden and protected stands last.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::folders::FolderKind;
use super::plan::Plan;
use super::quote::{Quoted, caseless, quoted};
use crate::grant::Network;

/// The system: readable, and its programs can be run.
const SYSTEM: &[&str] = &[
    "/System",
    "/usr",
    "/bin",
    "/sbin",
    "/opt",
    "/nix",
    "/Library/Apple",
    "/Library/Developer",
    "/Library/Frameworks",
    "/Library/Java",
    "/Library/Perl",
    "/Library/Ruby",
    "/Applications/Xcode.app",
    "/private/etc",
    "/private/var/select",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
];

/// Devices that hold nothing of others.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/ptmx",
];

/// What programs ask the kernel about the machine. The table of processes, `kern.proc`, is not
/// among it: it shows the arguments of others.
const FACTS: &[&str] = &[
    "hw.",
    "kern.argmax",
    "kern.boottime",
    "kern.hostname",
    "kern.iossupportversion",
    "kern.maxfilesperproc",
    "kern.ngroups",
    "kern.osproductversion",
    "kern.osrelease",
    "kern.ostype",
    "kern.osvariant_status",
    "kern.osversion",
    "kern.secure_kernel",
    "kern.usrstack64",
    "kern.version",
    "machdep.cpu.",
    "security.mac.lockdown_mode_state",
    "sysctl.proc_",
    "vm.loadavg",
];

/// Services that answer questions about names of users, time and logs, and start nothing.
const SERVICES: &[&str] = &[
    "com.apple.logd",
    "com.apple.system.logger",
    "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
];

/// Services of a network: names of hosts, its settings, which certificates are trusted.
const NETWORK_SERVICES: &[&str] = &[
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.SystemConfiguration.configd",
    "com.apple.dnssd.service",
    "com.apple.trustd.agent",
];

const RESOLVER: &str = "/private/var/run/mDNSResponder";

/// The profile of a plan. With `proxy`, one port of the loopback interface can be reached: that of
/// the proxy which decides on hosts.
pub(crate) fn profile(plan: &Plan, proxy: Option<u16>) -> String {
    let mut profile = Profile::default();
    profile.line("(version 1)");
    profile.line("(deny default)");
    processes(&mut profile);
    devices(&mut profile, plan);
    files(&mut profile, plan);
    network(&mut profile, plan, proxy);
    sockets(&mut profile, plan);
    guards(&mut profile, plan);
    profile.0
}

/// A program may start others, all in this same sandbox, and deal with those alone.
fn processes(profile: &mut Profile) {
    profile.line("(allow process-fork)");
    profile.line("(allow signal (target same-sandbox))");
    profile.line("(allow process-info* (target same-sandbox))");
    let facts = FACTS.iter().map(|name| {
        let filter = if name.ends_with(['.', '_']) {
            "sysctl-name-prefix"
        } else {
            "sysctl-name"
        };
        rule(filter, &quoted(name))
    });
    profile.rule("allow sysctl-read", facts);
    let services = SERVICES
        .iter()
        .map(|name| rule("global-name", &quoted(name)));
    profile.rule("allow mach-lookup", services);
    // Semaphores and memory of Python's processes, by the names that it gives them.
    profile.line("(allow ipc-posix-sem (ipc-posix-name-regex \"^/mp-\"))");
    profile.line("(allow ipc-posix-shm* (ipc-posix-name-regex \"^/psm_\"))");
}

fn devices(profile: &mut Profile, plan: &Plan) {
    let nodes = || DEVICES.iter().map(|path| rule("literal", &quoted(path)));
    profile.rule("allow file-read* file-write-data file-ioctl", nodes());
    profile.line("(allow file-read* (subpath \"/dev/fd\"))");
    profile.line("(allow pseudo-tty)");
    // Terminals that the program opened for itself carry this mark; others of the user do not.
    profile.line(
        "(allow file-read* file-write* file-ioctl (require-all \
         (regex \"^/dev/ttys[0-9]+$\") (extension \"com.apple.sandbox.pty\")))",
    );
    if plan.terminal {
        profile.line("(allow file-read* file-write-data file-ioctl (literal \"/dev/tty\"))");
        profile.line("(allow file-read* file-write-data file-ioctl (regex \"^/dev/ttys[0-9]+$\"))");
    }
}

fn files(profile: &mut Profile, plan: &Plan) {
    let of = |kind| {
        let folders = plan
            .folders
            .iter()
            .filter(move |folder| folder.kind == kind);
        folders.map(|folder| folder.path.as_path())
    };
    let write: Vec<&Path> = of(FolderKind::Write).collect();
    let system = SYSTEM.iter().map(Path::new);
    let own = std::iter::once(plan.launch.program.as_path());
    let read: Vec<&Path> = system.chain(own).chain(of(FolderKind::Read)).collect();
    let all = || read.iter().chain(&write).copied();
    let subpaths = || all().map(|path| rule("subpath", &path_quoted(path)));
    profile.rule(
        "allow file-read* file-map-executable process-exec*",
        subpaths(),
    );
    // The way to each of them can be walked, and nothing beside it be seen.
    let literals = ancestors(all().chain([Path::new("/dev/null")]));
    profile.rule(
        "allow file-read-metadata",
        literals
            .iter()
            .map(|path| rule("literal", &path_quoted(path))),
    );
    profile.line("(allow file-read-data (literal \"/\"))");
    let subpaths = write.iter().map(|path| rule("subpath", &path_quoted(path)));
    profile.rule("allow file-write* file-ioctl", subpaths);
}

/// Every folder above these paths.
fn ancestors<'a>(paths: impl Iterator<Item = &'a Path>) -> BTreeSet<&'a Path> {
    paths.flat_map(|path| path.ancestors().skip(1)).collect()
}

fn network(profile: &mut Profile, plan: &Plan, proxy: Option<u16>) {
    match (plan.network, proxy) {
        (Network::None, _) | (Network::Hosts, None) => {}
        (Network::Hosts, Some(port)) => {
            profile.line(&format!(
                "(allow network-outbound (remote tcp \"localhost:{port}\"))"
            ));
            profile.line("(allow mach-lookup (global-name \"com.apple.trustd.agent\"))");
        }
        (Network::Whole, _) => {
            profile.line("(allow network-outbound (remote ip \"*:*\"))");
            profile.line("(allow network-inbound (local ip \"*:*\"))");
            profile.line("(allow network-bind (local ip \"*:*\"))");
            profile.line("(allow system-socket)");
            let services = NETWORK_SERVICES.iter();
            let services = services.map(|name| rule("global-name", &quoted(name)));
            profile.rule("allow mach-lookup", services);
            let resolver = rule("literal", &quoted(RESOLVER));
            profile.rule("allow network-outbound", [resolver]);
        }
    }
}

/// A grant of Unix sockets is one of these alone; those that a program makes lie in what it writes.
fn sockets(profile: &mut Profile, plan: &Plan) {
    if plan.sockets.is_empty() {
        return;
    }
    let paths = || {
        let paths = plan.sockets.iter();
        paths.map(|path| rule("subpath", &path_quoted(path)))
    };
    profile.rule("allow network-outbound", paths());
    let own = plan
        .writable()
        .map(|path| rule("subpath", &path_quoted(path)));
    profile.rule("allow network-bind network-inbound network-outbound", own);
}

/// What stays as it is, and what is not seen, whatever was granted around it. A disk may take
/// `.Git` for `.git`: of what does not exist yet there is only the name that is asked for.
fn guards(profile: &mut Profile, plan: &Plan) {
    let each = |paths: &[PathBuf]| -> Vec<String> {
        paths
            .iter()
            .flat_map(|path| {
                [
                    rule("subpath", &path_quoted(path)),
                    rule("regex", &caseless(&text(path))),
                ]
            })
            .collect()
    };
    profile.rule("deny file-write*", each(&plan.protect));
    profile.rule(
        "deny file-read* file-write* file-map-executable process-exec* network-outbound",
        each(&plan.hide),
    );
    // A guard is passed by moving what lies above it.
    let guarded = plan.protect.iter().chain(&plan.hide);
    let above = ancestors(guarded.map(PathBuf::as_path));
    let movable = above
        .into_iter()
        .filter(|path| plan.writable().any(|root| path.starts_with(root)));
    profile.rule(
        "deny file-write-unlink",
        movable.map(|path| rule("literal", &path_quoted(path))),
    );
}

fn rule(filter: &str, value: &Quoted) -> String {
    format!("({filter} {value})")
}

fn path_quoted(path: &Path) -> Quoted {
    quoted(&text(path))
}

/// Only paths that are text come into a plan.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[derive(Default)]
struct Profile(String);

impl Profile {
    fn line(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    /// A rule for some things. For none there is no rule: without a filter it would be for all.
    fn rule(&mut self, what: &str, filters: impl IntoIterator<Item = String>) {
        let mut filters = filters.into_iter().peekable();
        if filters.peek().is_none() {
            return;
        }
        self.line(&format!("({what}"));
        for filter in filters {
            self.line(&format!("  {filter}"));
        }
        self.line(")");
    }
}

#[cfg(test)]
#[path = "tests/seatbelt.rs"]
mod tests;
