//! What a sandbox costs to start: `/bin/true` bare, in each backend that works here, and in Debian's
//! bwrap with the same grants, in turns. Read the ratios, not the times. Linux only.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench starts programs and reports"
)]

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use creance::{Grant, Launch, guarded, internal};
use tempfile::TempDir;

const ROUNDS: usize = 200;
const PATHS: &str = "/usr/local/bin:/usr/bin:/bin";

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A home with a secret, and a project below it.
struct Ground {
    _folder: TempDir,
    home: PathBuf,
    project: PathBuf,
    temp: PathBuf,
    program: PathBuf,
}

impl Ground {
    fn new() -> Outcome<Self> {
        let folder = TempDir::new()?;
        let root = folder.path().canonicalize()?;
        let at = |name: &str| root.join(name);
        for name in ["home/.ssh", "home/project/.git/hooks", "temp"] {
            fs::create_dir_all(at(name))?;
        }
        fs::write(at("home/.ssh/id"), "a secret")?;
        fs::write(at("home/project/.git/config"), "[core]\n")?;
        Ok(Self {
            home: at("home"),
            project: at("home/project"),
            temp: at("temp"),
            program: Path::new("/bin/true").canonicalize()?,
            _folder: folder,
        })
    }

    fn grant(&self) -> Grant {
        let mut grant = Grant {
            home: Some(self.home.clone()),
            write: vec![self.project.clone()],
            protect: guarded::PROTECTED
                .iter()
                .map(|name| self.project.join(name))
                .collect(),
            hide: vec![self.home.join(".ssh"), "/etc/shadow".into()],
            temp: Some(self.temp.clone()),
            ..Grant::default()
        };
        grant.env.0.insert("PATH".into(), PATHS.into());
        grant
    }

    fn launch(&self) -> Launch {
        Launch {
            program: self.program.clone(),
            name: "true".into(),
            args: Vec::new(),
            cwd: self.project.clone(),
            stamps: Vec::new(),
        }
    }

    /// The line that a person would write for the same grants.
    fn bwrap(&self) -> Command {
        let mut args: Vec<OsString> = Vec::new();
        let mut say = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        say(&["--unshare-all", "--die-with-parent", "--new-session"]);
        say(&["--cap-drop", "ALL", "--clearenv", "--setenv", "PATH", PATHS]);
        say(&["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
        say(&["--ro-bind", "/dev/null", "/etc/shadow"]);
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let [home, project, temp] = [&self.home, &self.project, &self.temp].map(|p| text(p));
        say(&["--tmpfs", "/tmp", "--tmpfs", &home]);
        say(&["--bind", &project, &project, "--bind", &temp, &temp]);
        for name in [".git/hooks", ".git/config"] {
            let path = text(&self.project.join(name));
            say(&["--ro-bind", &path, &path]);
        }
        say(&["--chdir", &project, "--"]);
        let mut command = Command::new("bwrap");
        command.args(args).arg(&self.program);
        command
    }
}

/// Runs to the end; the time until the program has ended and was waited for.
fn plain(mut command: Command) -> Outcome<Duration> {
    let begun = Instant::now();
    let ended = command.stdin(Stdio::null()).output()?;
    let took = begun.elapsed();
    if ended.status.success() {
        Ok(took)
    } else {
        Err(String::from_utf8_lossy(&ended.stderr).into_owned().into())
    }
}

fn confined(
    runtime: &tokio::runtime::Runtime,
    backend: &str,
    ground: &Ground,
) -> Outcome<Duration> {
    let (launch, grant) = (ground.launch(), ground.grant());
    runtime.block_on(async {
        let begun = Instant::now();
        let mut running = internal::start(backend, &launch, &grant).await?;
        let (_, err, exit) = running.finish(b"").await;
        let took = begun.elapsed();
        if exit.success() {
            Ok(took)
        } else {
            Err(format!("{exit} {err}").into())
        }
    })
}

/// One way to start the program.
enum Way {
    Bare,
    Backend(String),
    Bwrap,
}

impl Way {
    fn name(&self) -> &str {
        match self {
            Self::Bare => "bare spawn",
            Self::Backend(name) => name,
            Self::Bwrap => "bwrap",
        }
    }

    fn start(&self, runtime: &tokio::runtime::Runtime, ground: &Ground) -> Outcome<Duration> {
        match self {
            Self::Bare => plain(Command::new(&ground.program)),
            Self::Backend(name) => confined(runtime, name, ground),
            Self::Bwrap => plain(ground.bwrap()),
        }
    }
}

/// The ways that work here; of the others it is said why not.
fn ways(runtime: &tokio::runtime::Runtime, ground: &Ground) -> Vec<Way> {
    let backends = creance::examine().backends.into_iter();
    let all = std::iter::once(Way::Bare)
        .chain(backends.map(|backend| Way::Backend(backend.name)))
        .chain([Way::Bwrap]);
    all.filter(|way| match way.start(runtime, ground) {
        Ok(_) => true,
        Err(why) => {
            println!("skipped {}: {}", way.name(), why.to_string().trim());
            false
        }
    })
    .collect()
}

fn main() -> Outcome<()> {
    // The helper is this program again.
    creance::helper::run_if_requested();
    let ground = Ground::new()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ways = ways(&runtime, &ground);
    let mut times: Vec<Vec<Duration>> = ways.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (way, times) in ways.iter().zip(&mut times) {
            times.push(way.start(&runtime, &ground)?);
        }
    }
    let middle = |times: &mut Vec<Duration>| {
        times.sort();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    let medians: Vec<(&str, Duration)> = ways
        .iter()
        .map(Way::name)
        .zip(times.iter_mut().map(middle))
        .collect();
    let bwrap = medians
        .iter()
        .find(|(name, _)| *name == "bwrap")
        .map(|(_, time)| *time);
    for (name, time) in medians {
        let ratio = bwrap.map_or_else(
            || "no bwrap here".to_owned(),
            |bwrap| format!("{:.2} × bwrap", time.as_secs_f64() / bwrap.as_secs_f64()),
        );
        println!("{name:<22} p50 {time:>9.1?}  {ratio}");
    }
    Ok(())
}
