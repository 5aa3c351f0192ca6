//! Creance lets an AI agent fly on a line: MCP servers and commands run in an OS sandbox, every
//! decision about them goes to a Cedar policy store, and everything is on record.

// The tests of the policy store share their requests with `tests/policy`.
#[cfg(test)]
extern crate self as creance;
/// What benches reach of the private modules. Not part of the public API.
#[doc(hidden)]
pub mod internal;

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

/// What a host program does first.
pub mod helper {
    /// Turns this process into the sandbox helper when it was started as one. Must be the first
    /// line of `main`, before any thread, logger or runtime.
    pub fn run_if_requested() {
        crate::sandbox::run_helper_if_requested();
    }
}

pub use audit::{
    AuditError, AuditSink, Event, EventKind, Fault, FaultKind, Filter, Head, HeadError, Loss,
    LossKind, NoOutcome, Outcome, OutcomeKind, Paint, Receipt, Record, Report, Shape, Verifier,
    verify,
};
pub use decision::{Decision, Denial, DenialKind, Permit};
pub use digest::{Digest, DigestBuilder, DigestError};
pub use disk::{AuditLog, Durability, FileLedger};
pub use grant::{
    Confinement, Environment, FileStamp, Grant, Guarantee, Launch, Level, Limits, Network, Place,
    guarded,
};
pub use policy::{
    Clause, ExplainedPart, ExplainedPolicy, Explanation, PolicyEffect, PolicyInfo, PolicyOutcome,
    PolicyProblem, PolicySet, PolicySource, Truth, Verdict, VerdictPart, facts,
};
pub use request::{
    Act, Action, Agent, Answer, Approver, ArgPath, Asked, Because, CallTool, Channel, DenyAll,
    Detail, Entry, EnvFacts, GetPrompt, HostError, HostName, Key, Layer, Ledger, LedgerError,
    MemoryLedger, NetworkWish, PathFacts, Pin, PinKind, PinRecord, Places, Principal, ProgramFacts,
    Project, Query, Question, ReadResource, Reply, ReviewTools, Risk, Role, Run, RunCommand,
    RunnerKind, ServerFacts, ServerId, Source, StartServer, ToolClaims, ToolFacts, Transport,
    Trigger, Wish,
};
// People.
pub use runner::{
    CommandExit, CommandSpec, Effect, Error, ErrorKind, Forecast, Policies, PolicyNotice, Runner,
    RunningServer, ServerReport, ServerSpec, Session, ToolReply, ToolSummary, Workspace,
    WorkspaceOptions,
};
pub use sandbox::{BackendReport, DoctorReport, Exit, examine};
pub use terminal::{
    ApprovalError, ApprovalSocket, Broker, Colour, Line, Outcome as ApprovalOutcome, Prompt, Tone,
    Waiting, render, scan as scan_questions, send as send_answer, stdout_width, wrap_untrusted,
};
