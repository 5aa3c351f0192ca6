//! The question that a decision answers: who asks, to do what, with which facts; and what people
//! may answer. Plain data: nothing here judges, reads a file or knows Cedar.

mod act;
mod answer;
mod ask;
mod ask_back;
mod because;
mod call;
mod connect;
mod host_rule;
mod ledger;
mod path;
mod principal;
mod program;
mod remote;
mod sign_in;
mod start;

pub use act::{Act, Action, Holding, Key, Query, Run, Trigger};
pub use answer::Answer;
pub use ask::{Approver, Asked, Channel, DenyAll, Detail, Question, Reply};
pub use ask_back::{CreateSample, ElicitForm, ElicitUrl, IncludeContext, LinkScheme, ModelFacts};
pub use because::{Because, Layer, Role};
pub(crate) use call::TOOL_LOCK;
pub use call::{ArgPath, CallTool, GetPrompt, ReadResource, ToolClaims, ToolFacts};
pub use connect::{Confinee, ConnectHost};
pub use host_rule::{HostRule, HostRuleError};
pub(crate) use ledger::belongs;
pub use ledger::{Entry, Ledger, LedgerError, MemoryLedger, PinKind, PinRecord};
pub use path::{PathFacts, Places};
pub use principal::{Agent, Pin, Principal, Project, ServerFacts, ServerId, Source, Transport};
pub use program::{ProgramFacts, Risk, RunCommand, RunnerKind};
pub use remote::{AuthKind, ConnectServer, Scheme};
pub use sign_in::SignIn;
pub use start::{EnvFacts, NetworkWish, ReviewTools, StartServer, Wish};

#[cfg(test)]
mod tests;
