//! The ground that a sandbox stands on: other processes that change the project while it is set up,
//! second names, bind mounts, the network, the terminal.
#![expect(unsafe_code, reason = "mounts, terminals and raw system calls")]

use std::fs;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use creance::{Network, internal};

use crate::world::{World, backends, block_on, run, snapshot, uid};

const LAUNCHES: usize = 50;
/// Sets another number of starts: `CREANCE_RACE_LAUNCHES=200 cargo test --test sandbox -- race`.
pub(crate) const LAUNCHES_VARIABLE: &str = "CREANCE_RACE_LAUNCHES";

fn namespaces() -> Vec<String> {
    backends()
        .into_iter()
        .filter(|name| name != "linux-landlock")
        .collect()
}

/// While another process swaps folders and links in the project, a start works or fails by name;
/// nothing lands outside, no guard goes elsewhere.
pub(crate) fn race() {
    for backend in namespaces() {
        let world = World::new();
        let outside = snapshot(&world.outside);
        let key = snapshot(&world.home.join(".ssh"));
        let launches = std::env::var(LAUNCHES_VARIABLE).ok();
        let launches = launches.map_or(LAUNCHES, |number| number.parse().unwrap());
        let mut swapper = Command::new(std::env::current_exe().unwrap())
            .args(["ground", "swap", world.home.to_str().unwrap()])
            .spawn()
            .unwrap();
        let started = (0..launches).filter(|_| starts(&backend, &world)).count();
        assert!(
            swapper.try_wait().unwrap().is_none(),
            "nothing was swapped any more"
        );
        swapper.kill().unwrap();
        swapper.wait().unwrap();
        let refused = launches - started;
        assert_eq!(
            snapshot(&world.outside),
            outside,
            "{backend}: outside changed"
        );
        assert_eq!(
            snapshot(&world.home.join(".ssh")),
            key,
            "{backend}: the key changed"
        );
        assert!(started > 0, "{backend}: nothing could start");
        println!("  {backend}: {started} started, {refused} refused, nothing landed outside");
    }
}

/// One start, which writes where guards should be; whether it was not refused by name.
fn starts(backend: &str, world: &World) -> bool {
    let script = "for f in .git/hooks .git .creance .vscode sub; do
            echo evil > $f/evil; echo evil > $f/pre-commit; done 2>/dev/null
        cat .ssh/id_rsa sub/id_rsa .creance/id_rsa 2>/dev/null; echo end";
    let mut grant = world.grant();
    // A granted folder that is a link by the time it is mounted.
    let _ = fs::create_dir(world.project.join("sub"));
    grant.write.push(world.project.join("sub"));
    match run(backend, &world.shell(script), &grant) {
        Ok(out) => {
            assert!(!out.out.contains("SECRET"), "{backend}: {}", out.out);
            true
        }
        Err(error) => {
            assert!(
                error.contains("could not be set up: "),
                "{backend}: {error}"
            );
            false
        }
    }
}

/// What another sandbox with the same project could do: only names inside the project.
fn swap(world: &World) {
    let at = |name: &str| world.project.join(name);
    let outside = &world.outside;
    let ssh = world.home.join(".ssh");
    loop {
        for (name, target) in [
            (".creance", outside),
            (".vscode", &ssh),
            ("sub", outside),
            (".git/hooks", outside),
        ] {
            let _ = fs::rename(at(name), at("aside"));
            let _ = symlink(target, at(name));
            std::thread::yield_now();
            let _ = fs::remove_file(at(name));
            let _ = fs::rename(at("aside"), at(name));
            let _ = fs::create_dir(at(name));
        }
        let _ = fs::rename(at(".git"), at("git-aside"));
        let _ = symlink(outside, at(".git"));
        std::thread::yield_now();
        let _ = fs::remove_file(at(".git"));
        let _ = fs::rename(at("git-aside"), at(".git"));
    }
}

/// A guarded or hidden file that has a second name is said.
pub(crate) fn second_names() {
    let world = World::new();
    let notices = |launch: &creance::Launch| {
        block_on(async {
            let mut running = internal::start("auto", launch, &world.grant())
                .await
                .unwrap();
            running.finish(b"").await;
            running.notices.clone()
        })
    };
    let launch = world.shell("true");
    assert_eq!(notices(&launch), Vec::<String>::new());
    let hook = world.project.join(".git/hooks/pre-commit");
    fs::hard_link(&hook, world.project.join("second")).unwrap();
    fs::hard_link(world.project.join(".env"), world.project.join("env2")).unwrap();
    let said = notices(&launch);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].contains(hook.to_str().unwrap()) && said[0].contains("written"),
        "{said:?}"
    );
    assert!(
        said[1].contains(".env") && said[1].contains("read"),
        "{said:?}"
    );
}

/// Another mount of a hidden folder hides it as well; so does one of a folder inside it.
pub(crate) fn aliases() {
    if uid() != 0 {
        println!("skipped aliases: mounts need root");
        return;
    }
    let world = World::new();
    let at = |name: &str| -> PathBuf {
        let path = world.project.join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let inner = world.home.join(".ssh/inner");
    fs::DirBuilder::new().mode(0o755).create(&inner).unwrap();
    fs::write(inner.join("key"), "SECRET-INNER").unwrap();
    let mounts = [
        Bind::new(&world.home.join(".ssh"), &at("whole")),
        Bind::new(&inner, &at("part")),
        Bind::new(&world.home, &at("above")),
    ];
    if mounts.iter().any(Option::is_none) {
        println!("skipped aliases: mounts are refused here");
        return;
    }
    for backend in namespaces() {
        let script = "cat whole/id_rsa part/key above/.ssh/id_rsa above/.ssh/inner/key; echo end";
        let out = run(&backend, &world.shell(script), &world.grant()).unwrap();
        assert_eq!(out.out, "end\n", "{backend}");
    }
}

struct Bind(PathBuf);

impl Bind {
    fn new(from: &Path, to: &Path) -> Option<Self> {
        rustix::mount::mount_bind(from, to).ok()?;
        Some(Self(to.to_owned()))
    }
}

impl Drop for Bind {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
    }
}

/// The whole network, when it is granted: the machine's own, and nothing else opens with it.
pub(crate) fn whole_network() {
    for backend in backends() {
        let world = World::new();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let reach = |network| {
            let mut grant = world.grant();
            grant.network = network;
            let mut launch = world.shell("");
            launch.program = std::env::current_exe().unwrap();
            launch.args = ["ground", "connect", &port].map(str::to_owned).to_vec();
            run(&backend, &launch, &grant).unwrap().out
        };
        assert_eq!(
            reach(Network::Whole),
            "reached\nunix refused\n",
            "{backend}"
        );
        listener.accept().unwrap();
        listener.set_nonblocking(true).unwrap();
        assert_eq!(
            reach(Network::None),
            "not reached\nunix refused\n",
            "{backend}"
        );
        assert!(listener.accept().is_err(), "{backend}: it came through");
    }
}

/// On a terminal: the program has it, and cannot type into it.
pub(crate) fn terminal() {
    for backend in backends() {
        let world = World::new();
        let (main, name) = open_terminal();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["ground", "terminal", &backend])
            .arg(&name)
            .arg(&world.home)
            .env_remove("TMPDIR")
            .status()
            .unwrap();
        let mut out = vec![0; 4096];
        let length = rustix::io::read(&main, &mut out).unwrap_or(0);
        let out = String::from_utf8_lossy(&out[..length]).into_owned();
        assert!(status.success(), "{backend}: {status} {out}");
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(
            lines,
            [
                "tty true",
                if backend == "linux-landlock" {
                    "named /dev/pts/"
                } else {
                    "named /dev/console"
                },
                "same session true",
                "typed refused refused",
                "left 0",
                "exited with code 3"
            ],
            "{backend}"
        );
    }
}

fn open_terminal() -> (rustix::fd::OwnedFd, String) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&main).unwrap();
    unlockpt(&main).unwrap();
    let name = ptsname(&main, Vec::new()).unwrap();
    (main, name.into_string().unwrap())
}

/// The roles above, in processes of their own.
pub(crate) fn main(args: &[String]) {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["connect", port] => connect(port.parse().unwrap()),
        ["say", port] => crate::way_out::say(port),
        ["terminal", backend, name, home] => on_terminal(backend, name, Path::new(home)),
        ["typist", session] => typist(session),
        ["swap", home] => swap(&World::at(Path::new(home))),
        other => panic!("{other:?}"),
    }
}

fn connect(port: u16) {
    let wait = std::time::Duration::from_secs(1);
    let reached = std::net::TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), wait);
    println!(
        "{}",
        if reached.is_ok() {
            "reached"
        } else {
            "not reached"
        }
    );
    // SAFETY: takes no pointers.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0) };
    println!("unix {}", if socket < 0 { "refused" } else { "open" });
}

/// A shell's place: a session of its own on the terminal, from which a sandbox is started.
fn on_terminal(backend: &str, name: &str, _home: &Path) {
    rustix::process::setsid().unwrap();
    let flags = rustix::fs::OFlags::RDWR;
    let terminal = rustix::fs::open(name, flags, rustix::fs::Mode::empty()).unwrap();
    rustix::process::ioctl_tiocsctty(&terminal).unwrap();
    rustix::stdio::dup2_stdin(&terminal).unwrap();
    rustix::stdio::dup2_stdout(&terminal).unwrap();
    rustix::stdio::dup2_stderr(&terminal).unwrap();
    let world = World::new();
    let mut grant = world.grant();
    grant.terminal = true;
    let mut launch = world.shell("");
    launch.program = std::env::current_exe().unwrap();
    let session = rustix::process::getsid(None).unwrap().as_raw_nonzero();
    launch.args = ["ground", "typist", &session.to_string()]
        .map(str::to_owned)
        .to_vec();
    let exit = block_on(async {
        let mut running = internal::start_here(backend, &launch, &grant)
            .await
            .unwrap();
        running.wait().await
    });
    println!("left {}", rustix::io::ioctl_fionread(&terminal).unwrap());
    println!("{exit}");
}

/// Inside: looks at its terminal and tries to type into it.
fn typist(session: &str) {
    println!("tty {}", rustix::termios::isatty(rustix::stdio::stdin()));
    // Found by the C library's search, as shells and editors do.
    let stdin = std::process::Stdio::inherit();
    let name = Command::new("tty").stdin(stdin).output().unwrap().stdout;
    let name = String::from_utf8(name).unwrap();
    // Without a view of its own it is that of the machine.
    println!(
        "named {}",
        name.trim().trim_end_matches(|c: char| c.is_ascii_digit())
    );
    // In a process namespace the session of a process outside has the number 0.
    // SAFETY: takes no pointers.
    let own = unsafe { libc::getsid(0) };
    println!("same session {}", own == 0 || own.to_string() == session);
    let key = b"\n";
    let typed = [libc::TIOCSTI as i64, 0x1_0000_0000 | libc::TIOCSTI as i64].map(|request| {
        // SAFETY: the key outlives the call.
        let done = unsafe { libc::syscall(libc::SYS_ioctl, 0, request, key.as_ptr()) };
        if done < 0 { "refused" } else { "done" }
    });
    println!("typed {} {}", typed[0], typed[1]);
    std::process::exit(3);
}
