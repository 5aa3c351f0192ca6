//! The host's side of the suite: makes a scene, starts the probe in it, passes its answers on, and
//! looks afterwards at what arrived.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::start::{Started, start};
use super::attempts;
use super::ground::Ground;
use super::probe::role;
use super::scene::{Scene, snapshot};
use super::scenes;
use super::targets::{Targets, sockets_but};
use crate::grant::{Confinement, Grant, Launch};
use crate::sandbox::escape::{Answer, Got};
use crate::sandbox::exit::Exit;
use crate::sandbox::machine::Machine;
use crate::sandbox::plan::{Backend, Plan, plan};
use crate::sandbox::spawn::Stdio;

/// Time between two answers; one attempt has five seconds.
const ANSWER_MAX: Timespec = Timespec {
    tv_sec: 20,
    tv_nsec: 0,
};

const LINE_BYTES_MAX: usize = 64 << 10;

/// Who is told of each answer, under which confinement it was got.
pub(super) type Tell<'a> = &'a mut dyn FnMut(&Confinement, Answer);

/// Tries these rows in one backend.
pub(crate) fn try_escapes(
    backend: Backend,
    ids: &[&str],
    tell: Tell<'_>,
) -> Result<Confinement, String> {
    let failed = |error: io::Error| format!("the scene cannot be made: {error}");
    let scene = Scene::new().map_err(failed)?;
    let mut targets = Targets::new(&scene).map_err(failed)?;
    scene.set_user_id_file();
    let ground = ground(backend, ids, (&scene, &targets)).map_err(failed)?;
    let grant = scene.grant().map_err(failed)?;
    let before = Before::of(&scene);
    let launch = launch(&scene, &ground).map_err(failed)?;
    let mut live = Live::start(backend, &launch, &grant)?;
    let confinement = live.confinement.clone();
    let mut sent = Vec::new();
    while let Some(answer) = live.answer() {
        if answer.got == Got::Sent {
            sent.push(answer);
        } else {
            tell(&confinement, answer);
        }
    }
    live.finish();
    for answer in sent {
        tell(&confinement, arrived(answer, &mut targets));
    }
    let wanted = |id: &str| ids.contains(&id);
    let looks = before.compare(&scene, &mut targets);
    for answer in looks.into_iter().filter(|answer| wanted(&answer.id)) {
        tell(&confinement, answer);
    }
    drop(targets);
    scenes::play(backend, ids, &mut |answer| tell(&confinement, answer))?;
    Ok(confinement)
}

fn ground(
    backend: Backend,
    ids: &[&str],
    (scene, targets): (&Scene, &Targets),
) -> io::Result<Ground> {
    let apart = |id: &str| scenes::APART.iter().any(|prefix| id.starts_with(prefix));
    let attempts = ids
        .iter()
        .filter(|id| attempts::find(id).is_some() && !apart(id));
    Ok(Ground {
        backend,
        attempts: attempts.map(|id| (*id).to_owned()).collect(),
        home: scene.home.clone(),
        project: scene.project.clone(),
        outside: scene.outside.clone(),
        hidden: scene.hidden.clone(),
        temp: scene.temp.clone(),
        ports: targets.ports()?,
        process: targets.process(),
        name: targets.name.clone(),
        sysv: targets.sysv,
        sockets: sockets_but(Some(scene.root())),
        devices: attempts::nodes("/dev".as_ref()),
        absent: attempts::absent(),
    })
}

pub(super) fn launch(scene: &Scene, ground: &Ground) -> io::Result<Launch> {
    let text = serde_json::to_string(ground).map_err(io::Error::other)?;
    scene.launch(role::TRY, text)
}

/// What was sent without an error: whether it arrived.
fn arrived(mut answer: Answer, targets: &mut Targets) -> Answer {
    let open = match answer.id.as_str() {
        "udp-host" => targets.datagram_came(),
        _ => !targets.process_lives(),
    };
    answer.got = if open { Got::Through } else { Got::Stopped };
    answer.detail = if open {
        "it arrived"
    } else {
        "nothing arrived"
    }
    .to_owned();
    answer
}

type Snapshot = Vec<(PathBuf, Vec<u8>)>;

/// What the host looked like before.
struct Before {
    outside: Snapshot,
    hidden: Snapshot,
    home: Snapshot,
    guarded: Snapshot,
}

impl Before {
    fn of(scene: &Scene) -> Self {
        Self {
            outside: snapshot(&scene.outside),
            hidden: snapshot(&scene.hidden),
            home: home(scene),
            guarded: guarded(scene),
        }
    }

    fn compare(&self, scene: &Scene, targets: &mut Targets) -> Vec<Answer> {
        let after = Self::of(scene);
        let changed = |id, before: &Snapshot, after: &Snapshot| {
            let new = after.iter().find(|entry| !before.contains(entry));
            let gone = before.iter().find(|entry| !after.contains(entry));
            let what = new.or(gone).map(|(path, _)| path.display().to_string());
            open_if(id, what.is_some(), what.unwrap_or_default())
        };
        let (network, local) = (targets.connections(), targets.local_connections());
        let came = |id, count: usize| open_if(id, count > 0, format!("{count} came"));
        let left = [".creance", ".mcp.json", ".git2", ".vscode", ".cursor"]
            .iter()
            .find(|name| scene.project.join(name).symlink_metadata().is_ok());
        vec![
            changed("host-outside", &self.outside, &after.outside),
            changed("host-hidden", &self.hidden, &after.hidden),
            changed("host-home", &self.home, &after.home),
            changed("host-guarded", &self.guarded, &after.guarded),
            came("host-network", network),
            came("host-sockets", local),
            open_if("host-process", !targets.process_lives(), "it lives"),
            open_if("host-memory", !targets.memory_is_whole(), "it is as it was"),
            open_if(
                "host-leftovers",
                left.is_some(),
                left.map_or(String::new(), |name| format!("`{name}` was left")),
            ),
        ]
    }
}

/// The home folder without the project.
fn home(scene: &Scene) -> Snapshot {
    let mut all = snapshot(&scene.home);
    all.retain(|(path, _)| !path.starts_with(&scene.project));
    all
}

fn guarded(scene: &Scene) -> Snapshot {
    let git = scene.project.join(".git");
    let mut all = snapshot(&git.join("hooks"));
    all.extend(std::fs::read(git.join("config")).map(|text| (git.join("config"), text)));
    all
}

/// A probe that runs.
pub(super) struct Live {
    started: Started,
    out: Option<File>,
    rest: Vec<u8>,
    /// What its sandbox holds.
    pub(super) confinement: Confinement,
    /// What was said about its grant.
    pub(super) notices: Vec<String>,
}

impl Live {
    /// Starts it.
    pub(super) fn start(backend: Backend, launch: &Launch, grant: &Grant) -> Result<Self, String> {
        let machine = Machine::only(backend.name());
        let plan = plan(&machine, launch, grant).map_err(|error| error.to_string())?;
        Self::of(&plan)
    }

    /// The same of a plan.
    pub(super) fn of(plan: &Plan) -> Result<Self, String> {
        let mut started = start(plan, Stdio::Piped).map_err(|error| error.to_string())?;
        let out = started.child.stdout.take();
        Ok(Self {
            out: out.map(|out| File::from(std::os::fd::OwnedFd::from(out))),
            started,
            rest: Vec::new(),
            confinement: plan.confinement().clone(),
            notices: plan.notices().to_vec(),
        })
    }

    /// The next line of its output.
    pub(super) fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            let out = self.out.as_mut()?;
            let mut fds = [PollFd::new(&*out, PollFlags::IN)];
            if poll(&mut fds, Some(&ANSWER_MAX)) == Ok(0) || self.rest.len() > LINE_BYTES_MAX {
                // It hangs, or floods.
                self.out = None;
                self.kill();
                return None;
            }
            let mut part = [0; 4096];
            match out.read(&mut part) {
                Ok(0) | Err(_) => self.out = None,
                Ok(count) => self.rest.extend(part.iter().take(count)),
            }
        }
    }

    /// The next answer.
    pub(super) fn answer(&mut self) -> Option<Answer> {
        loop {
            let line = self.line()?;
            if let Ok(answer) = serde_json::from_str(&line) {
                return Some(answer);
            }
        }
    }

    /// Lets the program end by itself.
    pub(super) fn close_input(&mut self) {
        self.started.stdin = None;
    }

    /// The helper's process.
    pub(super) fn helper(&self) -> Option<rustix::process::Pid> {
        let pid = i32::try_from(self.started.child.id()).ok()?;
        rustix::process::Pid::from_raw(pid)
    }

    /// Kills everything.
    pub(super) fn kill(&mut self) {
        let _ = self.started.control.shutdown(std::net::Shutdown::Both);
    }

    /// Waits for its end and says how it was told.
    pub(super) fn finish(mut self) -> Option<Exit> {
        self.close_input();
        let mut told = String::new();
        let _ = self.started.control.read_to_string(&mut told);
        let _ = self.started.child.wait();
        serde_json::from_str(told.lines().next()?).ok()
    }
}

/// Through when something is so that must not be so.
#[expect(
    clippy::fn_params_excessive_bools,
    reason = "it is the condition itself"
)]
pub(super) fn open_if(id: &str, open: bool, detail: impl Into<String>) -> Answer {
    let got = if open { Got::Through } else { Got::Stopped };
    Answer::new(id, got, detail)
}
