//! What is known about this machine besides what works on it: read, never guessed from names alone.

use std::fs;
use std::path::Path;

use crate::sandbox::advice::MachineFacts;

/// Reads the facts.
pub(crate) fn facts() -> MachineFacts {
    let number = |path: &str| text(path).and_then(|text| text.parse::<u64>().ok());
    let switch = |path: &str| number(path).map(|number| number != 0);
    let status = text("/proc/self/status").unwrap_or_default();
    MachineFacts {
        container: container(),
        wsl: wsl(),
        max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
        unprivileged_namespaces: switch("/proc/sys/kernel/unprivileged_userns_clone"),
        apparmor_restricts: switch("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        security_modules: text("/sys/kernel/security/lsm"),
        typing_into_terminals: switch("/proc/sys/dev/tty/legacy_tiocsti"),
        filtered: status.contains("Seccomp:\t2"),
        program: std::env::current_exe().unwrap_or_default(),
    }
}

fn text(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

fn container() -> Option<String> {
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return Some("kubernetes".to_owned());
    }
    for (mark, name) in [
        ("/.dockerenv", "docker"),
        ("/run/.containerenv", "podman"),
        ("/dev/lxd", "lxd"),
    ] {
        if Path::new(mark).exists() {
            return Some(name.to_owned());
        }
    }
    // What systemd and others tell programs, and where systemd writes it down.
    let told: Option<String> = std::env::var("container").ok();
    told.or_else(|| text("/run/systemd/container"))
        .filter(|name| !name.is_empty())
}

fn wsl() -> Option<u8> {
    let release = text("/proc/sys/kernel/osrelease")?;
    if release.contains("WSL2") || release.contains("microsoft-standard") {
        return Some(2);
    }
    release.ends_with("-Microsoft").then_some(1)
}
