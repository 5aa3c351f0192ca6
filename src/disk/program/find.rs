//! From a command line to the files that hold its code.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::clean;
use crate::config::{Code, Package, Started, started};
use crate::grant::Network;
use crate::request::RunnerKind;

use super::artefact::{Artefact, ProgramError, shown};
use super::{node, os, python, search};

/// A command as it is to be started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The program as configured.
    pub(crate) command: &'a str,
    /// Its arguments.
    pub(crate) args: &'a [String],
    /// The working folder, absolute.
    pub(crate) cwd: &'a Path,
    /// The folders of programs that the process will have (`PATH`).
    pub(crate) path: &'a str,
    /// The user's home folder.
    pub(crate) home: &'a Path,
    /// The project's root.
    pub(crate) project: Option<&'a Path>,
    /// The caches of npm that the process can read, the one it writes first.
    pub(crate) npm_caches: &'a [PathBuf],
    /// The network that the process will have.
    pub(crate) network: Network,
}

/// Finds and hashes what a command runs.
///
/// # Errors
/// When there is no such program, it cannot be executed or not be read.
pub(crate) fn find(wanted: &Wanted<'_>) -> Result<Artefact, ProgramError> {
    let line = started(wanted.command, wanted.args);
    if let Some(artefact) = wanted.without_npx(&line) {
        return Ok(artefact);
    }
    let found = search::program(wanted.command, wanted.cwd, wanted.path)?;
    let program = fs::canonicalize(&found).map_err(|cause| ProgramError {
        command: wanted.command.to_owned(),
        why: format!("cannot be resolved: {cause}"),
    })?;
    let mut artefact = Artefact::new(program, wanted.command, wanted.args.to_vec());
    let mut interpreter = found.clone();
    wanted.executable(&mut artefact, "program", &found);
    if !starts_what_was_hashed(&artefact) {
        return Err(ProgramError {
            command: wanted.command.to_owned(),
            why: "changes while it is read; try again".to_owned(),
        });
    }
    if line.program != wanted.command {
        match search::program(&line.program, wanted.cwd, wanted.path) {
            Ok(inner) => {
                wanted.executable(&mut artefact, "inner program", &inner);
                interpreter = inner;
            }
            Err(error) => artefact.leave_out(error.to_string()),
        }
    }
    wanted.code(&mut artefact, &line, &interpreter);
    Ok(artefact.finish())
}

/// The file that a command names, links followed.
///
/// # Errors
/// When there is no such program.
pub(crate) fn locate(command: &str, cwd: &Path, path: &str) -> Result<PathBuf, ProgramError> {
    let found = search::program(command, cwd, path)?;
    fs::canonicalize(&found).map_err(|cause| ProgramError {
        command: command.to_owned(),
        why: format!("cannot be resolved: {cause}"),
    })
}

/// A link on the way to the program may be turned between finding and hashing it.
fn starts_what_was_hashed(artefact: &Artefact) -> bool {
    let hashed = artefact.stamps.first().map(|stamp| &stamp.path);
    !artefact.parts.contains_key("program") || hashed == Some(&artefact.program)
}

impl Wanted<'_> {
    /// `npx PACKAGE` where the package is there and npx would not look for a newer one, or must not:
    /// node starts it at once. With hosts decided one by one, a package that was named without a
    /// version stays the one that was fetched first, and a later start needs no network. npx itself would write to its cache and ask the registry before it starts what is
    /// there already, so it needs rights that the package does not; and what was hashed is what runs.
    fn without_npx(&self, line: &Started) -> Option<Artefact> {
        let package = line.package.as_ref()?;
        let is_npx = line.wrappers.is_empty() && line.program.rsplit('/').next() == Some("npx");
        let stays = match self.network {
            Network::None => true,
            Network::Hosts => package.pinned || package.version.is_empty(),
            Network::Whole => package.pinned,
        };
        if !is_npx || !stays {
            return None;
        }
        let spec = spec(package);
        if node::local(&spec, self.cwd).is_some() {
            return None;
        }
        let rest = node::behind(self.args, &spec)?;
        let folder = node::cached(&spec, self.npm_caches)?;
        let script = node::start_file(&folder, package.name.as_str())?;
        let found = search::program("node", self.cwd, self.path).ok()?;
        let program = fs::canonicalize(&found).ok()?;
        let args = std::iter::once(script.to_str()?.to_owned()).chain(rest.iter().cloned());
        let mut artefact = Artefact::new(program, "node", args.collect());
        self.executable(&mut artefact, "program", &found);
        if !starts_what_was_hashed(&artefact) {
            return None;
        }
        node::add_cached(&mut artefact, &folder, &spec);
        Some(artefact.finish())
    }

    /// Adds a file that the system executes; for a script also its interpreter and package.
    fn executable(&self, artefact: &mut Artefact, part: &str, file: &Path) {
        self.attention(artefact, file);
        artefact.add_file(part, file);
        if file
            .parent()
            .is_some_and(|folder| folder.ends_with("shims"))
        {
            let file = shown(file);
            artefact.leave_out(format!("{file} chooses the real program when it starts"));
        }
        let Some((program, argument)) = head(file).as_deref().and_then(search::shebang) else {
            return;
        };
        // `#!/usr/bin/env -S node --flag`
        let argument = argument.unwrap_or_default();
        let words: Vec<String> = argument.split_whitespace().map(str::to_owned).collect();
        let line = started(&program, &words);
        artefact.add_file("interpreter", Path::new(&program));
        let mut interpreter = PathBuf::from(&program);
        if line.program != program {
            match search::program(&line.program, self.cwd, self.path) {
                Ok(inner) => {
                    artefact.add_file("interpreter", &inner);
                    interpreter = inner;
                }
                Err(error) => artefact.leave_out(error.to_string()),
            }
        }
        match language(&line.program) {
            Language::Node => node::surroundings(artefact, file, &self.stops()),
            Language::Python => match python::starter_module(file) {
                Some(module) => {
                    python::module(artefact, &module, &interpreter, &[]);
                }
                None => python::locks(artefact, file, &self.stops()),
            },
            Language::Other => {}
        }
    }

    fn code(&self, artefact: &mut Artefact, line: &Started, interpreter: &Path) {
        match &line.code {
            Code::Shell(_) | Code::Inline(_) => artefact
                .leave_out("its code stands in the arguments, and what that starts is not hashed"),
            Code::File(file) => self.script(artefact, line, file),
            Code::Module(name) => {
                for file in python::module(artefact, name, interpreter, &[self.cwd]) {
                    self.attention(artefact, &file);
                }
            }
            Code::None => self.package(artefact, line),
        }
        if matches!(line.runner, RunnerKind::Uvx) && line.code != Code::None {
            artefact.leave_out("uv brings the script's packages up to date when it starts");
        }
    }

    fn script(&self, artefact: &mut Artefact, line: &Started, argument: &str) {
        let language = language(&line.program);
        let file = match language {
            Language::Node => node::script(argument, self.cwd),
            Language::Python | Language::Other => Some(self.cwd.join(argument)),
        };
        let Some(file) = file.filter(|file| file.exists()) else {
            let argument = clean::line(argument, 300);
            artefact.leave_out(format!("the script `{argument}` was not found"));
            return;
        };
        // `python folder`: its `__main__.py`.
        if file.is_dir() {
            let file = shown(&file);
            artefact.leave_out(format!(
                "{file} is a folder, and what it runs cannot be told"
            ));
            return;
        }
        self.attention(artefact, &file);
        artefact.add_file("script", &file);
        match language {
            Language::Node => node::surroundings(artefact, &file, &self.stops()),
            Language::Python => python::locks(artefact, &file, &self.stops()),
            Language::Other => {}
        }
    }

    /// What package runners start, as far as it is there before they start it.
    fn package(&self, artefact: &mut Artefact, line: &Started) {
        let program = clean::line(&line.program, 300);
        match (line.runner, &line.package) {
            (RunnerKind::Binary | RunnerKind::Remote, _) => {}
            (RunnerKind::Npx, Some(package)) if is_npm(&line.program) => {
                node::npx(artefact, &spec(package), self.cwd, self.npm_caches);
            }
            (RunnerKind::Npx | RunnerKind::Uvx | RunnerKind::Pipx, _) => artefact.leave_out(format!(
                "`{program}` fetches or builds the package when it starts; install it and name its program to pin it"
            )),
            (RunnerKind::Docker, Some(image)) if image.pinned => {}
            (RunnerKind::Docker, _) => {
                artefact.leave_out("the image is not named by its digest (`name@sha256:…`)");
            }
            (RunnerKind::Cargo, _) => {
                artefact.leave_out(format!("`{program}` builds the program when it starts"));
            }
            (RunnerKind::Script, _) => {
                artefact.leave_out(format!("what `{program}` runs cannot be told before"));
            }
        }
    }

    fn attention(&self, artefact: &mut Artefact, file: &Path) {
        let Ok(real) = fs::canonicalize(file) else {
            return;
        };
        if self
            .project
            .is_some_and(|project| real.starts_with(project))
        {
            artefact.project_local = true;
            let file = shown(file);
            artefact.warn(format!(
                "{file} lies in the project, where the agent may change it"
            ));
        }
        for path in [Some(real.as_path()), real.parent()].into_iter().flatten() {
            if fs::metadata(path).is_ok_and(|metadata| os::is_open_to_all(&metadata)) {
                artefact.warn(format!(
                    "every user of this machine may change {}",
                    shown(path)
                ));
            }
        }
    }

    /// Lock files above these folders are somebody else's.
    fn stops(&self) -> Vec<&Path> {
        [Some(self.home), self.project]
            .into_iter()
            .flatten()
            .collect()
    }
}

fn spec(package: &Package) -> node::Spec<'_> {
    node::Spec {
        name: &package.name,
        version: &package.version,
        pinned: package.pinned,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Node,
    Python,
    Other,
}

fn language(program: &str) -> Language {
    const NODE: &[&str] = &["node", "nodejs", "deno", "bun", "tsx", "ts-node"];
    let name = program.rsplit('/').next().unwrap_or(program);
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if NODE.contains(&plain) {
        return Language::Node;
    }
    if matches!(plain, "python" | "pypy" | "uv") {
        return Language::Python;
    }
    Language::Other
}

fn is_npm(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("npx" | "npm"))
}

/// The first bytes of a file: enough for the line that names an interpreter (`BINPRM_BUF_SIZE`).
fn head(file: &Path) -> Option<Vec<u8>> {
    const HEAD: u64 = 256;
    let mut bytes = Vec::new();
    os::open(file)
        .ok()?
        .take(HEAD)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}
