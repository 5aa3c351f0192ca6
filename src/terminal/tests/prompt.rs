//! The prompt at a real pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use super::*;
use crate::request::{Asked, Detail};

fn question(title: &str) -> Question {
    Question {
        id: "q1".to_owned(),
        action: "exec.run".to_owned(),
        asked: Asked {
            title: title.to_owned(),
            details: vec![Detail::new("command", "rm -rf target\u{1b}[1A")],
            complete: true,
            ..Asked::default()
        },
        because: Vec::new(),
        longest: Answer::Remembered,
        scopes: vec!["this command".to_owned(), "all of them".to_owned()],
        asker: "you".to_owned(),
    }
}

/// A pseudo-terminal: what the prompt writes, and a person's keys.
struct Person {
    keys: File,
    screen: Receiver<String>,
    seen: String,
    /// Kept open, so that the terminal lives as long as the test.
    device: File,
    prompt: Prompt,
}

impl Person {
    fn new(guard: Duration) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let path = PathBuf::from(name.to_str().unwrap());
        let device = File::options().read(true).write(true).open(&path).unwrap();
        let keys = File::from(master);
        let mut output = keys.try_clone().unwrap();
        let (send, screen) = channel();
        // Ends when the device is closed.
        std::thread::spawn(move || {
            let mut bytes = [0; 1024];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                let _ = send.send(String::from_utf8_lossy(&bytes[..read]).into_owned());
            }
        });
        let prompt = Prompt {
            path,
            guard,
            colour: Colour::Plain,
            turn: Arc::default(),
        };
        Self {
            keys,
            screen,
            seen: String::new(),
            device,
            prompt,
        }
    }

    fn type_keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    fn wait_for(&mut self, text: &str) {
        while !self.seen.contains(text) {
            let more = self.screen.recv_timeout(Duration::from_secs(20));
            self.seen += &more.unwrap_or_else(|_| panic!("{text:?} is not in {:?}", self.seen));
        }
    }

    fn echoes(&self) -> bool {
        let modes = tcgetattr(self.device.as_fd()).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }

    /// Asks, and does what the person does meanwhile.
    fn ask(&mut self, act: impl FnOnce(&mut Self)) -> Option<(Answer, usize)> {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let prompt = Prompt {
            path: self.prompt.path.clone(),
            turn: Arc::clone(&self.prompt.turn),
            ..self.prompt
        };
        let asking = runtime.spawn(async move { prompt.ask(&question("Run a command")).await });
        act(self);
        let reply = runtime.block_on(asking).unwrap()?;
        assert_eq!(reply.channel, Channel::Terminal);
        Some((reply.answer, reply.scope))
    }
}

const READY: &str = "[N]o: ";

#[test]
fn keys_answer() {
    fn check(keys: &str, want: (Answer, usize)) {
        let mut person = Person::new(Duration::ZERO);
        let got = person.ask(|person| {
            person.wait_for(READY);
            assert!(!person.echoes(), "keys come one by one");
            person.type_keys(keys);
        });
        assert_eq!(got, Some(want), "{keys:?}");
        assert!(person.echoes(), "the modes are back after {keys:?}");
    }
    check("o\r", (Answer::Once, 0));
    check("session\r2\r", (Answer::Session, 1));
    check("a\r\r", (Answer::Remembered, 0));
    check("\r", (Answer::None, 0));
    check("\u{3}", (Answer::None, 0));
    check("o\u{4}", (Answer::None, 0));
    check("s\r\u{3}", (Answer::None, 0));
}

#[test]
fn the_question_is_on_the_screen_and_harmless() {
    let mut person = Person::new(Duration::ZERO);
    person.ask(|person| {
        person.wait_for(READY);
        person.type_keys("\r");
    });
    assert!(
        person.seen.contains("? Run a command\r\n"),
        "{:?}",
        person.seen
    );
    assert!(
        person.seen.contains("│ rm -rf target<escape>[1A\r\n"),
        "{:?}",
        person.seen
    );
    assert!(!person.seen.contains('\u{1b}'));
}

/// Keys typed before the question could be read answer nothing.
#[test]
fn a_yes_typed_ahead_is_thrown_away() {
    let mut person = Person::new(Duration::from_millis(100));
    person.type_keys("o\r");
    let got = person.ask(|person| {
        person.wait_for("rm -rf target");
        person.type_keys("o\r");
        person.wait_for(READY);
        person.type_keys("\r");
    });
    assert_eq!(got, Some((Answer::None, 0)));
}

#[test]
fn a_withdrawn_question_leaves_the_terminal() {
    let mut person = Person::new(Duration::ZERO);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for title in ["first", "second"] {
        let turn = Arc::clone(&person.prompt.turn);
        let path = person.prompt.path.clone();
        let asking = runtime.spawn(async move {
            let prompt = Prompt {
                path,
                turn,
                guard: Duration::ZERO,
                colour: Colour::Plain,
            };
            prompt.ask(&question(title)).await
        });
        person.wait_for(&format!("? {title}"));
        person.wait_for(READY);
        asking.abort();
        person.wait_for("(answered elsewhere, or out of time)");
        person.seen.clear();
    }
    // The thread gives the turn back once the modes are restored.
    let _turn = runtime.block_on(person.prompt.turn.lock());
    assert!(person.echoes());
}

/// Whoever comes next, such as the command that was asked about, finds the terminal as it was.
#[test]
fn the_modes_are_back_when_the_question_is_dropped() {
    let person = Person::new(Duration::ZERO);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let asked = question("Run a command");
    for _ in 0..20 {
        let asking = person.prompt.ask(&asked);
        let limit = Duration::from_millis(5);
        let out_of_time = runtime.block_on(async { tokio::time::timeout(limit, asking).await });
        assert!(out_of_time.is_err());
        assert!(person.echoes());
    }
}

#[test]
fn where_there_is_no_terminal_nobody_is_there() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let prompt = Prompt {
        path: file.path().to_owned(),
        ..Prompt::new(Colour::Plain)
    };
    assert!(!prompt.attended());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    assert_eq!(runtime.block_on(prompt.ask(&question("x"))), None);
}
