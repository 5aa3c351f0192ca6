//! Runs commands in the world of `world.py`, and reads what arrived at its other end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) type Test = (&'static str, fn());

/// What a user's policy file says in these tests: the host of the tests on its two ports, and names
/// that are allowed and lead where they must not.
pub(crate) const POLICY: &str = r#"
@id("api") @reason("The interface.")
permit (principal, action == Action::"sandbox.network", resource == Host::"api.allowed.test")
when { context.port == 443 || context.port == 80 };

@id("inside") @reason("Names that lead inside.")
permit (principal, action == Action::"sandbox.network", resource in Domain::"inside.test");
"#;

/// A small runner that `cargo test` and `cargo nextest` understand. As root, every test runs a second
/// time as an ordinary user.
pub(crate) fn main(tests: &[Test]) {
    let args: Vec<String> = std::env::args().collect();
    if let Some("inside") = args.get(1).map(String::as_str) {
        return crate::inside::main(&args[2..]);
    }
    if args.iter().any(|arg| arg == "--list") {
        if !args.iter().any(|arg| arg == "--ignored") {
            tests.iter().for_each(|(name, _)| println!("{name}: test"));
        }
        return;
    }
    let wanted: Vec<&String> = args[1..].iter().filter(|a| !a.starts_with('-')).collect();
    if let Some(why) = missing() {
        println!("skipped: {why}");
        return;
    }
    for (name, test) in tests {
        if !wanted.is_empty() && !wanted.iter().any(|want| name.contains(want.as_str())) {
            continue;
        }
        println!("test {name} (uid {})", uid());
        test();
        if uid() == 0 {
            as_user(name);
        }
    }
}

pub(crate) fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn as_user(name: &str) {
    let status = Command::new(std::env::current_exe().unwrap())
        .arg(name)
        .env_remove("TMPDIR")
        .uid(1000)
        .gid(1000)
        .status();
    match status {
        Err(error) => println!("skipped as uid 1000: {error}"),
        Ok(status) => assert!(status.success(), "{name} failed as uid 1000"),
    }
}

/// What this machine lacks to make the world.
fn missing() -> Option<String> {
    for tool in ["unshare", "ip", "openssl", "python3", "mount", "curl"] {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {tool}")])
            .output();
        if !found.is_ok_and(|found| found.status.success()) {
            return Some(format!("{tool} is not installed"));
        }
    }
    let mut probe = enter();
    let made = probe.args([
        "ip", "link", "add", "creance9", "type", "veth", "peer", "name", "creance8",
    ]);
    let made = made.output();
    match made {
        Ok(made) if made.status.success() => None,
        Ok(made) => Some(format!(
            "no wire: {}",
            String::from_utf8_lossy(&made.stderr).trim()
        )),
        Err(error) => Some(format!("no namespaces: {error}")),
    }
}

/// A command in new namespaces, as their root.
fn enter() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--propagation", "private"]);
    if uid() != 0 {
        command.arg("--map-root-user");
    }
    command
}

/// A user's home and project, and the log of the other end.
pub(crate) struct World {
    dir: tempfile::TempDir,
}

impl World {
    pub(crate) fn new(policy: &str) -> Self {
        let world = Self {
            dir: tempfile::Builder::new()
                .prefix("reach")
                .tempdir_in(root())
                .unwrap(),
        };
        for folder in ["home/.config/creance/policies", "home/project/.git", "www"] {
            fs::create_dir_all(world.at(folder)).unwrap();
        }
        fs::write(world.at("home/.config/creance/policies/test.cedar"), policy).unwrap();
        world
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a command on the machine of this world; the certificate of its internet is trusted by the
    /// usual variables, which the sandbox must be given by name.
    pub(crate) fn command(&self, words: &[&str]) -> Output {
        let home = self.at("home");
        let cert = self.at("cert.pem");
        enter()
            .arg("python3")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reach/world.py"))
            .arg(self.dir.path())
            .args(words)
            .current_dir(self.at("home/project"))
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env_remove("XDG_RUNTIME_DIR")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .envs(TRUST.map(|name| (name, &cert)))
            .output()
            .unwrap()
    }

    /// `creance run` with these options.
    pub(crate) fn run(&self, options: &[&str], command: &[&str]) -> Output {
        let words = self.words(options, command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.command(&words)
    }

    /// The words of `creance run` with these options.
    pub(crate) fn words(&self, options: &[&str], command: &[&str]) -> Vec<String> {
        let cert = self.at("cert.pem").display().to_string();
        let mut words = vec![env!("CARGO_BIN_EXE_creance"), "run", "--read", &cert];
        for name in TRUST {
            words.extend(["--env", name]);
        }
        words.extend(options);
        words.push("--");
        words.extend(command);
        words.into_iter().map(str::to_owned).collect()
    }

    /// What arrived at the other end, each with its count.
    pub(crate) fn arrived(&self, log: &str) -> BTreeMap<String, usize> {
        let text = fs::read_to_string(self.at(log)).unwrap_or_default();
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            *counts.entry(line.to_owned()).or_default() += 1;
        }
        counts
    }

    /// The records of the audit log, one JSON object each.
    pub(crate) fn records(&self) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.at("home/.local/state/creance/audit.jsonl"));
        let text = text.unwrap_or_default();
        (text.lines())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Not below `/tmp`, which each sandbox has for itself: what is granted there would take another
/// backend.
fn root() -> PathBuf {
    let folder = PathBuf::from("/var/tmp");
    if folder.is_dir() {
        folder
    } else {
        std::env::temp_dir()
    }
}

/// Where curl, Python, Node, git, npm, pip and cargo read which certificates to trust.
const TRUST: [&str; 7] = [
    "CURL_CA_BUNDLE",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "npm_config_cafile",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
];

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
