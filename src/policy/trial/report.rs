//! What tests of policies came to, for people, for programs (serde) and as JUnit.

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::policy::source::one_line;
use crate::request::Because;

/// What all tests came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestReport {
    /// Test by test.
    pub results: Vec<TestResult>,
    /// Policy by policy.
    pub policies: Vec<PolicyCover>,
}

/// What one test came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestResult {
    /// The file of the test.
    pub file: String,
    /// The line of its name.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// What was judged; empty when the request could not be set up.
    pub what: String,
    /// The outcome that is wanted.
    pub want: String,
    /// The outcome.
    pub got: String,
    /// Why.
    pub because: Vec<Because>,
    /// Why the test fails, if it does.
    pub problem: Option<String>,
}

/// What the tests show about one policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyCover {
    /// The policy's id.
    pub id: String,
    /// Its file.
    pub file: String,
    /// Its line.
    pub line: usize,
    /// How many tests it decides.
    pub decides: usize,
    /// How many tests it could have decided and left alone.
    pub spares: usize,
    /// Whether a test fails when the policy is taken out.
    pub held: bool,
}

impl TestReport {
    /// The tests that fail.
    pub fn failed(&self) -> impl Iterator<Item = &TestResult> {
        self.results
            .iter()
            .filter(|result| result.problem.is_some())
    }

    /// The policies that decide no test, or leave none alone.
    pub fn uncovered(&self) -> impl Iterator<Item = &PolicyCover> {
        self.policies.iter().filter(|policy| !policy.is_covered())
    }

    /// The policies whose loss no test would notice.
    pub fn unheld(&self) -> impl Iterator<Item = &PolicyCover> {
        self.policies.iter().filter(|policy| !policy.held)
    }

    /// The results in the form that build servers read.
    #[must_use]
    pub fn junit(&self) -> String {
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"policies\" tests=\"{}\" failures=\"{}\">\n",
            self.results.len(),
            self.failed().count()
        );
        for result in &self.results {
            let (file, name) = (escaped(&result.file), escaped(&result.name));
            let line = result.line;
            // Writing to a text cannot fail.
            let _ = match &result.problem {
                None => writeln!(
                    xml,
                    "    <testcase classname=\"{file}\" name=\"{name}\" file=\"{file}\" line=\"{line}\"/>"
                ),
                Some(problem) => writeln!(
                    xml,
                    "    <testcase classname=\"{file}\" name=\"{name}\" file=\"{file}\" line=\"{line}\">\n      <failure message=\"{}\">{}</failure>\n    </testcase>",
                    escaped(problem),
                    escaped(&result.to_string())
                ),
            };
        }
        xml.push_str("  </testsuite>\n</testsuites>\n");
        xml
    }
}

impl PolicyCover {
    /// Whether a test is decided by it and another is left alone.
    #[must_use]
    pub fn is_covered(&self) -> bool {
        self.decides > 0 && self.spares > 0
    }
}

/// A text as XML takes it; characters that XML cannot hold are replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

impl fmt::Display for TestResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.problem.is_some() {
            "FAILED"
        } else {
            "ok"
        };
        let (file, name) = (one_line(&self.file), one_line(&self.name));
        write!(f, "{state:6} {file}:{}: {name}", self.line)?;
        let Some(problem) = &self.problem else {
            return Ok(());
        };
        write!(f, "\n         {}", one_line(problem))?;
        if !self.what.is_empty() {
            write!(f, "\n         {}", one_line(&self.what))?;
        }
        for because in &self.because {
            write!(f, "\n         {}: {}", because.policy, because.reason)?;
        }
        Ok(())
    }
}
