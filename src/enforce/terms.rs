//! From a definition to the terms of its sandbox, and to the wishes that are put to policy one by
//! one. What every sandbox gets (the system, toolchains, its own private folders) is no wish.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::config;
use crate::grant::{Environment, Grant, Limit, Limits, Network, guarded};
use crate::request::{EnvFacts, HostRule, NetworkWish, Wish};

use super::line::Ground;
use super::private::Private;

/// What a process asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    /// `None`: no Unix sockets; else those that it makes itself and these.
    pub(crate) sockets: Option<Vec<PathBuf>>,
    pub(crate) network: Network,
    /// Hosts that are asked for at the start.
    pub(crate) hosts: Vec<HostRule>,
    pub(crate) env: Environment,
    pub(crate) env_facts: Vec<EnvFacts>,
    pub(crate) limits: BTreeMap<Limit, u64>,
    pub(crate) terminal: bool,
}

/// The terms of a sandbox and the wishes in them.
pub(crate) fn terms(ground: &Ground, wanted: &Wanted, private: &Private) -> (Grant, Vec<Wish>) {
    let project: Vec<PathBuf> = ground.project.iter().cloned().collect();
    let mut read = toolchains(ground);
    read.extend(wanted.read.iter().cloned());
    let write: Vec<PathBuf> = project.iter().chain(&wanted.write).cloned().collect();
    let grant = Grant {
        home: ground.home.clone(),
        protect: (write.iter())
            .filter(|root| !root.is_file())
            .flat_map(|root| protected(root, ground.home.as_deref()))
            .filter(|entry| !wanted.write.contains(entry))
            .collect(),
        write: write
            .iter()
            .cloned()
            .chain([private.cache.clone(), private.temp.clone()])
            .collect(),
        read,
        hide: hidden(
            ground,
            private,
            wanted.sockets.as_deref().unwrap_or_default(),
        ),
        sockets: sockets(wanted, private),
        temp: Some(private.temp.clone()),
        network: wanted.network,
        env: environment(ground, wanted, private),
        limits: limits(wanted),
        terminal: wanted.terminal,
    };
    (grant, wishes(ground, wanted, (&project, private)))
}

fn limits(wanted: &Wanted) -> Limits {
    let mut limits = Limits::default();
    for (limit, value) in &wanted.limits {
        limits.set(*limit, *value);
    }
    limits
}

fn wishes(
    ground: &Ground,
    wanted: &Wanted,
    (project, private): (&[PathBuf], &Private),
) -> Vec<Wish> {
    let facts = |path: &PathBuf| ground.places.facts(path.to_string_lossy());
    let mut wishes: Vec<Wish> = Vec::new();
    for root in project {
        wishes.push(Wish::Read(facts(root)));
        wishes.push(Wish::Write(facts(root)));
    }
    wishes.extend(wanted.read.iter().map(|path| Wish::Read(facts(path))));
    wishes.extend(wanted.write.iter().map(|path| Wish::Write(facts(path))));
    let sockets = sockets(wanted, private);
    wishes.extend(sockets.iter().map(|path| Wish::Socket(facts(path))));
    if wanted.network == Network::Whole {
        wishes.push(Wish::Network(NetworkWish::Whole));
    }
    if wanted.network == Network::Hosts {
        let hosts = wanted.hosts.iter().map(|host| Wish::Network(host.wish()));
        wishes.extend(hosts);
    }
    wishes.extend(wanted.env_facts.iter().cloned().map(Wish::Env));
    // What an entry names and a program brings with it is one wish.
    let mut once = Vec::with_capacity(wishes.len());
    for wish in wishes {
        if !once.contains(&wish) {
            once.push(wish);
        }
    }
    once
}

/// The private cache stands for the sockets that a process makes itself.
fn sockets(wanted: &Wanted, private: &Private) -> Vec<PathBuf> {
    let named = wanted.sockets.iter().flatten().cloned();
    let own = wanted.sockets.is_some().then(|| private.cache.clone());
    own.into_iter().chain(named).collect()
}

fn toolchains(ground: &Ground) -> Vec<PathBuf> {
    let Some(home) = &ground.home else {
        return Vec::new();
    };
    guarded::TOOLCHAINS
        .iter()
        .map(|entry| home.join(entry))
        .collect()
}

/// Everything inside a writable folder that stays as it is: what exists, and what must not appear. In
/// the home folder nothing of the list may appear, shell start-up files above all.
fn protected(root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let is_home = home == Some(root);
    guarded::PROTECTED
        .iter()
        .filter(|entry| {
            is_home
                || guarded::GUARDED_ABSENT.contains(entry)
                || root.join(entry).symlink_metadata().is_ok()
        })
        .map(|entry| root.join(entry))
        .collect()
}

/// What no sandbox sees: credentials, Creance's own folders, private folders of other servers.
fn hidden(ground: &Ground, private: &Private, sockets: &[PathBuf]) -> Vec<PathBuf> {
    let mut hidden: BTreeSet<PathBuf> = ground.own.iter().cloned().collect();
    hidden.extend(guarded::SYSTEM_SECRETS.iter().map(PathBuf::from));
    if let Some(home) = &ground.home {
        hidden.extend(guarded::SECRETS.iter().map(|entry| home.join(entry)));
    }
    hidden.extend(private.others.iter().cloned());
    for name in ["SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"] {
        if let Some(path) = ground.environment.get(name)
            && path.starts_with('/')
            && !is_granted(Path::new(path), sockets)
        {
            hidden.insert(PathBuf::from(path));
        }
    }
    hidden.into_iter().collect()
}

/// Whether a folder of sockets gives way to a socket in it that was granted by name: itself, or
/// below `/run`, which is empty but for what is named.
fn is_granted(hidden: &Path, sockets: &[PathBuf]) -> bool {
    sockets.iter().any(|socket| {
        socket == hidden || (hidden.starts_with("/run") && socket.starts_with(hidden))
    })
}

/// Hidden paths that do not exist yet inside what is granted: nothing can stand in their place. The
/// fixed toolchain folders hold none that counts.
pub(crate) fn not_yet_hidden(grant: &Grant, wanted: &Wanted) -> Option<String> {
    let asked = |path: &&PathBuf| {
        let granted = wanted.read.iter().chain(&wanted.write);
        granted.into_iter().any(|root| path.starts_with(root))
    };
    let absent = |path: &&PathBuf| path.symlink_metadata().is_err();
    let all: Vec<String> = (grant.hide.iter().filter(asked).filter(absent))
        .map(|path| path.display().to_string())
        .collect();
    let (first, more) = all.split_first()?;
    let more = match more.len() {
        0 => String::new(),
        count => format!(" and {count} more of that kind"),
    };
    Some(format!(
        "`{first}`{more} would be hidden but does not exist: if it is created while this runs, it \
         can be read"
    ))
}

/// The whole environment: the fixed short list, private folders, and what the entry names.
fn environment(ground: &Ground, wanted: &Wanted, private: &Private) -> Environment {
    let mut env = config::run_environment(&ground.environment);
    for (name, value) in private.variables(ground.home.as_deref(), wanted.network) {
        env.insert(name, value);
    }
    let is_repository = |root: &PathBuf| root.join(".git").symlink_metadata().is_ok();
    if !ground.project.as_ref().is_some_and(is_repository) {
        // The guard of an absent repository is an empty `.git`, which go takes for a broken one.
        env.insert("GOFLAGS".to_owned(), "-buildvcs=false".to_owned());
    }
    env.extend(
        wanted
            .env
            .0
            .iter()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    Environment(env)
}
