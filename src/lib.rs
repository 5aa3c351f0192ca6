//! Creance lets an AI agent fly on a line: MCP servers and commands run in an OS sandbox, every
//! decision about them goes to a Cedar policy store, and everything is on record.

mod audit;
mod clean;
mod config;
mod decision;
mod digest;
mod disk;
mod enforce;
mod gateway;
mod grant;
mod policy;
mod protocol;
mod request;
mod runner;
mod sandbox;
mod terminal;
mod transport;

/// Parts that benches measure. No part of the API: changes without notice.
#[doc(hidden)]
pub mod internal {
    pub use crate::protocol::bench::round_trip;
}

pub use audit::{AuditError, AuditSink, Event, EventKind, Outcome, OutcomeKind, Receipt};
pub use digest::{Digest, DigestBuilder, DigestError};
pub use grant::{
    Confinement, Environment, FileStamp, Grant, Guarantee, Launch, Level, Limits, Network, guarded,
};
pub use request::{
    Act, Action, Agent, Answer, Approver, ArgPath, Asked, Because, CallTool, Channel, DenyAll,
    Detail, Entry, EnvFacts, GetPrompt, HostError, HostName, Key, Layer, Ledger, LedgerError,
    MemoryLedger, NetworkWish, PathFacts, Pin, PinKind, PinRecord, Place, Places, Principal,
    ProgramFacts, Project, Query, Question, ReadResource, Reply, ReviewTools, Risk, Role, Run,
    RunCommand, RunnerKind, ServerFacts, ServerId, Source, StartServer, ToolClaims, ToolFacts,
    Transport, Trigger, Wish,
};
