//! Cedar's only home: schema, layers, load, evaluate, explain. A [`PolicySet`] is checked as a whole
//! when it is made; a query is judged by the answers under which it would be allowed. Errors deny.

pub(crate) mod bench;
mod bundle;
mod evaluate;
mod explain;
mod facts;
mod faults;
mod format;
mod imported;
mod index;
mod kept;
mod lint;
mod load;
mod masked;
mod members;
mod naming;
mod polarity;
#[cfg(feature = "prove")]
mod prove;
mod read;
mod record;
mod recorded;
mod replay;
mod rule;
mod set;
mod shadow;
mod source;
mod trial;
mod typed;
mod verdict;
mod vocabulary;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use bundle::is_member;
pub use bundle::{Bundle, BundleError, BundleFiles, BundleMode, KeyError, Manifest, SigningKey};
pub(crate) use bundle::{Keys, Terms};
pub use explain::{Clause, ExplainedPart, ExplainedPolicy, Explanation, Truth};
pub(crate) use imported::imported;
pub(crate) use naming::tools_in;
#[cfg(feature = "prove")]
pub(crate) use prove::{Claim, Dialogue, Question, Reply};
#[cfg(feature = "prove")]
pub use prove::{Counterexample, Invariants};
pub use record::facts;
pub use replay::{Decided, Replay};
pub(crate) use rule::rule;
pub use set::{PolicyEffect, PolicyInfo, PolicySet, StoreParts};
pub use source::{PolicyProblem, PolicySource};
pub(crate) use trial::builtin_tests;
pub use trial::{PolicyCover, PolicyTest, TestReport, TestResult};
pub(crate) use typed::{LockedTool, ToolLock};
pub use verdict::{PolicyOutcome, Verdict, VerdictPart};
