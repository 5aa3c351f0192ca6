//! A solver that reads and writes SMT-LIB over two pipes that somebody else opened.

use cedar_policy_symcc::SmtLibScript as _;
use cedar_policy_symcc::solver::{Decision, DecisionWithModel, Solver, SolverError};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
    BufWriter,
};

/// The longest answer that is read: models take some kilobytes.
const LONGEST: usize = 16 << 20;

/// Both pipes.
#[derive(Debug)]
pub(super) struct Pipes<R, W: AsyncWrite> {
    answers: BufReader<R>,
    questions: BufWriter<W>,
}

impl<R, W> Pipes<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    pub(super) fn new(answers: R, questions: W) -> Self {
        Self {
            answers: BufReader::new(answers),
            questions: BufWriter::new(questions),
        }
    }

    async fn line(&mut self) -> Result<String, SolverError> {
        let mut line = String::new();
        let mut rest = (&mut self.answers).take(LONGEST as u64);
        match rest.read_line(&mut line).await? {
            0 => Err(SolverError::Solver("it has ended".to_owned())),
            _ => Ok(line),
        }
    }

    /// What stands between `(` and `)` on lines of their own.
    async fn model(&mut self) -> Result<String, SolverError> {
        let mut model = self.line().await?;
        if model.trim() != "(" {
            return Err(failure(&model));
        }
        loop {
            let line = self.line().await?;
            model.push_str(&line);
            if line.trim() == ")" {
                return Ok(model);
            }
            if model.len() > LONGEST {
                return Err(SolverError::Solver("its model has no end".to_owned()));
            }
        }
    }
}

/// An answer that is none.
fn failure(line: &str) -> SolverError {
    let line = line.trim();
    let error = line.strip_prefix("(error \"");
    match error.and_then(|rest| rest.strip_suffix("\")")) {
        Some(error) => SolverError::Solver(error.to_owned()),
        None => SolverError::UnrecognizedSolverOutput(line.to_owned()),
    }
}

impl<R, W> Solver for Pipes<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    fn smtlib_input(&mut self) -> &mut (dyn AsyncWrite + Unpin + Send) {
        &mut self.questions
    }

    async fn enable_models(&mut self) -> Result<(), SolverError> {
        let input = self.smtlib_input();
        Ok(input.set_option("produce-models", "true").await?)
    }

    async fn check_sat(&mut self) -> Result<Decision, SolverError> {
        self.smtlib_input().check_sat().await?;
        self.questions.flush().await?;
        let line = self.line().await?;
        match line.trim() {
            "sat" => Ok(Decision::Sat),
            "unsat" => Ok(Decision::Unsat),
            "unknown" => Ok(Decision::Unknown),
            _ => Err(failure(&line)),
        }
    }

    async fn check_sat_with_model(&mut self) -> Result<DecisionWithModel, SolverError> {
        match self.check_sat().await? {
            Decision::Unsat => Ok(DecisionWithModel::Unsat),
            Decision::Unknown => Ok(DecisionWithModel::Unknown),
            Decision::Sat => {
                self.smtlib_input().get_model().await?;
                self.questions.flush().await?;
                let model = self.model().await?;
                Ok(DecisionWithModel::Sat { model })
            }
        }
    }
}
