//! The side of `creance approve`: finds the processes that ask, reads their questions, sends
//! answers. One bad socket costs only itself.

use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::request::{Answer, Question};

use super::super::wire::{
    ApprovalError, Outcome, SAID_SIZE_MAX, Said, TOLD_SIZE_MAX, Told, VERSION, Waiting,
};
use super::{folder, frame};

/// No process has more questions waiting.
const QUESTIONS_MAX: usize = 1_000;
/// How long one exchange with one process may take.
const EXCHANGE_MAX: Duration = Duration::from_secs(5);

/// Every question that waits in some process of this user, and what could not be read.
///
/// Sockets of dead processes are removed on the way.
///
/// # Errors
///
/// The folder exists and is not the user's own, or cannot be read.
pub async fn scan(folder: &Path) -> Result<(Vec<Waiting>, Vec<ApprovalError>), ApprovalError> {
    let mut waiting = Vec::new();
    let mut problems = Vec::new();
    for path in sockets(folder)? {
        match within(list(&path)).await {
            Ok(mut questions) => waiting.append(&mut questions),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => remove_stale(&path),
            Err(error) => problems.push(ApprovalError::Socket { path, error }),
        }
    }
    Ok((waiting, problems))
}

/// Removes the sockets of dead processes: what a killed run left goes when the next one asks.
pub(super) async fn sweep(folder: PathBuf) {
    for path in sockets(&folder).unwrap_or_default() {
        let met = within(UnixStream::connect(&path)).await;
        if met.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            remove_stale(&path);
        }
    }
}

/// Answers a question that was shown.
///
/// # Errors
///
/// The process cannot be reached or does not keep to the messages. One that is gone is
/// [`Outcome::Gone`].
pub async fn send(
    waiting: &Waiting,
    answer: Answer,
    scope: usize,
) -> Result<Outcome, ApprovalError> {
    match within(reply(waiting, answer, scope)).await {
        Ok(outcome) => Ok(outcome),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            Ok(Outcome::Gone)
        }
        Err(error) => Err(ApprovalError::Socket {
            path: waiting.socket().to_owned(),
            error,
        }),
    }
}

async fn within<T>(exchange: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(EXCHANGE_MAX, exchange).await?
}

fn sockets(folder: &Path) -> Result<Vec<PathBuf>, ApprovalError> {
    match std::fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        _ => folder::check(folder)?,
    }
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| ApprovalError::Folder {
        path: folder.to_owned(),
        why: error.to_string(),
    })?;
    let mut paths: Vec<PathBuf> = entries
        .into_iter()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "sock"))
        .collect();
    paths.sort();
    Ok(paths)
}

fn remove_stale(path: &Path) {
    // If it fails, it is there for the next scan.
    let _ = std::fs::remove_file(path);
}

struct Peer {
    pid: u32,
    read: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
}

impl Peer {
    async fn greet(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path).await?;
        let peer = stream.peer_cred()?;
        if peer.uid() != rustix::process::geteuid().as_raw() {
            return Err(frame::invalid("the asking process is another user's"));
        }
        let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
        let (read, write) = stream.into_split();
        let mut peer = Self {
            pid: pid.unwrap_or(0),
            read: BufReader::new(read),
            write,
        };
        peer.say(&Said::Hello { version: VERSION }).await?;
        match peer.hear().await? {
            Told::Hello { version: VERSION } => Ok(peer),
            told => Err(unexpected(&told)),
        }
    }

    async fn say(&mut self, said: &Said) -> io::Result<()> {
        let line = frame::line(said)?;
        if line.len() > SAID_SIZE_MAX {
            return Err(frame::invalid("the answer is too long"));
        }
        tokio::io::AsyncWriteExt::write_all(&mut self.write, &line).await
    }

    async fn hear(&mut self) -> io::Result<Told> {
        let told = frame::read(&mut self.read, TOLD_SIZE_MAX).await?;
        told.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

async fn list(path: &Path) -> io::Result<Vec<Waiting>> {
    let mut peer = Peer::greet(path).await?;
    peer.say(&Said::List).await?;
    let mut waiting = Vec::new();
    loop {
        match peer.hear().await? {
            Told::Question { question } if waiting.len() < QUESTIONS_MAX => {
                waiting.push(seen(path, peer.pid, *question));
            }
            Told::End => return Ok(waiting),
            told => return Err(unexpected(&told)),
        }
    }
}

fn seen(path: &Path, pid: u32, question: Question) -> Waiting {
    Waiting::new(path.to_owned(), pid, question)
}

async fn reply(waiting: &Waiting, answer: Answer, scope: usize) -> io::Result<Outcome> {
    let digest = waiting.digest();
    let digest = digest.ok_or_else(|| frame::invalid("the question cannot be written down"))?;
    let mut peer = Peer::greet(waiting.socket()).await?;
    peer.say(&Said::Reply {
        id: waiting.question().id.clone(),
        digest,
        answer,
        scope,
    })
    .await?;
    match peer.hear().await? {
        Told::Result { outcome } => Ok(outcome),
        told => Err(unexpected(&told)),
    }
}

fn unexpected(told: &Told) -> io::Error {
    match told {
        Told::Refused { why } => frame::invalid(why),
        Told::Hello { version } => {
            frame::invalid(&format!("the asking process speaks version {version}"))
        }
        _ => frame::invalid("the asking process answered something else"),
    }
}
