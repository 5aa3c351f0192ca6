//! `creance approve`: shows the questions that wait in other processes and answers them.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use creance::{
    Answer, ApprovalError, ApprovalOutcome, Approver, Line, Prompt, Reply, Tone, Waiting, render,
    scan_questions, send_answer,
};

use super::paint::Paint;

/// Shows the questions that wait in other processes, and answers them.
///
/// Without options, each waiting question is shown in full and asked at this terminal. Exit code 0:
/// answered, or nothing waits; 4: questions wait and none was answered.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  creance approve --follow                     answer questions as they come, until Ctrl-C
  creance approve --list                       show what waits
  creance approve --list --json                the same, one JSON object a line
  creance approve --answer session --id 3f9c   answer one question without a terminal")]
pub(crate) struct ApproveArgs {
    /// Show the waiting questions and answer none
    #[arg(long)]
    list: bool,

    /// Print one JSON object a line for each waiting question, and answer none
    #[arg(long)]
    json: bool,

    /// Go on as new questions come, until Ctrl-C
    #[arg(short, long)]
    follow: bool,

    /// Give this answer to the question named by --id, without asking
    #[arg(long, value_enum, requires = "id", conflicts_with_all = ["list", "json", "follow"])]
    answer: Option<Word>,

    /// The question: its id, or a beginning of it that no other has (at least 4 characters)
    #[arg(long, requires = "answer")]
    id: Option<String>,

    /// What the answer covers: a number from the question's list
    #[arg(long, requires = "answer", default_value_t = 1, value_name = "N")]
    scope: usize,
}

/// An answer as it is typed.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Word {
    /// This request alone
    Once,
    /// Until the asking process ends
    Session,
    /// Until it is revoked or the request changes
    Always,
    /// No
    No,
}

impl Word {
    fn answer(self) -> Answer {
        match self {
            Self::Once => Answer::Once,
            Self::Session => Answer::Session,
            Self::Always => Answer::Remembered,
            Self::No => Answer::None,
        }
    }
}

/// Runs the command on the sockets in this folder; returns the exit code.
pub(crate) async fn run(args: ApproveArgs, folder: &Path) -> u8 {
    let paint = Paint::for_stdout();
    let prompt = Prompt::new(paint.colour);
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let mut desk = Desk {
        folder,
        paint,
        asker: &prompt,
        out: &mut out,
        err: &mut err,
        said: BTreeSet::new(),
    };
    desk.run(args).await
}

/// Nothing went wrong, and nothing waits for this person.
const DONE: u8 = 0;
const FAILED: u8 = 1;
const NEEDS_ANSWER: u8 = 4;

/// How long until the sockets are looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Where the command reads, asks and writes.
struct Desk<'a> {
    folder: &'a Path,
    paint: Paint,
    asker: &'a dyn Approver,
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    /// Problems that were reported: each is once, however often the sockets are looked at.
    said: BTreeSet<String>,
}

/// Why the command ends early.
enum Failure {
    /// This is to be said.
    Said(String),
    /// Nobody reads the output any more.
    Output,
}

impl From<io::Error> for Failure {
    fn from(_: io::Error) -> Self {
        Self::Output
    }
}

impl From<ApprovalError> for Failure {
    fn from(error: ApprovalError) -> Self {
        Self::Said(error.to_string())
    }
}

impl Desk<'_> {
    async fn run(&mut self, args: ApproveArgs) -> u8 {
        let ended = match (args.answer, &args.id) {
            (Some(word), Some(id)) => self.answer_one(word.answer(), id, args.scope).await,
            _ if args.json || args.list => self.list(&args).await,
            _ => self.ask_all(&args).await,
        };
        match ended {
            Ok(code) => code,
            Err(Failure::Output) => FAILED,
            Err(Failure::Said(why)) => {
                // Nothing is left to be done when even this fails.
                let _ = writeln!(self.err, "creance approve: {why}");
                FAILED
            }
        }
    }

    async fn scan(&mut self) -> Result<Vec<Waiting>, Failure> {
        let (waiting, problems) = scan_questions(self.folder).await?;
        for problem in problems {
            let problem = problem.to_string();
            if self.said.insert(problem.clone()) {
                writeln!(self.err, "creance approve: {problem}")?;
            }
        }
        Ok(waiting)
    }

    async fn list(&mut self, args: &ApproveArgs) -> Result<u8, Failure> {
        let mut shown = BTreeSet::new();
        loop {
            let mut waiting = self.scan().await?;
            let none = waiting.is_empty();
            waiting.retain(|one| shown.insert(one.question().id.clone()));
            waiting.iter().try_for_each(|one| self.show(one, args))?;
            match (args.follow, none) {
                (true, _) => tokio::time::sleep(LOOK_AGAIN).await,
                (false, true) if args.json => return Ok(DONE),
                (false, true) => return self.nothing_waits(),
                (false, false) => return Ok(NEEDS_ANSWER),
            }
        }
    }

    fn nothing_waits(&mut self) -> Result<u8, Failure> {
        writeln!(self.out, "no questions are waiting")?;
        Ok(DONE)
    }

    fn show(&mut self, waiting: &Waiting, args: &ApproveArgs) -> Result<(), Failure> {
        if args.json {
            let json = serde_json::to_string(waiting).map_err(io::Error::from)?;
            writeln!(self.out, "{json}")?;
        } else {
            self.show_text(waiting)?;
        }
        Ok(self.out.flush()?)
    }

    fn show_text(&mut self, waiting: &Waiting) -> Result<(), Failure> {
        let mut lines = render(waiting.question(), self.paint.width);
        lines.extend(covers(waiting));
        let mut id = Line::new(Tone::Quiet, "  id ");
        id.push_untrusted(Tone::Plain, &waiting.question().id);
        id.push(
            Tone::Quiet,
            &format!(", asked by process {}", waiting.pid()),
        );
        lines.extend([id, Line::default()]);
        Ok(self.out.write_all(self.paint.text(&lines).as_bytes())?)
    }

    async fn answer_one(&mut self, answer: Answer, id: &str, number: usize) -> Result<u8, Failure> {
        let waiting = self.scan().await?;
        let one = named(&waiting, id)?;
        let Some(scope) = number.checked_sub(1) else {
            return Err(Failure::Said("scopes are numbered from 1".to_owned()));
        };
        self.show_text(one)?;
        let outcome = send_answer(one, answer, scope).await?;
        self.report(answer, outcome)
    }

    fn report(&mut self, answer: Answer, outcome: ApprovalOutcome) -> Result<u8, Failure> {
        let why = match outcome {
            ApprovalOutcome::Taken => {
                writeln!(self.out, "answered: {}", answer.word())?;
                return Ok(DONE);
            }
            ApprovalOutcome::Gone => "too late: the question waits no more",
            ApprovalOutcome::Changed => "not taken: the question is not the one that was shown",
            ApprovalOutcome::Refused => "not taken: the question does not offer this answer",
            _ => "not taken",
        };
        writeln!(self.err, "creance approve: {why}")?;
        Ok(FAILED)
    }

    async fn ask_all(&mut self, args: &ApproveArgs) -> Result<u8, Failure> {
        let mut asked = false;
        loop {
            let waiting = self.scan().await?;
            match waiting.first() {
                None if args.follow => tokio::time::sleep(LOOK_AGAIN).await,
                None if asked => return Ok(DONE),
                None => return self.nothing_waits(),
                Some(one) if !self.asker.attended() => return self.nobody_here(one),
                Some(one) => self.ask(one).await?,
            }
            asked |= !waiting.is_empty();
        }
    }

    fn nobody_here(&mut self, one: &Waiting) -> Result<u8, Failure> {
        self.show_text(one)?;
        writeln!(self.err, "creance approve: {NO_TERMINAL}")?;
        Ok(NEEDS_ANSWER)
    }

    /// Asks here, as long as the question waits there.
    async fn ask(&mut self, one: &Waiting) -> Result<(), Failure> {
        let reply = tokio::select! {
            reply = self.asker.ask(one.question()) => reply,
            () = gone(self.folder, one) => return Ok(()),
        };
        let Some(Reply { answer, scope, .. }) = reply else {
            return Err(Failure::Said(NO_TERMINAL.to_owned()));
        };
        let outcome = send_answer(one, answer, scope).await?;
        self.report(answer, outcome)?;
        Ok(())
    }
}

const NO_TERMINAL: &str = "there is no terminal to ask at; run it in one, or use --answer and --id";

/// Ends once the question waits no more.
async fn gone(folder: &Path, one: &Waiting) {
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        if let Ok((waiting, _)) = scan_questions(folder).await
            && !waiting.contains(one)
        {
            return;
        }
    }
}

fn named<'a>(waiting: &'a [Waiting], id: &str) -> Result<&'a Waiting, Failure> {
    let named = |one: &&Waiting| {
        let full = &one.question().id;
        full == id || (id.chars().count() >= 4 && full.starts_with(id))
    };
    let mut found = waiting.iter().filter(named);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Failure::Said(format!(
            "no question {id:?} is waiting; `creance approve --list` shows those that are"
        ))),
        (Some(_), Some(_)) => Err(Failure::Said(format!(
            "several questions begin with {id:?}; give more of the id"
        ))),
    }
}

/// What an answer may cover, when there is a choice.
fn covers(waiting: &Waiting) -> Vec<Line> {
    let scopes = &waiting.question().scopes;
    if scopes.len() < 2 {
        return Vec::new();
    }
    let numbered = scopes.iter().zip(1_usize..);
    numbered
        .map(|(scope, number)| {
            let mut line = Line::new(Tone::Quiet, &format!("  scope {number}: "));
            line.push_untrusted(Tone::Plain, scope);
            line
        })
        .collect()
}

#[cfg(test)]
#[path = "tests/approve.rs"]
mod tests;
