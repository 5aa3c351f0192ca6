//! From a definition to a start that is ready to be decided: program read and hashed, terms planned,
//! compared with what was agreed to. No effect, so dry runs use it too.

use std::path::{Path, PathBuf};

use crate::clean;
use crate::config::{self, ServerDefinition};
use crate::digest::{Digest, DigestBuilder};
use crate::disk;
use crate::disk::program::Artefact;
use crate::grant::{Confinement, Launch};
use crate::request::{
    LedgerError, Pin, PinKind, PinRecord, ProgramFacts, Risk, ServerFacts, StartServer, Transport,
};
use crate::sandbox;

use super::code;
use super::line::{Ground, Line};
use super::present::{self, StartView};
use super::private::Private;
use super::start_error::StartError;
use super::terms::{self, Wanted};

/// A start, ready to be decided.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) action: StartServer,
    pub(crate) view: StartView,
    pub(super) private: Private,
    pub(super) artefact: Artefact,
    pub(super) shown: String,
}

/// Reads and hashes what would be started, and plans its terms.
pub(crate) fn prepare(line: &Line, definition: &ServerDefinition) -> Result<Prepared, StartError> {
    let ground = &line.ground;
    let cwd = working_folder(line, definition)?;
    let subject = ground.subject(&definition.id);
    let private = Private::plan(&ground.cache, &subject)
        .map_err(|error| StartError::Path(format!("private folders: {error}")))?;
    let caches = private.npm_caches(ground.home.as_deref());
    let command = (definition.command(), &*definition.args());
    let artefact = code::find(ground, command, &cwd, (&caches, definition.network))
        .map_err(StartError::Program)?;
    let wanted = wanted(line, definition, &artefact)?;
    let (grant, wishes) = terms::terms(ground, &wanted, &private);
    let launch = Launch {
        program: artefact.program.clone(),
        name: artefact.name.clone(),
        args: artefact.args.clone(),
        cwd,
        stamps: artefact.stamps.clone(),
    };
    let plan = sandbox::plan(&line.machine, &launch, &grant).map_err(StartError::Plan)?;
    let confinement = plan.confinement().clone();
    let place = (ground, &*launch.cwd, &wanted);
    let itself = itself((&subject, definition), &artefact, place);
    let known = Known::read(line, subject)?;
    let shown = definition.shown();
    let (risks, mut warnings) = warnings(line, definition, (&artefact, &confinement));
    warnings.extend(plan.notices().iter().cloned());
    warnings.extend(terms::not_yet_hidden(&grant, &wanted));
    let started = config::started(definition.command(), &definition.args());
    let action = StartServer {
        server: known.server(definition, (&artefact, &confinement), itself),
        program: program(&launch, known.program(&artefact)),
        runner: started.runner,
        package: started.package.map(package).unwrap_or_default(),
        launch,
        grant,
        confinement,
        wishes,
        secret_names: definition.secret_names(),
        first_time: known.definition.is_none(),
        config_changed: known.config_changed(definition),
        risks,
        definition: definition.digest(),
        artefact: artefact.digest,
    };
    let view = StartView {
        origin: definition.origin.to_string(),
        configured: configured(definition, &artefact),
        env_names: definition.env.keys().cloned().collect(),
        unpinned: artefact.unpinned.clone(),
        warnings,
        difference: known.difference(&shown, &artefact),
    };
    Ok(Prepared {
        action,
        view,
        private,
        artefact,
        shown,
    })
}

/// The command line of the definition, where another is started in its place.
fn configured(definition: &ServerDefinition, artefact: &Artefact) -> Option<String> {
    let (name, args) = (definition.command(), definition.args());
    let other = (artefact.name.as_str(), &artefact.args) != (name, &args);
    other.then(|| present::words(name, &args))
}

/// What was agreed to about a server.
struct Known {
    subject: String,
    definition: Option<PinRecord>,
    artefact: Option<PinRecord>,
}

impl Known {
    fn read(line: &Line, subject: String) -> Result<Self, LedgerError> {
        let ledger = line.point.ledger();
        Ok(Self {
            definition: ledger.pin(PinKind::Definition, &subject)?,
            artefact: ledger.pin(PinKind::Artefact, &subject)?,
            subject,
        })
    }

    fn config_changed(&self, definition: &ServerDefinition) -> bool {
        let known = self.definition.as_ref();
        known.is_some_and(|pin| pin.digest != definition.digest())
    }

    /// A program that cannot be pinned whole still has a digest of what can be read: a change of
    /// that is a change, and no change of it is no match. Nor is what was agreed to for a while.
    fn program(&self, artefact: &Artefact) -> Pin {
        match (&self.artefact, artefact.digest) {
            // It could not be read when the definition was agreed to.
            (None, Some(_)) if self.definition.is_some() => Pin::Changed,
            (None, _) => Pin::Unpinned,
            (Some(known), Some(now)) if known.digest == now && known.lasting => agreed(artefact),
            (Some(known), Some(now)) if known.digest == now => Pin::Unpinned,
            (Some(_), _) => Pin::Changed,
        }
    }

    fn server(
        &self,
        definition: &ServerDefinition,
        (artefact, confinement): (&Artefact, &Confinement),
        itself: Digest,
    ) -> ServerFacts {
        let pin = match (&self.definition, self.program(artefact)) {
            (None, _) => Pin::Unpinned,
            (Some(_), _) if self.config_changed(definition) => Pin::Changed,
            (Some(_), program) => program,
        };
        ServerFacts {
            id: definition.id.clone(),
            transport: Transport::Stdio,
            pin,
            tools_pin: Pin::Unpinned,
            sandboxed: confinement.holds(),
            itself,
            subject: self.subject.clone(),
            tools: Digest::of(""),
        }
    }

    /// What is different from what was agreed to, in lines.
    fn difference(&self, shown: &str, artefact: &Artefact) -> Vec<String> {
        let definition = self.definition.as_ref();
        let mut lines =
            definition.map_or_else(Vec::new, |pin| config::difference(&pin.shown, shown));
        let Some(known) = &self.artefact else {
            return lines;
        };
        let changed = artefact
            .parts
            .iter()
            .filter(|(name, digest)| known.parts.get(*name) != Some(digest));
        lines.extend(changed.map(|(name, _)| format!("changed on disk: {name}")));
        let gone = known
            .parts
            .keys()
            .filter(|name| !artefact.parts.contains_key(*name));
        lines.extend(gone.map(|name| format!("no longer part of it: {name}")));
        lines
    }
}

/// What an answer about this server holds for. What a program that cannot be pinned runs, and what a
/// program in the project loads, hangs on the working folder: `npm run mcp` is another program in
/// each repository. Paths count as they were resolved: a link that is turned is another grant.
fn itself(
    (subject, definition): (&str, &ServerDefinition),
    artefact: &Artefact,
    (ground, cwd, wanted): (&Ground, &Path, &Wanted),
) -> Digest {
    // What lies in the project is meant in each project.
    let place = |path: &PathBuf| match (&ground.project, artefact_is_here(artefact)) {
        (Some(root), false) if path.starts_with(root) => {
            let below = path.strip_prefix(root).unwrap_or(path);
            format!("./{}", disk::path_text(below))
        }
        _ => disk::path_text(path),
    };
    let mut digest = DigestBuilder::new("server/1");
    digest.field(subject);
    digest.field(definition.digest().to_string());
    digest.list(artefact.digest.map(|digest| digest.to_string()));
    digest.field(place(&cwd.to_path_buf()));
    digest.list(wanted.read.iter().map(place));
    digest.list(wanted.write.iter().map(place));
    if let Some(sockets) = &wanted.sockets {
        digest.field("unix sockets").list(sockets.iter().map(place));
    }
    digest.finish()
}

/// Whether what runs is decided by where it runs.
fn artefact_is_here(artefact: &Artefact) -> bool {
    artefact.unpinned.is_some() || artefact.project_local
}

/// The pin of a program that was just agreed to.
pub(super) fn agreed(artefact: &Artefact) -> Pin {
    if artefact.digest.is_some() && artefact.unpinned.is_none() {
        Pin::Matched
    } else {
        Pin::Unpinned
    }
}

fn package(package: config::Package) -> (String, String) {
    (package.name, package.version)
}

fn program(launch: &Launch, pin: Pin) -> ProgramFacts {
    let name = launch
        .program
        .file_name()
        .map(Path::new)
        .unwrap_or(Path::new(""));
    ProgramFacts {
        name: disk::path_text(name),
        path: disk::path_text(&launch.program),
        pin,
    }
}

fn warnings(
    line: &Line,
    definition: &ServerDefinition,
    (artefact, confinement): (&Artefact, &Confinement),
) -> (Vec<Risk>, Vec<String>) {
    let places = &line.ground.places;
    let base = disk::path_text(line.ground.base());
    let (risks, mut warnings) = config::warnings(definition, places, &base, confinement);
    warnings.extend(
        artefact
            .warnings
            .iter()
            .map(|text| clean::line(text, 1_000)),
    );
    (risks, warnings)
}

fn working_folder(line: &Line, definition: &ServerDefinition) -> Result<PathBuf, StartError> {
    match &definition.cwd {
        Some(cwd) => resolved(line, &cwd.value, "cwd"),
        None => Ok(line.ground.base().to_path_buf()),
    }
}

fn resolved(line: &Line, text: &str, field: &str) -> Result<PathBuf, StartError> {
    disk::resolve(text, line.ground.base(), line.ground.home.as_deref())
        .map_err(|error| StartError::Path(format!("`{field}`: {error}")))
}

fn wanted(
    line: &Line,
    definition: &ServerDefinition,
    artefact: &Artefact,
) -> Result<Wanted, StartError> {
    let all = |texts: &[config::Text], field: &str| {
        texts
            .iter()
            .map(|text| resolved(line, &text.value, field))
            .collect::<Result<Vec<_>, _>>()
    };
    let mut read = all(&definition.read_paths, "readPaths")?;
    read.extend(code::folders(&line.ground, artefact));
    Ok(Wanted {
        read,
        write: all(&definition.write_paths, "writePaths")?,
        sockets: (definition.sockets.as_ref())
            .map(|sockets| all(sockets, "unixSockets"))
            .transpose()?,
        network: definition.network,
        hosts: definition.hosts.clone(),
        env: definition.environment(),
        env_facts: definition.env_facts(),
        limits: definition.limits.clone(),
        terminal: false,
    })
}
