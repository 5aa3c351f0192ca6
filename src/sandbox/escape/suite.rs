//! Runs the table in every backend that works here.

use super::answer::{Answer, Got};
use super::table::{By, Row, Want, rows};
use super::verdict::{EscapeResult, EscapeVerdict, SelfTest, Under, judge};
use crate::sandbox::apply;
use crate::sandbox::machine::{Effort, offers};
use crate::sandbox::plan::Backend;

/// Tries every escape of the table in every backend of this machine, in folders made for it. Each
/// result is told as it comes.
///
/// # Errors
/// When the folders for it cannot be made, or a backend that works cannot be started.
pub fn self_test(tell: &mut dyn FnMut(&EscapeResult)) -> Result<SelfTest, String> {
    let mut test = SelfTest::default();
    for offer in offers(Effort::All).backends {
        match offer.failure {
            Some(why) => test.untried.push((offer.backend.name().to_owned(), why)),
            None => try_in(offer.backend, &mut test, tell)?,
        }
    }
    Ok(test)
}

/// The same without a sandbox, where the attempts that can do no harm get through: a suite in which
/// nothing can get through would show nothing.
pub(crate) fn control(tell: &mut dyn FnMut(&EscapeResult)) -> Result<SelfTest, String> {
    let mut test = SelfTest::default();
    try_in(Backend::None, &mut test, tell)?;
    Ok(test)
}

fn try_in(
    backend: Backend,
    test: &mut SelfTest,
    tell: &mut dyn FnMut(&EscapeResult),
) -> Result<(), String> {
    let rows = rows()?;
    let tried: Vec<Row> = rows
        .iter()
        .filter(|row| row.want(backend) != Want::Untried)
        .cloned()
        .collect();
    let (mut answered, root) = (Vec::new(), apply::is_root());
    let ids: Vec<&str> = (tried.iter())
        .filter(|row| matches!(row.by, By::Probe | By::Host))
        .map(|row| row.id)
        .collect();
    let confinement = apply::try_escapes(backend, &ids, &mut |confinement, answer: Answer| {
        let Some(row) = tried.iter().find(|row| row.id == answer.id) else {
            return;
        };
        let under = Under {
            backend,
            confinement,
            root,
        };
        let result = judge(row, Some(&answer), under);
        tell(&result);
        answered.push(result);
    })?;
    let under = Under {
        backend,
        confinement: &confinement,
        root,
    };
    let known = |row: &&Row| !answered.iter().any(|result| result.id == row.id);
    let missing: Vec<EscapeResult> = (tried.iter().filter(known))
        .map(|row| judge(row, elsewhere(row).as_ref(), under))
        .collect();
    for result in missing {
        if result.verdict == EscapeVerdict::Failed {
            tell(&result);
        }
        answered.push(result);
    }
    test.results.extend(answered);
    Ok(())
}

/// The answer for a row that is not tried by the suite.
fn elsewhere(row: &Row) -> Option<Answer> {
    let why = match row.by {
        By::Probe | By::Host => return None,
        By::Test(name) => format!("held by the project's test `{name}`"),
        By::Nobody(why) => why.to_owned(),
    };
    Some(Answer::new(row.id, Got::Skipped, why))
}
