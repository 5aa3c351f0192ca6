//! Interpreters and where each finds its code: a file, a module, or the arguments themselves.

/// The code that an interpreter runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// None that can be named: no interpreter, or an interactive one, or one that reads its input.
    None,
    /// A script file as written.
    File(String),
    /// A Python module.
    Module(String),
    /// Shell code in the arguments.
    Shell(String),
    /// Other code in the arguments.
    Inline(String),
}

struct Interpreter {
    names: &'static [&'static str],
    /// Letters of options whose value is code.
    inline: &'static str,
    /// Letters of options whose value is a module.
    module: &'static str,
    /// Letters of other options with a value.
    takes: &'static str,
    /// Long options whose value is code.
    inline_long: &'static [&'static str],
    /// Other long options with a value.
    takes_long: &'static [&'static str],
    /// First words that name a job and not a file.
    jobs: &'static [&'static str],
}

const NONE: Interpreter = Interpreter {
    names: &[],
    inline: "",
    module: "",
    takes: "",
    inline_long: &[],
    takes_long: &[],
    jobs: &[],
};

const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh",
];

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: SHELLS,
        inline: "c",
        takes: "oO",
        inline_long: &["--command"],
        takes_long: &["--rcfile", "--init-file"],
        ..NONE
    },
    Interpreter {
        names: &["node", "nodejs", "tsx", "ts-node"],
        inline: "ep",
        takes: "rC",
        inline_long: &["--eval", "--print"],
        takes_long: &[
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "--conditions",
            "--env-file",
            "--input-type",
            "--title",
            "--icu-data-dir",
            "--openssl-config",
            "--tsconfig",
            "--project",
        ],
        jobs: &["watch"],
        ..NONE
    },
    Interpreter {
        names: &["python", "pypy"],
        inline: "c",
        module: "m",
        takes: "WXQ",
        takes_long: &["--check-hash-based-pycs"],
        ..NONE
    },
    Interpreter {
        names: &["bun"],
        inline: "ep",
        takes: "rc",
        inline_long: &["--eval", "--print"],
        takes_long: &[
            "--preload",
            "--require",
            "--import",
            "--config",
            "--cwd",
            "--env-file",
            "--tsconfig-override",
        ],
        jobs: &["run"],
        ..NONE
    },
    Interpreter {
        names: &["deno"],
        takes: "cL",
        takes_long: &[
            "--config",
            "--import-map",
            "--lock",
            "--cert",
            "--location",
            "--seed",
            "--env-file",
        ],
        jobs: &["run", "serve"],
        ..NONE
    },
    Interpreter {
        names: &["perl"],
        inline: "eE",
        takes: "IMm",
        ..NONE
    },
    Interpreter {
        names: &["ruby"],
        inline: "e",
        takes: "IrCE",
        ..NONE
    },
    Interpreter {
        names: &["php"],
        inline: "rBE",
        takes: "cdz",
        ..NONE
    },
    Interpreter {
        names: &["lua", "luajit", "Rscript", "julia", "elixir", "groovy"],
        inline: "e",
        takes: "lL",
        ..NONE
    },
    Interpreter {
        names: &["java"],
        takes_long: &[
            "-cp",
            "-classpath",
            "--class-path",
            "-p",
            "--module-path",
            "-m",
            "--module",
        ],
        ..NONE
    },
    Interpreter {
        names: &["osascript", "awk", "gawk", "mawk"],
        inline: "e",
        takes: "lvF",
        ..NONE
    },
    Interpreter {
        names: &["pwsh", "powershell"],
        inline_long: &["-Command", "-command", "-c", "-EncodedCommand", "-enc"],
        takes_long: &["-ExecutionPolicy", "-ep", "-WorkingDirectory"],
        ..NONE
    },
];

/// The code that `name` with these arguments runs; `None` when `name` is no interpreter.
pub(crate) fn code(name: &str, args: &[String]) -> Option<Code> {
    let plain = without_version(name);
    let interpreter = INTERPRETERS
        .iter()
        .find(|i| i.names.contains(&plain) || i.names.contains(&name))?;
    let shell = SHELLS.contains(&plain);
    if plain == "deno" && args.first().is_some_and(|job| job == "eval") {
        return Some(Code::Inline(args.get(1).cloned().unwrap_or_default()));
    }
    Some(walk(
        interpreter,
        args,
        if shell { Code::Shell } else { Code::Inline },
    ))
}

/// Whether a program is a shell.
pub(crate) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&without_version(name))
}

/// `python3.12` is a Python.
fn without_version(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if stem.is_empty() { name } else { stem }
}

fn walk(interpreter: &Interpreter, args: &[String], inline: fn(String) -> Code) -> Code {
    let mut at = 0;
    let mut jobs = interpreter.jobs;
    while let Some(word) = args.get(at) {
        let next = || args.get(at + 1).cloned().unwrap_or_default();
        if word == "--" {
            return args
                .get(at + 1)
                .map_or(Code::None, |file| Code::File(file.clone()));
        }
        if jobs.contains(&word.as_str()) {
            jobs = &[];
            at += 1;
            continue;
        }
        if word == "-" || !word.starts_with(['-', '+']) {
            return operand(word);
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        if interpreter.inline_long.contains(&name) {
            return inline(value.unwrap_or_else(next));
        }
        if interpreter.takes_long.contains(&name) {
            at += 1 + usize::from(value.is_none());
            continue;
        }
        match letters(interpreter, word) {
            Letters::Flags => at += 1,
            Letters::Value => at += 2,
            Letters::Code(code) if !code.is_empty() => return inline(code),
            Letters::Code(_) => return inline(shell_code(interpreter, args, at + 1)),
            Letters::Module(module) if !module.is_empty() => return Code::Module(module),
            Letters::Module(_) => return Code::Module(next()),
        }
    }
    Code::None
}

fn operand(word: &str) -> Code {
    // `-` is standard input.
    if word == "-" {
        return Code::None;
    }
    Code::File(word.to_owned())
}

/// A shell takes its code from the first word behind all options (`sh -c -e CODE`).
fn shell_code(interpreter: &Interpreter, args: &[String], from: usize) -> String {
    let mut rest = args.get(from..).unwrap_or_default().iter();
    let found = if interpreter.names == SHELLS {
        rest.find(|word| !word.starts_with('-'))
    } else {
        rest.next()
    };
    found.cloned().unwrap_or_default()
}

enum Letters {
    Flags,
    /// The next word is its value.
    Value,
    Code(String),
    Module(String),
}

/// Reads `-Ic`, `-lc`, `-W ignore`, `-cprint(1)`.
fn letters(interpreter: &Interpreter, word: &str) -> Letters {
    if word.starts_with("--") {
        return Letters::Flags;
    }
    // Only these take the code glued to the letter; for others what follows are more flags.
    let glued = ["python", "perl", "ruby", "php", "pypy"]
        .iter()
        .any(|name| interpreter.names.contains(name));
    let mut chars = word.chars();
    chars.next();
    while let Some(c) = chars.next() {
        let rest = chars.as_str();
        if interpreter.inline.contains(c) {
            return Letters::Code(if glued {
                rest.to_owned()
            } else {
                String::new()
            });
        }
        if interpreter.module.contains(c) {
            return Letters::Module(rest.to_owned());
        }
        if interpreter.takes.contains(c) {
            return if rest.is_empty() {
                Letters::Value
            } else {
                Letters::Flags
            };
        }
    }
    Letters::Flags
}
