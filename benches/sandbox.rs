//! What a sandbox costs to start: `/bin/true` bare, in each backend that works here, and in Debian's
//! bwrap, in turns: with a line that shows the same view, and with the short one that people write.
//! Read the ratios to the first, not the times. Linux only.
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
    /// What bwrap loads as its filter of system calls.
    filter: PathBuf,
}

impl Ground {
    fn new() -> Outcome<Self> {
        // Best in memory (`TMPDIR`): ext4 looks for a free inode among all that were deleted in the
        // last minutes, and many starts in a row would measure that.
        let folder = TempDir::new()?;
        let root = folder.path().canonicalize()?;
        let at = |name: &str| root.join(name);
        for name in ["home/.ssh", "home/project/.git/hooks", "temp"] {
            fs::create_dir_all(at(name))?;
        }
        fs::write(at("home/.ssh/id"), "a secret")?;
        fs::write(at("home/project/.git/config"), "[core]\n")?;
        fs::write(at("filter"), filter())?;
        Ok(Self {
            home: at("home"),
            project: at("home/project"),
            temp: at("temp"),
            program: Path::new("/bin/true").canonicalize()?,
            filter: at("filter"),
            _folder: folder,
        })
    }

    fn grant(&self) -> Grant {
        let mut grant = Grant {
            home: Some(self.home.clone()),
            write: vec![self.project.clone()],
            protect: self.guarded().collect(),
            hide: vec![self.home.join(".ssh"), "/etc/shadow".into()],
            temp: Some(self.temp.clone()),
            ..Grant::default()
        };
        grant.env.0.insert("PATH".into(), PATHS.into());
        grant
    }

    /// What a server's sandbox guards in this project.
    fn guarded(&self) -> impl Iterator<Item = PathBuf> {
        let names = guarded::GUARDED_ABSENT.iter();
        names.map(|name| self.project.join(name))
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

    /// A line for the same view and the same guards, or one that a person would write. Neither has a
    /// counterpart of Landlock and of the limits.
    fn bwrap(&self, line: BwrapLine) -> Outcome<Command> {
        let mut args: Vec<OsString> = Vec::new();
        let mut say = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        say(&["--unshare-all", "--die-with-parent", "--new-session"]);
        say(&["--cap-drop", "ALL", "--clearenv", "--setenv", "PATH", PATHS]);
        say(&["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
        say(&["--ro-bind", "/dev/null", "/etc/shadow"]);
        let empty = EMPTY.iter().filter(|path| Path::new(path).is_dir());
        for path in empty.filter(|_| line == BwrapLine::Same) {
            say(&["--tmpfs", path, "--remount-ro", path]);
        }
        if line == BwrapLine::Same {
            say(&["--tmpfs", "/var/tmp"]);
            say(&["--tmpfs", "/dev/shm"]);
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let [home, project, temp] = [&self.home, &self.project, &self.temp].map(|p| text(p));
        say(&["--tmpfs", "/tmp", "--tmpfs", &home]);
        say(&["--bind", &project, &project, "--bind", &temp, &temp]);
        for path in self.guarded() {
            let absent = !path.exists();
            let file = guarded::PROTECTED_FILES
                .iter()
                .any(|name| path.ends_with(name));
            let path = text(&path);
            match (absent, file) {
                (false, _) => say(&["--ro-bind", &path, &path]),
                (true, _) if line == BwrapLine::Short => {}
                (true, true) => say(&["--ro-bind", "/dev/null", &path]),
                (true, false) => say(&["--tmpfs", &path, "--remount-ro", &path]),
            }
        }
        say(&["--chdir", &project]);
        if line == BwrapLine::Same {
            say(&["--seccomp", "0"]);
        }
        say(&["--"]);
        let mut command = Command::new("bwrap");
        command.args(args).arg(&self.program);
        command.stdin(match line {
            BwrapLine::Same => Stdio::from(fs::File::open(&self.filter)?),
            BwrapLine::Short => Stdio::null(),
        });
        Ok(command)
    }
}

/// A filter of system calls with as many steps as a sandbox has, none of which `/bin/true` takes.
fn filter() -> Vec<u8> {
    // The classic BPF of `linux/filter.h`: load the number; where it is this one, refuse; let pass.
    const LOAD: (u16, [u8; 2]) = (0x20, [0, 0]);
    const IS: (u16, [u8; 2]) = (0x15, [0, 1]);
    const RETURN: (u16, [u8; 2]) = (0x06, [0, 0]);
    const REFUSE: u32 = 0x0005_0001;
    const ALLOW: u32 = 0x7fff_0000;
    let step = |(code, jumps): (u16, [u8; 2]), value: u32| {
        let value = value.to_ne_bytes();
        [&code.to_ne_bytes()[..], &jumps, &value].concat()
    };
    let refused = (0..240).flat_map(|number| {
        let never = 100_000 + number;
        [step(IS, never), step(RETURN, REFUSE)]
    });
    let steps = std::iter::once(step(LOAD, 0))
        .chain(refused)
        .chain([step(RETURN, ALLOW)]);
    steps.flatten().collect()
}

/// What every sandbox shows as an empty folder.
const EMPTY: [&str; 7] = [
    "/home",
    "/root",
    "/run",
    "/sys/fs/cgroup",
    "/sys/fs/bpf",
    "/sys/kernel/debug",
    "/sys/firmware",
];

#[derive(Clone, Copy, PartialEq)]
enum BwrapLine {
    Same,
    Short,
}

/// Runs to the end; the time until the program has ended and was waited for.
fn plain(mut command: Command) -> Outcome<Duration> {
    let begun = Instant::now();
    let ended = command.output()?;
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
    Bwrap(BwrapLine),
}

impl Way {
    fn name(&self) -> &str {
        match self {
            Self::Bare => "bare spawn",
            Self::Backend(name) => name,
            Self::Bwrap(BwrapLine::Same) => "bwrap",
            Self::Bwrap(BwrapLine::Short) => "bwrap, short line",
        }
    }

    fn start(&self, runtime: &tokio::runtime::Runtime, grounds: &[Ground; 2]) -> Outcome<Duration> {
        // Bwrap leaves its mount points behind.
        let [ground, of_bwrap] = grounds;
        match self {
            Self::Bare => {
                let mut command = Command::new(&ground.program);
                command.stdin(Stdio::null());
                plain(command)
            }
            Self::Backend(name) => confined(runtime, name, ground),
            Self::Bwrap(line) => plain(of_bwrap.bwrap(*line)?),
        }
    }
}

/// The ways that work here; of the others it is said why not.
fn ways(runtime: &tokio::runtime::Runtime, grounds: &[Ground; 2]) -> Vec<Way> {
    let backends = creance::examine().backends.into_iter();
    let all = std::iter::once(Way::Bare)
        .chain(backends.map(|backend| Way::Backend(backend.name)))
        .chain([BwrapLine::Same, BwrapLine::Short].map(Way::Bwrap));
    all.filter(|way| match way.start(runtime, grounds) {
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
    let grounds = [Ground::new()?, Ground::new()?];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ways = ways(&runtime, &grounds);
    let mut times: Vec<Vec<Duration>> = ways.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (way, times) in ways.iter().zip(&mut times) {
            times.push(way.start(&runtime, &grounds)?);
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
