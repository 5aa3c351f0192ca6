//! Cedar's only home: schema, layers, load, evaluate, explain. A [`PolicySet`] is checked as a whole
//! when it is made; a query is judged by the answers under which it would be allowed. Errors deny.

pub(crate) mod bench;
mod evaluate;
mod explain;
mod facts;
mod index;
mod lint;
mod load;
mod polarity;
mod record;
mod replay;
mod rule;
mod set;
mod source;
mod verdict;
mod vocabulary;

#[cfg(test)]
pub(crate) mod tests;

pub use explain::{Clause, ExplainedPart, ExplainedPolicy, Explanation, Truth};
pub use record::facts;
pub use replay::{Decided, Replay};
pub(crate) use rule::rule;
pub use set::{PolicyEffect, PolicyInfo, PolicySet};
pub use source::{PolicyProblem, PolicySource};
pub use verdict::{PolicyOutcome, Verdict, VerdictPart};
