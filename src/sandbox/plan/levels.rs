//! What each backend holds, guarantee by guarantee, for one grant: honest, with the reason.

use super::backend::{Backend, CgroupOffer, Offers};
use crate::grant::{Confinement, Grant, Guarantee, Level, Network};

/// The confinement of one launch.
pub(crate) fn confinement(backend: Backend, grant: &Grant, offers: &Offers) -> Confinement {
    if backend == Backend::None {
        return Confinement::none(&why_none(offers));
    }
    Confinement {
        backend: backend.name().to_owned(),
        levels: Guarantee::ALL
            .into_iter()
            .map(|guarantee| (guarantee, level(guarantee, backend, grant, offers)))
            .collect(),
    }
}

fn level(guarantee: Guarantee, backend: Backend, grant: &Grant, offers: &Offers) -> Level {
    match backend {
        Backend::MacosSeatbelt => return in_seatbelt(guarantee, grant),
        Backend::WindowsJob => return in_job(guarantee, grant),
        Backend::LinuxL3
        | Backend::LinuxNs
        | Backend::LinuxNsNoproc
        | Backend::LinuxLandlock
        | Backend::None => {}
    }
    match guarantee {
        Guarantee::Network => network(backend, grant),
        Guarantee::NetworkPerHost => per_host(backend, grant),
        Guarantee::UnixSockets => sockets(grant),
        Guarantee::Limits => limits(backend, grant, offers),
        Guarantee::Environment => enforced("a helper that starts with an empty environment"),
        Guarantee::Terminal if grant.terminal => enforced("seccomp"),
        Guarantee::Terminal => enforced("a session of its own and seccomp"),
        _ if backend.has_namespaces() => in_namespaces(guarantee, backend),
        _ => in_landlock(guarantee),
    }
}

fn in_namespaces(guarantee: Guarantee, backend: Backend) -> Level {
    match guarantee {
        Guarantee::Processes if backend == Backend::LinuxNsNoproc => weakened(
            "pid namespace and Landlock",
            "`/proc` is masked on this machine, so its process list stays visible",
        ),
        Guarantee::ProtectedPaths => enforced("read-only mounts"),
        Guarantee::Processes | Guarantee::TreeKill => enforced("pid namespace"),
        _ => enforced("mount namespace"),
    }
}

fn in_landlock(guarantee: Guarantee) -> Level {
    match guarantee {
        Guarantee::Writes => weakened(
            "Landlock",
            "modes, owners and times of files outside the grant can still be changed",
        ),
        Guarantee::ProtectedPaths => absent("Landlock has no exceptions inside a writable folder"),
        Guarantee::Secrets => weakened("Landlock", "names, sizes and times of files stay visible"),
        Guarantee::Processes => weakened(
            "Landlock",
            "the machine's process list and command lines stay visible",
        ),
        _ => weakened(
            "a session and a walk over its processes",
            "a process that detaches while the tree is killed can be missed",
        ),
    }
}

/// What a profile holds by the letter of Seatbelt.
fn in_seatbelt(guarantee: Guarantee, grant: &Grant) -> Level {
    match guarantee {
        Guarantee::Network if grant.network == Network::Whole => enforced(WHOLE),
        Guarantee::NetworkPerHost => match grant.network {
            Network::None => enforced("Seatbelt"),
            Network::Hosts => absent("there is no proxy on macOS yet, so no host can be reached"),
            Network::Whole => absent("the whole network was granted"),
        },
        Guarantee::UnixSockets => sockets(grant),
        Guarantee::TreeKill => weakened(
            "its process group",
            "a process that leaves the group is missed",
        ),
        Guarantee::Limits => weakened(
            "resource limits",
            "memory and the number of processes are not limited on macOS",
        ),
        Guarantee::Terminal if grant.terminal => weakened(
            "Seatbelt",
            "a program that has the terminal can type into it",
        ),
        Guarantee::Terminal => enforced("a session of its own and Seatbelt"),
        Guarantee::Environment => enforced("a helper that starts with an empty environment"),
        Guarantee::Writes
        | Guarantee::ProtectedPaths
        | Guarantee::Secrets
        | Guarantee::Network
        | Guarantee::Processes => enforced("Seatbelt"),
    }
}

/// What a job and a token without rights hold. They bound what a program takes and leaves behind,
/// not what it reads, writes and reaches: the user's own files stay the user's.
fn in_job(guarantee: Guarantee, grant: &Grant) -> Level {
    match guarantee {
        Guarantee::Writes => absent("files of the user can be written on Windows"),
        Guarantee::ProtectedPaths => absent("protected files can be written on Windows"),
        Guarantee::Secrets => absent("files of the user can be read on Windows"),
        Guarantee::Network if grant.network == Network::Whole => enforced(WHOLE),
        Guarantee::Network => absent("the network is open on Windows"),
        Guarantee::NetworkPerHost => absent("hosts are not decided one by one on Windows"),
        Guarantee::UnixSockets => absent("sockets and named pipes of the user are open on Windows"),
        Guarantee::Processes => weakened(
            "a token without privileges and a job",
            "other processes of the user can be seen and opened",
        ),
        Guarantee::TreeKill => enforced("a job that ends with its last handle"),
        Guarantee::Limits => weakened(
            "a job",
            "the size and the number of files are not limited on Windows",
        ),
        Guarantee::Terminal if grant.terminal => absent("the program has the console"),
        Guarantee::Terminal => enforced("no console"),
        Guarantee::Environment => enforced("a helper that starts with an empty environment"),
    }
}

const WHOLE: &str = "nothing: the whole network was granted";

fn network(backend: Backend, grant: &Grant) -> Level {
    match (grant.network, backend.has_namespaces()) {
        (Network::Whole, _) => enforced(WHOLE),
        (Network::Hosts, true) => enforced("network namespace and proxy"),
        (Network::None, true) => enforced("network namespace"),
        (Network::None | Network::Hosts, false) => enforced("seccomp"),
    }
}

/// Whether a host is reached only when it was decided. Where none can be reached at all, that holds.
fn per_host(backend: Backend, grant: &Grant) -> Level {
    match (grant.network, backend.has_namespaces()) {
        (Network::Whole, _) => absent("the whole network was granted"),
        (Network::Hosts, true) => enforced("network namespace and proxy"),
        (Network::None, true) => enforced("network namespace"),
        (Network::None, false) => enforced("seccomp"),
        (Network::Hosts, false) => absent(
            "without a network namespace there is no place for the proxy, so no host can be reached",
        ),
    }
}

fn sockets(grant: &Grant) -> Level {
    if grant.sockets.is_empty() {
        return enforced("seccomp");
    }
    weakened(
        "mount namespace and Landlock",
        "sockets were granted, so any socket in a readable folder can be connected to",
    )
}

fn limits(backend: Backend, grant: &Grant, offers: &Offers) -> Level {
    let cgroup = offers.cgroup.clone().unwrap_or_default();
    let counted = grant.limits.processes.is_some() && !cgroup.processes;
    let why = if !backend.has_namespaces() && counted {
        "the number of processes is not limited without a user namespace or a cgroup"
    } else if offers.root && counted && backend == Backend::LinuxNsNoproc {
        "the number of processes is not limited for the real root without a cgroup"
    } else if grant.limits.temp_bytes.is_some() && !backend.has_namespaces() {
        "the temporary folder is not limited without a mount namespace"
    } else {
        return enforced(limited_by(&cgroup));
    };
    weakened(limited_by(&cgroup), why)
}

/// What holds the memory of the whole tree is said, because it is not the same everywhere.
fn limited_by(cgroup: &CgroupOffer) -> &'static str {
    if cgroup.memory {
        "resource limits, and a cgroup around the whole tree"
    } else {
        "resource limits of each process; memory and CPU time of the whole tree are watched"
    }
}

fn why_none(offers: &Offers) -> String {
    let mut why: Vec<String> = offers
        .backends
        .iter()
        .filter_map(|offer| Some(format!("{}: {}", offer.backend, offer.failure.as_ref()?)))
        .collect();
    if why.is_empty() {
        why.push("the sandbox was switched off".to_owned());
    }
    why.join("; ")
}

fn enforced(by: &str) -> Level {
    Level::Enforced { by: by.to_owned() }
}

fn weakened(by: &str, why: &str) -> Level {
    Level::Weakened {
        by: by.to_owned(),
        why: why.to_owned(),
    }
}

fn absent(why: &str) -> Level {
    Level::Absent {
        why: why.to_owned(),
    }
}
