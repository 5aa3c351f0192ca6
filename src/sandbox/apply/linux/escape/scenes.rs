//! Attempts that need more than one look inside: ends of a tree, two sandboxes at a time, grants that
//! changed since they were given, hostile names, a terminal.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ground::{Ground, Ports, SysV};
use super::host::open_if;
use super::host::{Live, launch};
use super::probe::{FORGED_END, role};
use super::scene::{Scene, snapshot};
use super::{attempts, terminal};
use crate::sandbox::escape::{Answer, Got};
use crate::sandbox::plan::Backend;

/// Attempts that are made in a scene of their own.
pub(super) const APART: &[&str] = &["neighbour-", "limit-", "terminal-"];

/// How long a tree may take to die.
const DEADLINE: Duration = Duration::from_secs(3);

/// What tells answers on.
type Tell<'a> = &'a mut dyn FnMut(Answer);

/// A scene that gives one answer.
type Play = fn(Backend, &str) -> Result<Answer, String>;

const SCENES: &[(&str, Play)] = &[
    ("told-end", told_end),
    ("daemon-target-exits", |backend, id| {
        daemon(backend, id, Live::close_input)
    }),
    ("daemon-killed", |backend, id| {
        daemon(backend, id, Live::kill)
    }),
    ("daemon-helper-killed", |backend, id| {
        daemon(backend, id, kill_helper)
    }),
    ("second-name-said", second_name),
    ("swapped-grant", swapped),
    ("linked-hooks", linked_hooks),
    ("odd-names", odd_names),
    ("name-not-text", not_text),
    ("pattern-as-path", pattern),
    ("helper-by-hand", by_hand),
];

/// Plays those that are wanted.
pub(super) fn play(backend: Backend, ids: &[&str], tell: Tell<'_>) -> Result<(), String> {
    for (id, scene) in SCENES.iter().filter(|(id, _)| ids.contains(id)) {
        let answer = scene(backend, id).unwrap_or_else(|error| {
            Answer::new(id, Got::Through, format!("the scene failed: {error}"))
        });
        tell(answer);
    }
    let of = |prefix: &str| -> Vec<String> {
        let such = ids.iter().filter(|id| id.starts_with(prefix));
        such.map(|id| (*id).to_owned()).collect()
    };
    let visits = of("neighbour-");
    if !visits.is_empty() {
        visit(backend, visits, tell)?;
    }
    let spent = of("limit-");
    if !spent.is_empty() {
        let scene = Scene::new().map_err(|error| error.to_string())?;
        let grant = scene.small_grant().map_err(|error| error.to_string())?;
        for answer in tried(backend, &scene, (spent, &grant))? {
            tell(answer);
        }
    }
    let typed = of("terminal-");
    if !typed.is_empty() {
        terminal::play(backend, &typed, tell)?;
    }
    Ok(())
}

/// Everything that a plain scene can be told about.
pub(super) fn ground_of(backend: Backend, scene: &Scene, attempts: Vec<String>) -> Ground {
    Ground {
        backend,
        attempts,
        home: scene.home.clone(),
        project: scene.project.clone(),
        outside: scene.outside.clone(),
        hidden: scene.hidden.clone(),
        temp: scene.temp.clone(),
        ports: Ports {
            tcp: 9,
            tcp6: None,
            udp: 9,
        },
        process: 1,
        name: String::new(),
        sysv: SysV {
            memory: -1,
            queue: -1,
            semaphore: -1,
        },
        sockets: Vec::new(),
        devices: Vec::new(),
        absent: Vec::new(),
    }
}

type Wanted<'a> = (Vec<String>, &'a crate::grant::Grant);

/// Makes attempts in a scene and gives the answers.
fn tried(backend: Backend, scene: &Scene, (ids, grant): Wanted<'_>) -> Result<Vec<Answer>, String> {
    let ground = ground_of(backend, scene, ids);
    let launch = launch(scene, &ground).map_err(|error| error.to_string())?;
    let mut live = Live::start(backend, &launch, grant)?;
    let answers = std::iter::from_fn(|| live.answer()).collect();
    live.finish();
    Ok(answers)
}

/// Through when one of the answers is not what it must be.
fn all_as(id: &str, answers: &[Answer], want: &[(&str, Got)]) -> Answer {
    let wrong = want.iter().find(|(name, got)| {
        let answer = answers.iter().find(|answer| answer.id == *name);
        answer.is_none_or(|answer| answer.got != *got)
    });
    let detail = wrong.map_or(String::new(), |(name, _)| format!("`{name}` went wrong"));
    open_if(id, wrong.is_some(), detail)
}

fn made() -> Result<(Scene, crate::grant::Grant), String> {
    let scene = Scene::new().map_err(|error| error.to_string())?;
    let grant = scene.grant().map_err(|error| error.to_string())?;
    Ok((scene, grant))
}

fn told_end(backend: Backend, id: &str) -> Result<Answer, String> {
    let (scene, grant) = made()?;
    let launch = scene.launch(role::FORGE, String::new());
    let live = Live::start(backend, &launch.map_err(|e| e.to_string())?, &grant)?;
    let told = live.finish();
    let code = told.and_then(|exit| exit.code);
    let what = told.map_or_else(|| "nothing".to_owned(), |exit| exit.to_string());
    Ok(open_if(
        id,
        code != Some(FORGED_END),
        format!("it was told as it was: {what}"),
    ))
}

fn kill_helper(live: &mut Live) {
    if let Some(helper) = live.helper() {
        let _ = rustix::process::kill_process(helper, rustix::process::Signal::KILL);
    }
}

/// A daemon that detached from everything counts in a file; after the end it must stand still.
fn daemon(backend: Backend, id: &str, end: fn(&mut Live)) -> Result<Answer, String> {
    let (scene, grant) = made()?;
    let beat = scene.project.join("beat");
    let launch = scene.launch(role::DAEMON, beat.to_string_lossy().into_owned());
    let mut live = Live::start(backend, &launch.map_err(|e| e.to_string())?, &grant)?;
    if live.line().as_deref() != Some("up") {
        return Ok(Answer::new(id, Got::Skipped, "the daemon did not come up"));
    }
    end(&mut live);
    live.finish();
    let silent = silent(&beat);
    // A daemon that was missed stops when it cannot write any more.
    let away = scene.home.join("away");
    if fs::rename(&scene.project, away).is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(open_if(
        id,
        !silent,
        if silent {
            "nothing is left"
        } else {
            "the daemon lives"
        },
    ))
}

fn silent(file: &Path) -> bool {
    const LOOK: Duration = Duration::from_millis(60);
    let mut last = fs::read(file).ok();
    let mut waited = Duration::ZERO;
    while waited < DEADLINE {
        std::thread::sleep(LOOK);
        waited += LOOK;
        let now = fs::read(file).ok();
        if now == last {
            return true;
        }
        last = now;
    }
    false
}

/// A guarded file that has another name can be written through that: it is said before the start.
fn second_name(backend: Backend, id: &str) -> Result<Answer, String> {
    let (scene, grant) = made()?;
    let hook = scene.project.join(".git/hooks/pre-commit");
    fs::hard_link(hook, scene.project.join("second")).map_err(|error| error.to_string())?;
    let launch = scene.launch(role::WAIT, String::new());
    let live = Live::start(backend, &launch.map_err(|e| e.to_string())?, &grant)?;
    let said = live
        .notices
        .iter()
        .any(|notice| notice.contains("pre-commit"));
    live.finish();
    Ok(open_if(
        id,
        !said,
        if said {
            "it is said"
        } else {
            "nothing was said"
        },
    ))
}

/// A granted folder was replaced by a link since it was granted.
fn swapped(backend: Backend, id: &str) -> Result<Answer, String> {
    let (scene, grant) = made()?;
    let granted = scene.project.join("granted");
    let swap = fs::remove_dir(&granted).and_then(|()| symlink(&scene.outside, &granted));
    swap.map_err(|error| error.to_string())?;
    let before = snapshot(&scene.outside);
    let wanted = vec!["write-granted".to_owned()];
    let detail = match tried(backend, &scene, (wanted, &grant)) {
        Err(refused) => refused,
        Ok(answers) => answers.into_iter().map(|answer| answer.detail).collect(),
    };
    Ok(open_if(id, snapshot(&scene.outside) != before, detail))
}

/// `.git/hooks` is a link: it starts, what it leads to is guarded, the link stays.
fn linked_hooks(backend: Backend, id: &str) -> Result<Answer, String> {
    let (scene, grant) = made()?;
    let (git, shared) = (scene.project.join(".git"), scene.project.join("shared"));
    let swap = fs::create_dir(&shared)
        .and_then(|()| fs::rename(git.join("hooks"), shared.join("hooks")))
        .and_then(|()| symlink("../shared/hooks", git.join("hooks")));
    swap.map_err(|error| error.to_string())?;
    let before = snapshot(&shared);
    let names = [
        "create-hook",
        "append-hook",
        "remove-hook",
        "rename-into-hooks",
        "remove-hooks",
        "write-project",
    ];
    let wanted = names.map(str::to_owned).to_vec();
    let answers = tried(backend, &scene, (wanted, &grant))?;
    let want = names.map(|name| {
        let got = if name == "write-project" {
            Got::Through
        } else {
            Got::Stopped
        };
        (name, got)
    });
    let answer = all_as(id, &answers, &want);
    let changed = snapshot(&shared) != before || !git.join("hooks").is_symlink();
    Ok(match answer.got {
        Got::Stopped => open_if(id, changed, "the link and what it leads to stay"),
        _ => answer,
    })
}

/// Names that would end a rule, a line or a word of some other language.
const NAMES: &[&str] = &[
    "a\"b) (allow default",
    "back\\slash\\",
    "line\nbreak",
    " blanks, $(commas);'quotes' ",
    "%s%n{}\t",
    "ünï\u{202e}cödé",
];

fn odd_names(backend: Backend, id: &str) -> Result<Answer, String> {
    for name in NAMES {
        let (mut scene, _) = made()?;
        let odd = scene.home.join(name);
        fs::rename(&scene.project, &odd).map_err(|error| error.to_string())?;
        scene.project = odd;
        let grant = scene.grant().map_err(|error| error.to_string())?;
        let want = [
            ("write-project", Got::Through),
            ("write-granted", Got::Through),
            ("write-outside", Got::Stopped),
            ("create-hook", Got::Stopped),
            ("read-env-file", Got::Stopped),
        ];
        let wanted = want.map(|(name, _)| name.to_owned()).to_vec();
        let answers = tried(backend, &scene, (wanted, &grant))?;
        let answer = all_as(id, &answers, &want);
        if answer.got != Got::Stopped {
            let detail = format!("in a folder called {name:?}: {}", answer.detail);
            return Ok(Answer::new(id, Got::Through, detail));
        }
    }
    Ok(Answer::new(
        id,
        Got::Stopped,
        format!("{} names are only names", NAMES.len()),
    ))
}

/// Started all the same, something else would have been granted.
fn refused(backend: Backend, id: &str, path: PathBuf) -> Result<Answer, String> {
    let (scene, mut grant) = made()?;
    grant.write.push(path);
    let launch = scene.launch(role::WAIT, String::new());
    match Live::start(backend, &launch.map_err(|e| e.to_string())?, &grant) {
        Err(error) => Ok(Answer::new(id, Got::Stopped, error)),
        Ok(live) => {
            live.finish();
            Ok(Answer::new(id, Got::Through, "it was started"))
        }
    }
}

fn not_text(backend: Backend, id: &str) -> Result<Answer, String> {
    let name = std::ffi::OsStr::from_bytes(b"/tmp/not-\xff-text");
    refused(backend, id, name.into())
}

fn pattern(backend: Backend, id: &str) -> Result<Answer, String> {
    refused(backend, id, "/tmp/creance-escape-none/**".into())
}

/// The helper's way in, used by somebody who is not Creance.
#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox is what starts processes"
)]
fn by_hand(_: Backend, id: &str) -> Result<Answer, String> {
    use std::os::unix::process::CommandExt as _;
    let output = std::process::Command::new("/proc/self/exe")
        .arg0(super::super::start::HELPER)
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let refused = output.status.code() == Some(super::super::entry::FAILED);
    Ok(open_if(id, !refused, said))
}

/// A second sandbox beside the first.
fn visit(backend: Backend, ids: Vec<String>, tell: Tell<'_>) -> Result<(), String> {
    let (first, grant) = made()?;
    let temp = first.temp.to_string_lossy().into_owned();
    let launch = first.launch(role::HOLD, temp).map_err(|e| e.to_string())?;
    let mut live = Live::start(backend, &launch, &grant)?;
    let held = live.line().unwrap_or_default();
    let (second, grant) = made()?;
    let told = serde_json::from_str::<attempts::Held>(&held).map_err(|e| e.to_string());
    let told = told.and_then(|_| {
        fs::write(second.outside.join(attempts::NEIGHBOUR), &held)
            .map_err(|e: io::Error| e.to_string())
    });
    let answers = told.and_then(|()| tried(backend, &second, (ids, &grant)));
    live.finish();
    for answer in answers? {
        tell(answer);
    }
    Ok(())
}
