//! Tests of policies: told requests with the outcome that is wanted. Judged as everything is judged;
//! coverage says which policies decide a test, mutation which ones nobody would miss.

mod case;
mod report;
mod run;
mod shipped;

pub use case::PolicyTest;
#[cfg(feature = "prove")]
pub(super) use case::word;
pub use report::{PolicyCover, TestReport, TestResult};
pub(crate) use shipped::builtin_tests;
