//! One question, put to the solver, and what its answer means. Only `unsat` is a proof; an answer that
//! is no answer is never taken for one.

use cedar_policy::{Policy, PolicySet as Cedar, Schema};
use cedar_policy_symcc::err::Error;
use cedar_policy_symcc::solver::{Decision, Solver as _, SolverError};
use cedar_policy_symcc::{CedarSymCompiler, CompiledPolicy, CompiledPolicySet, Env};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::policy::set::PolicySet;
use crate::policy::source::one_line;

use super::claim::{Claim, Implies, Kind, Question};
use super::example::Counterexample;
use super::pipes::Pipes;

/// What the solver's answer means.
#[derive(Debug)]
pub(crate) enum Reply {
    /// It holds for every request of this kind.
    Holds,
    /// It does not, and this is why.
    Fails(Box<Counterexample>),
    /// Nobody can tell, and why.
    Unknown(String),
}

/// A talk with a solver. One that ended in an answer other than yes or no is over.
#[derive(Debug)]
pub(crate) struct Dialogue<R, W: AsyncWrite + Unpin + Send>(CedarSymCompiler<Pipes<R, W>>)
where
    R: AsyncRead + Unpin + Send;

impl<R, W> Dialogue<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    /// A talk over two pipes: what the solver says, and what it is told.
    pub(crate) fn new(answers: R, questions: W) -> Result<Self, String> {
        let talk = CedarSymCompiler::new(Pipes::new(answers, questions));
        talk.map(Self).map_err(said)
    }

    /// Whether a solver is there at all: nothing is asserted, so nothing contradicts it.
    pub(crate) async fn greet(&mut self) -> Result<(), String> {
        match self.0.solver_mut().check_sat().await {
            Ok(Decision::Sat) => Ok(()),
            Ok(other) => Err(format!("it answers {other:?} where sat is the answer")),
            Err(why) => Err(failed(&why)),
        }
    }

    /// Puts one question.
    pub(crate) async fn ask(&mut self, claim: &Claim, question: &Question) -> Reply {
        let reply = match (&claim.kind, &question.policy) {
            (Kind::Implies(sides), _) => self.implies((sides, claim.schema()), question).await,
            (Kind::NoErrors(store), Some(policy)) => {
                self.no_errors((store, policy), question).await
            }
            (Kind::NoErrors(_), None) => Err("a question about no policy".to_owned()),
        };
        reply.unwrap_or_else(|why| {
            Reply::Unknown(format!("{}: {}", question.environment(), one_line(&why)))
        })
    }

    async fn implies(
        &mut self,
        (sides, schema): (&Implies, &Schema),
        question: &Question,
    ) -> Result<Reply, String> {
        let compile = |set: &Cedar| {
            let compiled = CompiledPolicySet::compile(set, &question.env, schema);
            compiled.map_err(said)
        };
        let (first, second) = (compile(&sides.narrow.cedar)?, compile(&sides.wide.cedar)?);
        let holds = self.0.check_implies_opt(&first, &second).await;
        if holds.map_err(said)? {
            return Ok(Reply::Holds);
        }
        let found = self
            .0
            .check_implies_with_counterexample_opt(&first, &second);
        let found: Env = found.await.map_err(said)?.ok_or(NO_EXAMPLE)?;
        let example = Counterexample::of_sets(sides, question, &found)?;
        Ok(Reply::Fails(Box::new(example)))
    }

    async fn no_errors(
        &mut self,
        (store, policy): (&PolicySet, &Policy),
        question: &Question,
    ) -> Result<Reply, String> {
        let schema = store.0.vocabulary.schema();
        let compiled = CompiledPolicy::compile(policy, &question.env, schema).map_err(said)?;
        let holds = self.0.check_never_errors_opt(&compiled).await;
        if holds.map_err(said)? {
            return Ok(Reply::Holds);
        }
        let found = self.0.check_never_errors_with_counterexample_opt(&compiled);
        let found: Env = found.await.map_err(said)?.ok_or(NO_EXAMPLE)?;
        let example = Counterexample::of_error((store, policy), question, &found)?;
        Ok(Reply::Fails(Box::new(example)))
    }
}

const NO_EXAMPLE: &str = "the solver says no, and then shows no example";

fn said(error: Error) -> String {
    match error {
        Error::SolverUnknown => "the solver gave up".to_owned(),
        Error::SolverError(error) => format!("the solver failed: {}", failed(&error)),
        error => error.to_string(),
    }
}

fn failed(error: &SolverError) -> String {
    match error {
        // It went between two questions: writing to it finds that out first, or reading from it.
        SolverError::Io(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            "it has ended".to_owned()
        }
        SolverError::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}
