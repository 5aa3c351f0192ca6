//! What a process under a grant can read and connect to: found out by trying, file by file.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::host::Live;
use super::probe::{PROBE, role};
use super::targets::sockets_but;
use crate::grant::{Grant, Launch};
use crate::sandbox::machine::Machine;
use crate::sandbox::plan::plan;
use crate::sandbox::reach::Reached;

/// More would not fit into an argument.
const FILES_MAX: usize = 400;

#[derive(Debug, Serialize, Deserialize)]
struct Places {
    files: Vec<PathBuf>,
    sockets: Vec<PathBuf>,
}

/// Tries these files, and the sockets of this machine, under a grant.
pub(crate) fn reach(
    machine: &Machine,
    cwd: &Path,
    (grant, files): (&Grant, &[PathBuf]),
) -> Result<Reached, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut grant = grant.clone();
    grant.read.push(program.clone());
    let places = Places {
        files: files.iter().take(FILES_MAX).cloned().collect(),
        sockets: sockets_but(None),
    };
    let text = serde_json::to_string(&places).map_err(|error| error.to_string())?;
    let launch = Launch {
        program,
        name: PROBE.to_owned(),
        args: vec![role::REACH.to_owned(), text],
        cwd: cwd.to_owned(),
        stamps: Vec::new(),
    };
    let plan = plan(machine, &launch, &grant).map_err(|error| error.to_string())?;
    let mut live = Live::of(&plan)?;
    let said = live.line();
    let (confinement, notices) = (live.confinement.clone(), live.notices.clone());
    live.finish();
    let said = said.ok_or("the probe gave no answer")?;
    let found: Places = serde_json::from_str(&said).map_err(|error| error.to_string())?;
    Ok(Reached {
        confinement,
        notices,
        tried: places.files.len(),
        files: found.files,
        tried_sockets: places.sockets.len(),
        sockets: found.sockets,
    })
}

/// Inside: says which of them it got.
pub(super) fn run(places: &[u8]) -> i32 {
    let Ok(mut places) = serde_json::from_slice::<Places>(places) else {
        return 2;
    };
    places.files.retain(|path| opens(path));
    places
        .sockets
        .retain(|path| super::attempts::connects(path));
    let Ok(line) = serde_json::to_string(&places) else {
        return 2;
    };
    let _ = writeln!(io::stdout().lock(), "{line}");
    0
}

/// Whether something of it can be read: a byte of a file, a name in a folder.
fn opens(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => File::open(path).is_ok_and(|mut file| file.read(&mut [0; 1]).is_ok()),
    }
}
