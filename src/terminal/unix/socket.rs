//! The side of the asking process: while questions wait, a socket of the user's own where
//! `creance approve` reads and answers them.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::future::Future;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::BufReader;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::digest::Digest;
use crate::request::{Answer, Approver, Channel, Question, Reply};

use super::super::render::offered;
use super::super::wire::{
    ApprovalError, Outcome, SAID_SIZE_MAX, Said, TOLD_SIZE_MAX, Told, VERSION, digest,
};
use super::{client, folder, frame};

/// Lets `creance approve`, run by the same user, answer the questions of this process.
///
/// It counts as attended: a person may start `creance approve` while the question waits. If nobody
/// does within the broker's limit, there is no answer.
#[derive(Debug)]
pub struct ApprovalSocket {
    folder: PathBuf,
    board: Arc<Board>,
}

impl ApprovalSocket {
    /// A socket in this folder, which is made when needed and must be the user's own.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            board: Arc::default(),
        }
    }

    async fn wait(&self, question: &Question) -> Option<Reply> {
        let (entry, reply) = Entry::new(question)?;
        match self.post(question, entry) {
            Ok(_posted) => reply.await.ok(),
            Err(error) => {
                tracing::warn!(%error, "no question can be answered with `creance approve`");
                None
            }
        }
    }

    /// Puts the question on the board; it stays there as long as the returned value lives.
    fn post(&self, question: &Question, entry: Entry) -> Result<Posted<'_>, ApprovalError> {
        let mut state = self.board.lock();
        if state.waiting.contains_key(&question.id) {
            return Err(ApprovalError::Garbled {
                path: self.folder.clone(),
                why: format!("the question {} waits already", question.id),
            });
        }
        if state.listening.is_none() {
            folder::make(&self.folder)?;
            let listening = Listening::start(&self.folder, &self.board);
            state.listening = Some(listening.map_err(|error| ApprovalError::Socket {
                path: self.folder.clone(),
                error,
            })?);
        }
        state.waiting.insert(question.id.clone(), entry);
        drop(state);
        Ok(Posted {
            board: &self.board,
            id: question.id.clone(),
        })
    }
}

impl Approver for ApprovalSocket {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'a>> {
        Box::pin(self.wait(question))
    }

    fn attended(&self) -> bool {
        true
    }

    fn watched(&self) -> bool {
        let looked = self.board.lock().looked;
        looked.is_some_and(|at| at.elapsed() < WATCHED)
    }
}

/// All questions that wait in this process.
#[derive(Debug, Default)]
struct Board(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<String, Entry>,
    listening: Option<Listening>,
    /// When an approver last read the questions.
    looked: Option<Instant>,
}

#[derive(Debug)]
struct Entry {
    question: Question,
    digest: Digest,
    line: Arc<[u8]>,
    reply: oneshot::Sender<Reply>,
}

impl Entry {
    /// `None` when the question is too long to be shown there.
    fn new(question: &Question) -> Option<(Self, oneshot::Receiver<Reply>)> {
        let told = Told::Question {
            question: Box::new(question.clone()),
        };
        let line = frame::line(&told).ok()?;
        let (reply, replied) = oneshot::channel();
        let entry = Self {
            question: question.clone(),
            digest: digest(question)?,
            line: line.into(),
            reply,
        };
        (entry.line.len() < TOLD_SIZE_MAX).then_some((entry, replied))
    }
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lines(&self) -> Vec<Arc<[u8]>> {
        let mut state = self.lock();
        state.looked = Some(Instant::now());
        state
            .waiting
            .values()
            .map(|e| Arc::clone(&e.line))
            .collect()
    }

    fn answer(&self, id: &str, shown: Digest, reply: Reply) -> Outcome {
        let mut state = self.lock();
        let Some(entry) = state.waiting.get(id) else {
            return Outcome::Gone;
        };
        if entry.digest != shown {
            return Outcome::Changed;
        }
        let agreed = reply.answer != Answer::None;
        let fits = offered(&entry.question).contains(&reply.answer)
            && (!agreed || reply.scope < entry.question.scopes.len());
        if !fits {
            return Outcome::Refused;
        }
        let taken = state.waiting.remove(id);
        match taken.map(|entry| entry.reply.send(reply)) {
            Some(Ok(())) => Outcome::Taken,
            _ => Outcome::Gone,
        }
    }
}

/// A question on the board; dropping it takes it off, and the last one takes the socket away.
#[derive(Debug)]
struct Posted<'a> {
    board: &'a Board,
    id: String,
}

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        let mut state = self.board.lock();
        state.waiting.remove(&self.id);
        if state.waiting.is_empty() {
            state.listening = None;
        }
    }
}

/// The open socket. Dropping it removes the file at once; connections may finish their last line.
#[derive(Debug)]
struct Listening {
    path: PathBuf,
    _open: oneshot::Sender<()>,
}

impl Listening {
    fn start(folder: &Path, board: &Arc<Board>) -> io::Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = format!("{:016x}", u64::from_be_bytes(random));
        let path = folder.join(format!("{name}.sock"));
        let new = folder.join(format!("{name}.new"));
        let listener = UnixListener::bind(&new)?;
        std::fs::set_permissions(&new, Permissions::from_mode(0o600))?;
        // Under its final name only once it listens: whoever scans takes a socket that refuses
        // connections for a dead process's and removes it.
        std::fs::rename(&new, &path)?;
        let (open, closed) = oneshot::channel();
        tokio::spawn(listen(listener, Arc::clone(board), closed));
        tokio::spawn(client::sweep(folder.to_owned()));
        Ok(Self { path, _open: open })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // If it fails, the next scan removes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// How long after its last look an approver counts as watching; it looks twice a second.
const WATCHED: Duration = Duration::from_secs(3);
const CONNECTIONS_MAX: usize = 16;
/// How long a connected approver may stay silent.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// How long connections may take to finish after the last question is gone.
const LINGER: Duration = Duration::from_secs(1);

/// Accepts until the socket closes. Owns its connections: they end with it.
async fn listen(listener: UnixListener, board: Arc<Board>, mut closed: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut closed => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if connections.len() < CONNECTIONS_MAX => {
                    connections.spawn(serve(stream, Arc::clone(&board)));
                }
                Ok(_) => {}
                // Out of descriptors, most likely: don't spin.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
    drop(listener);
    let finished = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LINGER, finished).await;
}

/// One approver. Whatever it does wrong ends its connection and nothing else.
async fn serve(stream: UnixStream, board: Arc<Board>) {
    if let Err(error) = exchange(stream, &board).await {
        tracing::debug!(%error, "an approver was disconnected");
    }
}

async fn exchange(stream: UnixStream, board: &Board) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Err(frame::invalid("the approver is another user"));
    }
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let mut greeted = false;
    while let Some(said) =
        tokio::time::timeout(SILENCE_MAX, frame::read(&mut read, SAID_SIZE_MAX)).await??
    {
        match said {
            Said::Hello { version: VERSION } => {
                greeted = true;
                frame::write(&mut write, &Told::Hello { version: VERSION }).await?;
            }
            _ if !greeted => {
                let why = format!("this process speaks version {VERSION}; use the same creance");
                return frame::write(&mut write, &Told::Refused { why }).await;
            }
            Said::Hello { .. } => return Err(frame::invalid("greeted twice")),
            Said::List => {
                for line in board.lines() {
                    tokio::io::AsyncWriteExt::write_all(&mut write, &line).await?;
                }
                frame::write(&mut write, &Told::End).await?;
            }
            Said::Reply {
                id,
                digest,
                answer,
                scope,
            } => {
                let channel = Channel::Approve {
                    pid: pid.unwrap_or(0),
                };
                let reply = Reply {
                    answer,
                    scope,
                    channel,
                };
                let outcome = board.answer(&id, digest, reply);
                frame::write(&mut write, &Told::Result { outcome }).await?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "../tests/socket.rs"]
mod tests;
