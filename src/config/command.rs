//! What a command line really starts: the runner, its package, the script or inline code. Options
//! are read as each program reads them, not searched for in the text.

use crate::request::RunnerKind;

use super::interpreters::{self, Code};
use super::package::{self, Package};
use super::wrappers::{base_name, first_operand, option_value, unwrap};

/// What a command line starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Started {
    /// What starts the code.
    pub(crate) runner: RunnerKind,
    /// The program behind wrappers such as `env`, as written.
    pub(crate) program: String,
    /// Programs around it, outermost first.
    pub(crate) wrappers: Vec<&'static str>,
    /// Names of variables that the command line sets.
    pub(crate) assigned: Vec<String>,
    /// The package, when a package runner is used.
    pub(crate) package: Option<Package>,
    /// The code that an interpreter runs.
    pub(crate) code: Code,
}

/// Reads a command line.
pub(crate) fn started(command: &str, args: &[String]) -> Started {
    let words: Vec<String> = std::iter::once(command.to_owned())
        .chain(args.iter().cloned())
        .collect();
    let unwrapped = unwrap(&words);
    let (runner, package, code) = read(&unwrapped.words);
    Started {
        runner,
        program: unwrapped.words.first().cloned().unwrap_or_default(),
        wrappers: unwrapped.wrappers,
        assigned: unwrapped.assigned,
        package,
        code,
    }
}

/// The name for a server that is given as a command line alone: that of its package with its scope,
/// else of its module or script, else of its program. A server's policies and pins hang on the name,
/// so two packages never share one.
pub(crate) fn command_name(command: &str, args: &[String]) -> String {
    let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let line = started(command, args);
    match (line.package, line.code) {
        (Some(package), _) if !package.name.is_empty() => package.name,
        (_, Code::Module(name)) => name,
        (_, Code::File(file)) => last(&file),
        _ => last(command),
    }
}

type Read = (RunnerKind, Option<Package>, Code);

fn read(words: &[String]) -> Read {
    let name = words
        .first()
        .map(|word| base_name(word))
        .unwrap_or_default();
    let rest = words.get(1..).unwrap_or_default();
    let sub = rest.first().map_or("", String::as_str);
    let after = |n: usize| rest.get(n..).unwrap_or_default();
    let none = Code::None;
    match (name.as_str(), sub) {
        ("npx" | "pnpx" | "bunx", _) => npm_runner(rest),
        ("npm", "exec" | "x") | ("pnpm" | "yarn", "dlx") | ("bun", "x") => npm_runner(after(1)),
        ("npm" | "pnpm" | "yarn", "run" | "start" | "test" | "exec") => {
            (RunnerKind::Script, None, none)
        }
        ("uvx", _) => python_runner(RunnerKind::Uvx, rest, UV),
        ("uv", "tool") if rest.get(1).is_some_and(|word| word == "run") => {
            python_runner(RunnerKind::Uvx, after(2), UV)
        }
        ("uv", "run") => uv_run(after(1)),
        ("pipx", "run") => python_runner(RunnerKind::Pipx, after(1), PIPX),
        ("pipx", _) => (RunnerKind::Pipx, None, none),
        ("docker" | "podman" | "nerdctl", _) => container(rest),
        ("cargo" | "dotnet", "run") => (RunnerKind::Cargo, None, none),
        ("go", "run") => {
            let target = first_operand(rest, 1, &["-exec", "-mod", "-tags", "-C"]);
            let target = target.and_then(|at| rest.get(at));
            let package = target.filter(|word| word.contains('@'));
            (
                RunnerKind::Cargo,
                package.map(|word| package::go(word)),
                none,
            )
        }
        _ => match interpreters::code(&name, rest) {
            Some(Code::File(file)) if file.starts_with("npm:") || file.starts_with("jsr:") => {
                let package = package::npm(file.split_at(4).1.trim_start_matches('/'));
                (RunnerKind::Npx, Some(package), none)
            }
            Some(code) => (RunnerKind::Script, None, code),
            None => (RunnerKind::Binary, None, none),
        },
    }
}

const NPM: &[&str] = &[
    "-p",
    "--package",
    "-c",
    "--call",
    "-w",
    "--workspace",
    "--prefix",
    "--cache",
    "--registry",
    "--userconfig",
    "--loglevel",
    "-n",
    "--node-options",
    "--node-arg",
    "--shell",
];

fn npm_runner(words: &[String]) -> Read {
    let operand = first_operand(words, 0, NPM);
    let own = words
        .get(..operand.unwrap_or(words.len()))
        .unwrap_or_default();
    let named = option_value(own, &["-p", "--package"]);
    let spec = named.or_else(|| operand.and_then(|at| words.get(at)).map(String::as_str));
    let code = match option_value(own, &["-c", "--call"]) {
        Some(code) => Code::Shell(code.to_owned()),
        None => Code::None,
    };
    (RunnerKind::Npx, spec.map(package::npm), code)
}

const UV: &[&str] = &[
    "--from",
    "--with",
    "--with-editable",
    "--with-requirements",
    "-w",
    "-p",
    "--python",
    "-i",
    "--index-url",
    "--extra-index-url",
    "--index",
    "--default-index",
    "-f",
    "--find-links",
    "--cache-dir",
    "--directory",
    "--project",
    "--env-file",
    "-c",
    "--constraints",
    "--overrides",
    "-P",
    "--upgrade-package",
    "--refresh-package",
    "--reinstall-package",
    "--config-file",
    "--allow-insecure-host",
    "--extra",
    "--group",
    "--package",
    "--link-mode",
    "--prerelease",
    "--resolution",
    "--exclude-newer",
    "--color",
];
const PIPX: &[&str] = &[
    "--spec",
    "--with",
    "--python",
    "--pip-args",
    "-i",
    "--index-url",
    "--backend",
];

fn python_runner(runner: RunnerKind, words: &[String], takes: &[&str]) -> Read {
    let operand = first_operand(words, 0, takes);
    let own = words
        .get(..operand.unwrap_or(words.len()))
        .unwrap_or_default();
    let named = option_value(own, &["--from", "--spec"]);
    let spec = named.or_else(|| operand.and_then(|at| words.get(at)).map(String::as_str));
    (runner, spec.map(package::pypi), Code::None)
}

/// `uv run x.py`, `uv run -m x`, `uv run python x.py`, `uv run tool`: the project's environment,
/// which uv brings up to date from its lock file before.
fn uv_run(words: &[String]) -> Read {
    let mut takes = UV.to_vec();
    takes.extend(["-m", "--module", "-s", "--script"]);
    if let Some(module) = option_value(words, &["-m", "--module"]) {
        return (RunnerKind::Uvx, None, Code::Module(module.to_owned()));
    }
    let Some(at) = first_operand(words, 0, &takes) else {
        let script = option_value(words, &["-s", "--script"]);
        let code = script.map_or(Code::None, |file| Code::File(file.to_owned()));
        return (RunnerKind::Uvx, None, code);
    };
    let rest = words.get(at..).unwrap_or_default();
    let first = rest.first().map_or("", String::as_str);
    if first.ends_with(".py") {
        return (RunnerKind::Uvx, None, Code::File(first.to_owned()));
    }
    let code = interpreters::code(&base_name(first), rest.get(1..).unwrap_or_default());
    (RunnerKind::Uvx, None, code.unwrap_or(Code::None))
}

/// Options of `docker run` without a value; every other one takes the next word.
const CONTAINER_FLAGS: &[&str] = &[
    "--rm",
    "--init",
    "--privileged",
    "--read-only",
    "--detach",
    "--interactive",
    "--tty",
    "--publish-all",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--sig-proxy",
    "--quiet",
    "--replace",
    "--tls-verify",
    "--rmi",
];

fn container(words: &[String]) -> Read {
    let none = (RunnerKind::Docker, None, Code::None);
    let Some(run) = words
        .iter()
        .position(|word| word == "run" || word == "create")
    else {
        return none;
    };
    let mut at = run + 1;
    while let Some(word) = words.get(at) {
        if word == "--" {
            at += 1;
            break;
        }
        let Some(option) = word.strip_prefix('-').filter(|option| !option.is_empty()) else {
            break;
        };
        let flag = CONTAINER_FLAGS.contains(&word.as_str())
            || word.contains('=')
            || (!option.starts_with('-')
                && (option.len() > 1 || option.chars().all(|c| "ditPq".contains(c))));
        at += if flag { 1 } else { 2 };
    }
    let image = words.get(at).map(|spec| package::image(spec));
    (RunnerKind::Docker, image, Code::None)
}
