//! What an attempt's answer means: as it must be, weak and said, or wrong.

use std::fmt;

use serde::Serialize;

use super::answer::{Answer, Got};
use super::table::{Row, Want};
use crate::grant::Confinement;
use crate::sandbox::plan::Backend;

/// What one attempt showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EscapeVerdict {
    /// It went as it must.
    Held,
    /// It got through, and the sandbox says beforehand that it does not promise this.
    Weak,
    /// It could not be observed here.
    Skipped,
    /// It got through, or something that must work did not.
    Failed,
}

impl EscapeVerdict {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Weak => "weak",
            Self::Skipped => "skipped",
            Self::Failed => "FAILED",
        }
    }
}

/// One attempt in one backend.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct EscapeResult {
    /// The backend.
    pub backend: String,
    /// The row of the table.
    pub id: String,
    /// The guarantee that was attacked, where there is one of that name.
    pub guarantee: Option<String>,
    /// Where the attempt comes from.
    pub from: String,
    /// What was tried.
    pub tried: String,
    /// What it showed.
    pub verdict: EscapeVerdict,
    /// The error that stopped it, what went wrong, or why it was skipped.
    pub detail: String,
}

impl fmt::Display for EscapeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<8} {:<24} {}",
            self.verdict.name(),
            self.id,
            self.tried
        )?;
        if !self.detail.is_empty() {
            write!(f, " ({})", self.detail)?;
        }
        Ok(())
    }
}

/// What the escape suite showed.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct SelfTest {
    /// Backends that could not be tried, with the reason.
    pub untried: Vec<(String, String)>,
    /// Every attempt, backend by backend.
    pub results: Vec<EscapeResult>,
}

impl SelfTest {
    /// Whether no attempt failed, and at least one backend was tried.
    #[must_use]
    pub fn ok(&self) -> bool {
        !self.results.is_empty() && self.count(EscapeVerdict::Failed) == 0
    }

    /// How many attempts showed this.
    #[must_use]
    pub fn count(&self, verdict: EscapeVerdict) -> usize {
        let such = self.results.iter().filter(|one| one.verdict == verdict);
        such.count()
    }
}

/// What judging needs to know about the sandbox.
#[derive(Clone, Copy, Debug)]
pub(super) struct Under<'a> {
    pub(super) backend: Backend,
    pub(super) confinement: &'a Confinement,
    pub(super) root: bool,
}

/// Judges an answer.
pub(super) fn judge(row: &Row, answer: Option<&Answer>, under: Under<'_>) -> EscapeResult {
    let (verdict, detail) = match answer {
        Some(answer) => weigh(row, answer, under),
        None => (EscapeVerdict::Failed, "no answer came".to_owned()),
    };
    EscapeResult {
        backend: under.backend.name().to_owned(),
        id: row.id.to_owned(),
        guarantee: row.promise.map(|promise| promise.name().to_owned()),
        from: row.from.to_owned(),
        tried: row.tried.to_owned(),
        verdict,
        detail,
    }
}

fn weigh(row: &Row, answer: &Answer, under: Under<'_>) -> (EscapeVerdict, String) {
    let detail = answer.detail.clone();
    let promised = row
        .promise
        .is_none_or(|promise| under.confinement.enforces(promise));
    let want = match row.want(under.backend) {
        Want::WorksForRoot if under.root => Want::Works,
        Want::WorksForRoot => Want::Untried,
        other => other,
    };
    match (want, answer.got) {
        (Want::Untried, _) | (_, Got::Skipped) => (EscapeVerdict::Skipped, detail),
        (Want::Stopped, Got::Stopped)
        | (Want::Works, Got::Through)
        | (Want::Weak, Got::Stopped) => (EscapeVerdict::Held, detail),
        (Want::Weak, Got::Through | Got::Sent) if !promised => (EscapeVerdict::Weak, detail),
        (Want::Weak, _) => (
            EscapeVerdict::Failed,
            "got through although the guarantee is reported as enforced".to_owned(),
        ),
        (Want::Works, Got::Stopped | Got::Sent) => {
            (EscapeVerdict::Failed, format!("must work: {detail}"))
        }
        (Want::Stopped | Want::WorksForRoot, _) => {
            (EscapeVerdict::Failed, format!("got through {detail}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::{Guarantee, Level};
    use crate::sandbox::escape::rows;

    /// Each way to go wrong is a failure; what is weak is so only when it was said.
    #[test]
    fn answers_are_judged() {
        let rows = rows().unwrap();
        let row = |id: &str| rows.iter().find(|row| row.id == id).unwrap();
        let mut enforced = Confinement::none("test");
        for promise in Guarantee::ALL {
            let by = "test".to_owned();
            enforced.levels.insert(promise, Level::Enforced { by });
        }
        let absent = Confinement::none("test");
        let check = |id: &str, backend, got: Option<Got>, confinement: &Confinement, want| {
            let answer = got.map(|got| Answer::new(id, got, ""));
            let under = Under {
                backend,
                confinement,
                root: false,
            };
            let result = judge(row(id), answer.as_ref(), under);
            assert_eq!(result.verdict, want, "{id} {backend} {got:?}: {result}");
        };
        use EscapeVerdict::{Failed, Held, Skipped, Weak};
        let (ns, landlock) = (Backend::LinuxNs, Backend::LinuxLandlock);
        check("write-outside", ns, Some(Got::Stopped), &enforced, Held);
        check("write-outside", ns, Some(Got::Through), &enforced, Failed);
        check("write-outside", ns, Some(Got::Through), &absent, Failed);
        check("write-outside", ns, Some(Got::Sent), &enforced, Failed);
        check("write-outside", ns, None, &enforced, Failed);
        check("write-outside", ns, Some(Got::Skipped), &enforced, Skipped);
        check("write-project", ns, Some(Got::Through), &enforced, Held);
        check("write-project", ns, Some(Got::Stopped), &enforced, Failed);
        check("append-hook", landlock, Some(Got::Through), &absent, Weak);
        check(
            "append-hook",
            landlock,
            Some(Got::Through),
            &enforced,
            Failed,
        );
        check("append-hook", landlock, Some(Got::Stopped), &enforced, Held);
    }

    #[test]
    fn a_suite_that_tried_nothing_is_not_well() {
        assert!(!SelfTest::default().ok());
    }
}
