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
    match guarantee {
        Guarantee::Network => network(backend, grant),
        Guarantee::NetworkPerHost => absent("hosts are not decided one by one in this version"),
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

fn network(backend: Backend, grant: &Grant) -> Level {
    match (grant.network, backend.has_namespaces()) {
        (Network::Whole, _) => enforced("nothing: the whole network was granted"),
        (Network::None, true) => enforced("network namespace"),
        (Network::None, false) => enforced("seccomp"),
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
