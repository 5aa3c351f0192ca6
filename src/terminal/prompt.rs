//! The terminal that a command owns. Never stdin or stdout: those may carry a protocol, and a
//! piped "yes" is nobody's answer.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tokio::sync::Mutex;

use crate::request::{Answer, Approver, Channel, Question, Reply};

use super::dialogue::{Dialogue, Step};
use super::editor::{Editor, Key};
use super::line::Line;
use super::os::{Cancel, Cancelled, Stop, Tty, cancel_pair, owns_terminal};
use super::render::render;

/// Whether colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Plain,
    /// ANSI colours.
    Ansi,
}

/// Asks at the controlling terminal, one question after the other.
///
/// Only for commands that own the terminal. Input that was typed before the question could be read
/// is thrown away; an empty line, Ctrl-C and Ctrl-D mean "no".
#[derive(Debug)]
pub struct Prompt {
    path: PathBuf,
    guard: Duration,
    colour: Colour,
    turn: Arc<Mutex<()>>,
}

impl Prompt {
    /// For this long after a question appears, keys are thrown away: they were meant for something
    /// else.
    pub const GUARD: Duration = Duration::from_millis(500);

    /// A prompt at the controlling terminal.
    #[must_use]
    pub fn new(colour: Colour) -> Self {
        Self {
            path: PathBuf::from("/dev/tty"),
            guard: Self::GUARD,
            colour,
            turn: Arc::default(),
        }
    }

    async fn put(&self, question: &Question) -> Option<Reply> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let (cancel, cancelled) = cancel_pair().ok()?;
        let (inside, left) = channel::<()>();
        let talk = Talk {
            path: self.path.clone(),
            guard: self.guard,
            colour: self.colour,
            question: question.clone(),
        };
        let visit = Visit {
            cancel: Some(cancel),
            left,
        };
        // The thread keeps the turn: a withdrawn question has left the terminal before the next
        // one enters it.
        let said = tokio::task::spawn_blocking(move || {
            let said = talk.run(&cancelled);
            drop((turn, inside));
            said
        })
        .await;
        drop(visit);
        let (answer, scope) = said.ok().flatten()?;
        Some(Reply {
            answer,
            scope,
            channel: Channel::Terminal,
        })
    }
}

impl Approver for Prompt {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'a>> {
        Box::pin(self.put(question))
    }

    fn attended(&self) -> bool {
        owns_terminal(&self.path)
    }
}

/// Dropping it withdraws the question, and waits until the terminal is as it was: whoever comes
/// next, for example the command that was asked about, may set modes of its own.
struct Visit {
    cancel: Option<Cancel>,
    left: Receiver<()>,
}

/// Leaving takes no longer unless the thread could not even start.
const LEAVE_MAX: Duration = Duration::from_millis(200);

impl Drop for Visit {
    fn drop(&mut self) {
        drop(self.cancel.take());
        // The thread never sends; it hangs up when it is out.
        let _ = self.left.recv_timeout(LEAVE_MAX);
    }
}

/// One question at the terminal, on a thread of its own.
struct Talk {
    path: PathBuf,
    guard: Duration,
    colour: Colour,
    question: Question,
}

impl Talk {
    /// `None`: the terminal is gone or the question was withdrawn.
    fn run(&self, cancelled: &Cancelled) -> Option<(Answer, usize)> {
        let mut tty = Tty::open(&self.path, cancelled).ok()?;
        match self.converse(&mut tty) {
            Ok(said) => {
                tty.write_if_possible("\n");
                Some(said)
            }
            Err(Stop::Withdrawn) => {
                tty.write_if_possible("\n  (answered elsewhere, or out of time)\n");
                None
            }
            Err(Stop::Gone) => None,
        }
    }

    fn converse(&self, tty: &mut Tty<'_>) -> Result<(Answer, usize), Stop> {
        let lines = render(&self.question, tty.width());
        tty.write(&format!("\n{}", self.text(&lines)))?;
        tty.wait(self.guard)?;
        tty.discard_input();
        let mut dialogue = Dialogue::new(&self.question);
        let mut editor = Editor::default();
        tty.write(&self.paint(&dialogue.prompt()))?;
        loop {
            let mut keys = [0; 64];
            let read = tty.read(&mut keys)?;
            for byte in keys.into_iter().take(read) {
                let step = match editor.key(byte) {
                    Key::Ignored => Step::More(String::new()),
                    Key::Echo(echo) => Step::More(echo),
                    Key::Quit => Step::Done(Answer::None, 0),
                    Key::Line(line) => self.step(dialogue.line(&line), &dialogue),
                };
                match step {
                    Step::Done(answer, scope) => return Ok((answer, scope)),
                    Step::More(text) => tty.write(&text)?,
                }
            }
        }
    }

    fn step(&self, step: Step<Vec<Line>>, dialogue: &Dialogue<'_>) -> Step<String> {
        match step {
            Step::Done(answer, scope) => Step::Done(answer, scope),
            Step::More(lines) => {
                let prompt = self.paint(&dialogue.prompt());
                Step::More(format!("\n{}{prompt}", self.text(&lines)))
            }
        }
    }

    fn text(&self, lines: &[Line]) -> String {
        lines.iter().map(|line| self.paint(line) + "\n").collect()
    }

    fn paint(&self, line: &Line) -> String {
        match self.colour {
            Colour::Plain => line.to_string(),
            Colour::Ansi => line.coloured(),
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
#[path = "tests/prompt.rs"]
mod tests;
