//! The risks that a command line shows, through wrappers, inline code and substitutions.

use std::collections::BTreeSet;

use crate::clean;
use crate::grant::guarded;
use crate::request::{Risk, RunnerKind};

use super::command::{Started, started};
use super::interpreters::{Code, is_shell};
use super::shell::{self, Simple};
use super::warnings::locate;
use super::wrappers::base_name;

/// Inline code in inline code is followed this far.
const DEPTH_MAX: usize = 8;

/// What was found, each sentence once.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) risks: BTreeSet<Risk>,
    /// Sentences for people, in the order of finding.
    pub(super) sentences: Vec<String>,
    /// The user's home folder, to know credentials by their place.
    pub(super) home: String,
}

impl Found {
    pub(super) fn add(&mut self, risk: Risk, sentence: impl Into<String>) {
        self.risks.insert(risk);
        let sentence = sentence.into();
        if !self.sentences.contains(&sentence) {
            self.sentences.push(sentence);
        }
    }

    /// Looks at one command line.
    pub(super) fn command(&mut self, words: &[String], depth: usize) {
        let Some((command, args)) = words.split_first() else {
            return;
        };
        if depth > DEPTH_MAX {
            self.add(
                Risk::ShellMetacharacters,
                "holds code inside code too deep to look through",
            );
            return;
        }
        let line = started(command, args);
        if let Some(name) = line.wrappers.iter().find(|name| PRIVILEGE.contains(name)) {
            self.add(
                Risk::Privilege,
                format!("asks for another user's rights (`{name}`)"),
            );
        }
        self.runner(&line);
        let inner = behind(&line, words);
        self.program(&base_name(&line.program), inner, depth);
        self.code(&line.code, depth);
        for word in inner {
            self.path(word);
        }
    }

    fn runner(&mut self, line: &Started) {
        if line.runner == RunnerKind::Docker {
            self.add(
                Risk::ContainerEscape,
                "drives a container runtime, which Creance does not confine",
            );
        }
        let downloads = matches!(
            line.runner,
            RunnerKind::Npx | RunnerKind::Uvx | RunnerKind::Pipx | RunnerKind::Docker
        );
        let runs_url = matches!(&line.code, Code::File(file) if file.contains("://"));
        if let Some(package) = line.package.as_ref().filter(|package| !package.pinned) {
            let name = clean::line(&package.name, 200);
            self.add(
                Risk::DownloadAndRun,
                format!("runs the downloaded package `{name}` without a pinned version"),
            );
        } else if runs_url || (downloads && line.package.is_none() && line.code == Code::None) {
            self.add(Risk::DownloadAndRun, "downloads code and runs it");
        }
    }

    fn code(&mut self, code: &Code, depth: usize) {
        match code {
            Code::Shell(text) => {
                self.add(
                    Risk::InlineCode,
                    "runs shell code that stands in its arguments",
                );
                self.shell(text, depth + 1);
            }
            Code::Inline(_) => {
                self.add(Risk::InlineCode, "runs code that stands in its arguments");
            }
            Code::None | Code::File(_) | Code::Module(_) => {}
        }
    }

    fn shell(&mut self, text: &str, depth: usize) {
        let script = shell::parse(text);
        if script.metacharacters {
            self.add(
                Risk::ShellMetacharacters,
                "its shell code has pipes, redirections or several commands",
            );
        }
        if script.unclosed {
            self.add(
                Risk::ShellMetacharacters,
                "its shell code cannot be read to the end",
            );
        }
        for command in &script.commands {
            self.simple(command, depth);
        }
        for inner in &script.inner {
            if depth > DEPTH_MAX {
                self.add(
                    Risk::ShellMetacharacters,
                    "holds code inside code too deep to look through",
                );
                return;
            }
            self.shell(inner, depth + 1);
        }
    }

    fn simple(&mut self, command: &Simple, depth: usize) {
        let set = command
            .words
            .iter()
            .take_while(|word| super::wrappers::assignment(word).is_some())
            .count();
        let words = command.words.get(set..).unwrap_or_default();
        for file in &command.files {
            self.path(file);
        }
        let Some(first) = words.first() else { return };
        let started = started(first, words.get(1..).unwrap_or_default());
        let name = base_name(&started.program);
        if command.piped && is_shell(&name) && started.code == Code::None {
            self.add(
                Risk::DownloadAndRun,
                "pipes into a shell what another program prints",
            );
        }
        let made = words.iter().any(|word| word.contains(shell::MADE));
        if made && is_shell(&name) {
            let sentence = "runs in a shell what another program prints";
            self.add(Risk::DownloadAndRun, sentence);
        }
        if first.starts_with('$') {
            self.add(
                Risk::ShellMetacharacters,
                "starts a program whose name is made at run time",
            );
        }
        if matches!(name.as_str(), "eval" | "source" | "." | "trap") {
            let text = words.get(1..).unwrap_or_default().join(" ");
            self.add(Risk::InlineCode, "runs shell code that is made at run time");
            if matches!(name.as_str(), "eval" | "trap") {
                self.shell(&text, depth + 1);
            }
        }
        self.command(words, depth);
    }

    fn program(&mut self, name: &str, args: &[String], depth: usize) {
        let has = |options: &[&str]| args.iter().any(|arg| options.contains(&arg.as_str()));
        let first = args.first().map_or("", String::as_str);
        if PRIVILEGE.contains(&name) || name == "su" {
            self.add(
                Risk::Privilege,
                format!("asks for another user's rights (`{name}`)"),
            );
        }
        if NETWORK.contains(&name) {
            self.add(Risk::Network, format!("reaches the network (`{name}`)"));
        }
        if KERNEL.contains(&name) {
            self.add(
                Risk::ContainerEscape,
                format!("touches the kernel or namespaces (`{name}`)"),
            );
        }
        if name == "rm" && args.iter().any(|arg| is_recursive(arg)) {
            self.add(Risk::DeleteRecursive, "deletes whole folders (`rm -r`)");
        }
        if matches!(name, "shred" | "mkfs" | "dd" | "wipefs")
            || (name == "find" && has(&["-delete"]))
        {
            self.add(
                Risk::DeleteRecursive,
                format!("deletes or overwrites without asking (`{name}`)"),
            );
        }
        if name == "git" && args.iter().any(|arg| arg == "clean") {
            self.add(
                Risk::DeleteRecursive,
                "deletes files that git does not know (`git clean`)",
            );
        }
        let installs = INSTALLERS
            .iter()
            .any(|(tool, verbs)| *tool == name && verbs.contains(&first));
        let pip = name.starts_with("python") && args.iter().any(|arg| arg == "pip");
        if installs || ((pip || name.starts_with("pip")) && has(&["install"])) {
            self.add(
                Risk::PackageInstall,
                format!("installs packages (`{name}`)"),
            );
        }
        // `find -exec CMD`, `fd -x CMD`: another command line in the arguments.
        let runs = args.iter().position(|arg| EXEC.contains(&arg.as_str()));
        if matches!(name, "find" | "fd" | "fdfind")
            && let Some(at) = runs
        {
            self.command(args.get(at + 1..).unwrap_or_default(), depth + 1);
        }
    }

    /// A word that names credentials.
    fn path(&mut self, word: &str) {
        let text = word.split_once('=').map_or(word, |(_, value)| value);
        if text.starts_with('-') || !text.contains(['/', '~', '.']) || text.contains("://") {
            return;
        }
        let path = locate(text, &self.home, "/");
        if guarded::is_secret(&path, &self.home) {
            let shown = clean::line(text, 200);
            self.add(
                Risk::TouchesSecrets,
                format!("names a place of credentials: `{shown}`"),
            );
        }
    }
}

/// The arguments of the program behind the wrappers.
fn behind<'a>(line: &Started, words: &'a [String]) -> &'a [String] {
    let at = words.iter().position(|word| *word == line.program);
    at.and_then(|at| words.get(at + 1..)).unwrap_or_default()
}

fn is_recursive(arg: &str) -> bool {
    arg == "--recursive"
        || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['r', 'R']))
}

const PRIVILEGE: &[&str] = &["sudo", "doas", "pkexec", "run0", "runuser"];
const EXEC: &[&str] = &[
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-x",
    "-X",
    "--exec",
    "--exec-batch",
];
const NETWORK: &[&str] = &[
    "curl", "wget", "wget2", "aria2c", "http", "https", "xh", "nc", "ncat", "netcat", "socat",
    "telnet", "ssh", "scp", "sftp", "ftp", "lftp", "rsync", "curlie",
];
const KERNEL: &[&str] = &[
    "nsenter", "unshare", "mount", "umount", "insmod", "modprobe", "kmod", "chroot", "kexec",
    "runc", "ctr", "crictl", "bpftool", "setcap",
];
const INSTALLERS: &[(&str, &[&str])] = &[
    ("npm", &["install", "i", "ci", "add"]),
    ("pnpm", &["install", "i", "add"]),
    ("yarn", &["install", "add", "global"]),
    ("bun", &["install", "add", "i"]),
    ("cargo", &["install"]),
    ("go", &["install", "get"]),
    ("gem", &["install"]),
    ("uv", &["pip", "add", "sync"]),
    ("pipx", &["install"]),
    ("brew", &["install"]),
    ("apt", &["install"]),
    ("apt-get", &["install"]),
    ("dnf", &["install"]),
    ("yum", &["install"]),
    ("apk", &["add"]),
    ("pacman", &["-S", "-Syu", "-U"]),
    ("conda", &["install"]),
    ("mamba", &["install"]),
];
