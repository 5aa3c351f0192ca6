//! Proofs about stores of policies: finds the solver, starts it, and puts claims to it one question
//! after another. What takes too long is not known, and not known is never proved.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::process::{ChildStdin, ChildStdout};

use crate::policy::{Claim, Counterexample, Dialogue, Invariants, PolicySet, Question, Reply};
use crate::sandbox::{Trusted, start_trusted};

use super::error::{Error, ErrorKind};

/// The solver cvc5, a program of its own.
#[derive(Clone, Debug)]
pub struct Solver {
    program: PathBuf,
    limit: Duration,
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proved {
    /// It holds for every request.
    Proved,
    /// It does not hold for some.
    Refuted,
    /// Nobody can tell: the solver gave up on a question, or failed.
    Unknown,
}

/// A claim about all requests, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Proof {
    /// `guard-rails`, `invariant/secrets`.
    pub name: String,
    /// The claim in words.
    pub says: String,
    /// Whether it holds.
    pub result: Proved,
    /// How many questions it took.
    pub questions: usize,
    /// How long that took.
    pub milliseconds: u64,
    /// Requests for which it does not hold, at most one of each kind.
    pub examples: Vec<Counterexample>,
    /// What nobody can tell, and why.
    pub unknown: Vec<String>,
}

/// How far a proof has come: the claim, the question it is at, and how many there are.
pub type ProofStep<'a> = (&'a str, usize, usize);

/// Time beyond the limit after which a solver that does not keep it is ended.
const GRACE: Duration = Duration::from_secs(2);

impl Solver {
    /// The solver at a path, or else `cvc5` as it is found on `PATH`. Each question takes at most
    /// `limit`.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(program: Option<&Path>, limit: Duration) -> Result<Self, Error> {
        let program = match program {
            Some(path) if path.is_file() => path.to_owned(),
            Some(path) => return Err(none(&format!("there is no solver at {}", path.display()))),
            None => on_path().ok_or_else(|| none("proofs need the solver cvc5"))?,
        };
        Ok(Self { program, limit })
    }

    /// Proves what is claimed of every store: see `creance policy prove --help`.
    ///
    /// # Errors
    /// When the solver does not start.
    pub async fn prove(
        &self,
        store: &PolicySet,
        invariants: &Invariants,
        step: impl FnMut(ProofStep<'_>),
    ) -> Result<Vec<Proof>, Error> {
        let claims = store.claims(invariants);
        let claims = claims.map_err(|why| Error::new(ErrorKind::Policy, why))?;
        self.all(&claims, step).await
    }

    /// Proves that the second store allows no more than the first, and no less.
    ///
    /// # Errors
    /// When the solver does not start.
    pub async fn compare(
        &self,
        (first, second): (&PolicySet, &PolicySet),
        step: impl FnMut(ProofStep<'_>),
    ) -> Result<Vec<Proof>, Error> {
        let claims = first.claims_beside(second);
        let claims = claims.map_err(|why| Error::new(ErrorKind::Policy, why))?;
        self.all(&claims, step).await
    }

    async fn all(
        &self,
        claims: &[Claim],
        mut step: impl FnMut(ProofStep<'_>),
    ) -> Result<Vec<Proof>, Error> {
        let mut talk = Talk::new(self).await?;
        let mut proofs = Vec::new();
        for claim in claims {
            let began = Instant::now();
            let questions = claim.questions();
            let mut proof = Proof {
                name: claim.name.clone(),
                says: claim.says.clone(),
                result: Proved::Proved,
                questions: questions.len(),
                milliseconds: 0,
                examples: Vec::new(),
                unknown: Vec::new(),
            };
            for (at, question) in questions.iter().enumerate() {
                step((&claim.name, at + 1, questions.len()));
                proof.add(talk.ask(claim, question).await?);
            }
            let took = began.elapsed().as_millis();
            proof.milliseconds = u64::try_from(took).unwrap_or(u64::MAX);
            proofs.push(proof);
        }
        Ok(proofs)
    }

    /// Starts it, and sees that it is a solver.
    async fn begin(&self) -> Result<(Trusted, Dialogue<ChildStdout, ChildStdin>), Error> {
        let (held, mut talk) = self.start()?;
        let greeted = tokio::time::timeout(self.limit.saturating_add(GRACE), talk.greet()).await;
        let greeted = greeted.unwrap_or_else(|_| Err("it does not answer".to_owned()));
        greeted.map_err(|why| none(&format!("{} is no solver: {why}", self.program.display())))?;
        Ok((held, talk))
    }

    fn start(&self) -> Result<(Trusted, Dialogue<ChildStdout, ChildStdin>), Error> {
        let limit = self.limit.as_millis();
        let args = ["--lang", "smt", &format!("--tlimit-per={limit}")].map(str::to_owned);
        let failed = |why: String| {
            none(&format!(
                "the solver {} does not start: {why}",
                self.program.display()
            ))
        };
        let started = start_trusted(&self.program, &args);
        let (held, says, told) = started.map_err(|why| failed(why.to_string()))?;
        Ok((held, Dialogue::new(says, told).map_err(failed)?))
    }
}

/// A talk with a solver that is started anew when it fails.
struct Talk<'a> {
    solver: &'a Solver,
    now: (Trusted, Dialogue<ChildStdout, ChildStdin>),
}

impl<'a> Talk<'a> {
    async fn new(solver: &'a Solver) -> Result<Self, Error> {
        let now = solver.begin().await?;
        Ok(Self { solver, now })
    }

    async fn ask(&mut self, claim: &Claim, question: &Question) -> Result<Reply, Error> {
        // A refuted question is put twice: once for the answer, once for an example.
        let limit = self.solver.limit.saturating_mul(2).saturating_add(GRACE);
        let reply = tokio::time::timeout(limit, self.now.1.ask(claim, question)).await;
        let reply = reply.unwrap_or_else(|_| Reply::Unknown("the solver does not end".to_owned()));
        // What it says next may be the rest of this answer.
        if matches!(reply, Reply::Unknown(_)) {
            self.now = self.solver.start()?;
        }
        Ok(reply)
    }
}

impl Proof {
    fn add(&mut self, reply: Reply) {
        match reply {
            Reply::Holds => {}
            Reply::Fails(example) => {
                self.result = Proved::Refuted;
                self.examples.push(*example);
            }
            Reply::Unknown(why) => {
                if self.result == Proved::Proved {
                    self.result = Proved::Unknown;
                }
                self.unknown.push(why);
            }
        }
    }
}

fn none(why: &str) -> Error {
    let text = format!("{why} (Debian: `apt install cvc5`; or name it with --solver PATH)");
    Error::new(ErrorKind::Unsupported, text)
}

/// Where `cvc5` is found.
fn on_path() -> Option<PathBuf> {
    let name = format!("cvc5{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH")?;
    let mut all = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    all.find_map(|folder| Some(folder.join(&name)).filter(|file| file.is_file()))
}
