//! Programs that only start another one (`env`, `sudo`, `timeout`, …), taken off a command line.

use super::shell;

/// A command line without what is wrapped around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unwrapped {
    /// Names of the wrappers, outermost first.
    pub(super) wrappers: Vec<&'static str>,
    /// Names of variables that are set on the way.
    pub(super) assigned: Vec<String>,
    /// The program that runs in the end, and its arguments. Empty when there is none.
    pub(super) words: Vec<String>,
}

struct Wrapper {
    name: &'static str,
    /// Options whose value is the next word.
    takes: &'static [&'static str],
    /// Words of its own before the command.
    own: usize,
}

const fn wrapper(name: &'static str, takes: &'static [&'static str], own: usize) -> Wrapper {
    Wrapper { name, takes, own }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("env", &["-u", "--unset", "-C", "--chdir"], 0),
    wrapper("cross-env", &[], 0),
    wrapper("sudo", SUDO, 0),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("pkexec", &["--user"], 0),
    wrapper(
        "run0",
        &["-u", "--user", "-g", "--group", "-D", "--chdir"],
        0,
    ),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "-n", "--class", "--classdata"], 0),
    wrapper("chrt", &["-T", "-P", "-D"], 1),
    wrapper("taskset", &[], 1),
    wrapper("timeout", &["-s", "--signal", "-k", "--kill-after"], 1),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper(
        "stdbuf",
        &["-i", "-o", "-e", "--input", "--output", "--error"],
        0,
    ),
    wrapper("time", &["-f", "-o", "--format", "--output"], 0),
    wrapper("command", &[], 0),
    wrapper("builtin", &[], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
    wrapper("chroot", &[], 1),
    wrapper("strace", &["-e", "-o", "-p", "-s", "-u", "-E"], 0),
    wrapper(
        "xargs",
        &["-I", "-n", "-P", "-L", "-d", "-s", "-a", "-E"],
        0,
    ),
    wrapper(
        "xvfb-run",
        &["-s", "-n", "-e", "-f", "-p", "-w", "--server-args"],
        0,
    ),
    wrapper("caffeinate", &["-t", "-w"], 0),
    wrapper("winpty", &[], 0),
];

const SUDO: &[&str] = &[
    "-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "--user", "--group",
    "--host", "--prompt", "--chdir", "--chroot", "--role", "--type",
];

/// Wrappers in wrappers are followed this far; what is deeper stays unseen and is the program.
const DEPTH_MAX: usize = 16;

/// Takes assignments and wrappers off, from the left.
pub(super) fn unwrap(words: &[String]) -> Unwrapped {
    let mut found = Unwrapped {
        words: words.to_vec(),
        ..Unwrapped::default()
    };
    for _ in 0..DEPTH_MAX {
        let Some(name) = found.words.first().map(|word| base_name(word)) else {
            break;
        };
        let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) else {
            break;
        };
        let inner = inside(wrapper, &found.words, &mut found.assigned);
        // `env` alone, `command -v x`: the wrapper is the program.
        if inner.is_empty() {
            break;
        }
        found.wrappers.push(wrapper.name);
        found.words = inner;
    }
    found
}

fn inside(wrapper: &Wrapper, words: &[String], assigned: &mut Vec<String>) -> Vec<String> {
    let mut at = 1;
    let mut split: Vec<String> = Vec::new();
    while let Some(word) = words.get(at).map(String::as_str) {
        at += 1;
        if word == "--" {
            break;
        }
        if wrapper.name == "env"
            && let Some((text, own)) = split_text(word, words.get(at))
        {
            at += own;
            split = shell::words(text);
            break;
        }
        if wrapper.name == "command" && matches!(word, "-v" | "-V") {
            return Vec::new();
        }
        if let Some(name) = assignment(word)
            && matches!(wrapper.name, "env" | "sudo" | "cross-env" | "doas" | "run0")
        {
            assigned.push(name.to_owned());
        } else if word.len() > 1 && word.starts_with('-') {
            at += usize::from(wrapper.takes.contains(&word));
        } else {
            at -= 1;
            break;
        }
    }
    at += wrapper.own;
    split.extend(words.get(at..).unwrap_or_default().iter().cloned());
    split
}

/// The words that `env -S` takes apart, glued or as the next word, and how many words they are.
fn split_text<'a>(word: &'a str, next: Option<&'a String>) -> Option<(&'a str, usize)> {
    let next = (next.map_or("", String::as_str), 1);
    if let Some(rest) = word.strip_prefix("--split-string") {
        return Some(rest.strip_prefix('=').map_or(next, |text| (text, 0)));
    }
    let (flags, text) = word.strip_prefix('-')?.split_once('S')?;
    let flags_only = flags.chars().all(|c| "i0v".contains(c));
    flags_only.then_some(if text.is_empty() { next } else { (text, 0) })
}

/// The name of a variable, when a word sets one.
pub(super) fn assignment(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    super::variables::is_name(name).then_some(name)
}

/// The last part of a program's path, without the ending that Windows adds.
pub(super) fn base_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let lower = name.to_lowercase();
    for ending in [".exe", ".cmd", ".bat", ".ps1"] {
        if let Some(stem) = lower.strip_suffix(ending) {
            return stem.to_owned();
        }
    }
    name.to_owned()
}

/// The index of the first word from `from` on that is no option; after `--`, the word behind it.
pub(super) fn first_operand(words: &[String], from: usize, takes: &[&str]) -> Option<usize> {
    let mut at = from;
    while let Some(word) = words.get(at) {
        if word == "--" {
            return (at + 1 < words.len()).then_some(at + 1);
        }
        if word.len() < 2 || !word.starts_with('-') {
            return Some(at);
        }
        at += 1 + usize::from(takes.contains(&word.as_str()));
    }
    None
}

/// The value of one of some options (`--from X`, `--from=X`) among the words before `end`.
pub(super) fn option_value<'a>(words: &'a [String], names: &[&str]) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| {
        if names.contains(&word.as_str()) {
            return words.get(at + 1).map(String::as_str);
        }
        let (name, value) = word.split_once('=')?;
        (name.starts_with('-') && names.contains(&name)).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, wrappers: &str, rest: &str) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let found = unwrap(&words);
        assert_eq!(found.wrappers.join(" "), wrappers, "{line}");
        assert_eq!(found.words.join(" "), rest, "{line}");
    }

    #[test]
    fn wrappers_come_off() {
        check("git push", "", "git push");
        check("env git push", "env", "git push");
        check("env -i PATH=/bin git push", "env", "git push");
        check("env -u X -C /tmp A=b node x.js", "env", "node x.js");
        check(
            "/usr/bin/env -S node --flag x.js",
            "env",
            "node --flag x.js",
        );
        let glued: Vec<String> = ["env", "-iS", "node x.js", "y"].map(str::to_owned).to_vec();
        assert_eq!(unwrap(&glued).words, ["node", "x.js", "y"]);
        check("env --split-string=node x.js", "env", "node x.js");
        check("sudo -u root -- rm x", "sudo", "rm x");
        check("timeout -s KILL 5 nice -n 3 rm x", "timeout nice", "rm x");
        check("nohup setsid -w sh -c id", "nohup setsid", "sh -c id");
        check("busybox rm x", "busybox", "rm x");
        check("env", "", "env");
        check("command -v rm", "", "command -v rm");
        check("stdbuf -oL python3 x.py", "stdbuf", "python3 x.py");
    }
}
