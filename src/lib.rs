//! Creance lets an AI agent fly on a line: MCP servers and commands run in an OS sandbox, every
//! decision about them goes to a Cedar policy store, and everything is on record.
//!
//! **The first line of your `main` is [`helper::run_if_requested`].** The sandbox's helper is your own
//! program, started again: it must find itself before any thread, logger or runtime exists, so there
//! is no `#[tokio::main]`.
//!
//! ```text
//!  agent ──▶ Session ──▶ decision ──ask──▶ Approver (a person)
//!                           │  └─────────▶ PolicySet (Cedar)
//!                           ▼
//!                        AuditSink        written before the effect, and after it
//!                           ▼
//!                        Permit ──spent──▶ sandbox: one server, one call, one command
//! ```
//!
//! # What it does not do
//!
//! - It does not judge whether a request is wise: policies and people do.
//! - It does not confine your own program, and no server that your program starts by itself.
//! - It does not trust a server because it is sandboxed: what comes back is cleaned, and is still the
//!   words of a stranger.
//! - On macOS and Windows there is no sandbox yet. It says so, and the built-in policy starts nothing.
//!
//! # Getting started
//!
//! ```no_run
//! use creance::{Agent, AuditLog, Error, Policies, Runner, ServerSpec};
//!
//! fn main() -> Result<(), Error> {
//!     creance::helper::run_if_requested();
//!     tokio::runtime::Runtime::new()?.block_on(review())
//! }
//!
//! async fn review() -> Result<(), Error> {
//!     let policies = Policies::of_folder("policies")?.into_store()?;
//!     let runner = Runner::new(policies, AuditLog::file("/var/log/reviewer/audit.jsonl")?);
//!     let agent = runner.session(Agent::new("reviewer", "me"))?;
//!     let files = agent.start(ServerSpec::stdio("files", "mcp-files").arg(".")).await?;
//!     println!("confined: {}", files.confinement());
//!     match files.call("read_file", serde_json::json!({ "path": "README.md" })).await {
//!         Ok(reply) => println!("{}", reply.text()),
//!         Err(error) if error.is_denied() => println!("{error}"),
//!         Err(error) => return Err(error),
//!     }
//!     files.shutdown().await?;
//!     agent.end()
//! }
//! ```
//!
//! The log lies outside the project: a server writes there. An agent that acts by itself asks first:
//! [`Session::own_call`], [`Session::decide_call`], [`Session::spend`], [`Effect::ended`].
//!
//! # Features
//!
//! Features add parts; none changes a decision.
//!
//! - `cli` (default): the binary `creance`.
//! - `http` (default): remote servers, and an organisation's bundle at an address.
//! - `prove` (default): proofs about policies with the solver cvc5 ([`Solver`]), apart from decisions.
//! - `birdcage` (default): a second wall of the Linux sandbox. It makes the build GPL-3.0-or-later;
//!   `default-features = false` is permissively licensed, with the same guarantees.
//!
//! # The public interface is:
//!
//! - **Running:** [`Runner`], [`Session`], [`ServerSpec`], [`RunningServer`], [`ToolReply`],
//!   [`ToolSummary`], [`CommandSpec`], [`CommandExit`], [`Effect`], [`Error`], [`ErrorKind`].
//! - **Deciding:** [`Decision`], [`Permit`], [`Denial`], [`Action`] and what implements it
//!   ([`StartServer`], [`ReviewTools`], [`CallTool`], [`ReadResource`], [`GetPrompt`], [`ElicitForm`],
//!   [`ElicitUrl`], [`CreateSample`], [`RunCommand`]),
//!   [`Agent`].
//! - **Policies:** [`Policies`], [`PolicySet`], [`PolicySource`], [`Verdict`], [`Explanation`], [`facts`];
//!   [`Solver`], [`Proof`], [`Invariants`].
//! - **People:** [`Approver`], [`Question`], [`Asked`], [`Reply`], [`Answer`], [`DenyAll`], [`Broker`],
//!   [`Prompt`], [`ApprovalSocket`].
//! - **What is kept:** [`AuditLog`], [`AuditSink`], [`Event`], [`Report`], [`Filter`]; [`Ledger`],
//!   [`FileLedger`], [`MemoryLedger`].
//! - **Terms and guarantees:** [`Grant`], [`Launch`], [`Limits`], [`Network`], [`Confinement`],
//!   [`Guarantee`], [`Level`], [`examine`].
//! - **For command lines:** [`Workspace`] and what it reports, [`render`], [`Line`], [`Tone`],
//!   [`wrap_untrusted`].

// The tests of the policy store share their requests with `tests/policy`.
#[cfg(test)]
extern crate self as creance;
/// What benches reach of the private modules. Not part of the public API.
#[doc(hidden)]
pub mod internal;

mod address;
mod audit;
mod clean;
mod config;
mod decision;
mod digest;
mod disk;
mod enforce;
#[cfg(feature = "http")]
mod front;
mod gateway;
mod grant;
mod http;
mod lookup;
mod policy;
mod protocol;
mod request;
mod runner;
mod sandbox;
#[cfg(feature = "http")]
mod signin;
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

pub use address::{HostError, HostName};
pub use audit::{
    AuditError, AuditSink, Checkpoint, CheckpointError, DeniedBy, Event, EventKind, Facts, Fault,
    FaultKind, Filter, Format, Head, HeadError, Loss, LossKind, NoOutcome, Outcome, OutcomeKind,
    Paint, Picker, Receipt, Record, Report, Scope, Shape, StartKey, StartKeyError, Stats, Tally,
    Usage, Verifier, verify,
};
pub use clean::{steers, visible, visible_lines};
pub use config::import::{Client, Moved, Remark};
pub use decision::{Decision, Denial, DenialKind, Permit};
pub use digest::{Digest, DigestBuilder, DigestError, PublicKey, Signature, SignatureError};
pub use disk::{AuditLog, Check, Durability, FileLedger, Follow, Keys, Rotation};
pub use grant::{
    Confinement, Environment, FileStamp, Grant, Guarantee, Launch, Level, Limit, LimitHit, Limits,
    Network, Place, guarded,
};
pub use policy::{
    Bundle, BundleError, BundleFiles, BundleMode, Clause, Decided, ExplainedPart, ExplainedPolicy,
    Explanation, KeyError, Manifest, PolicyCover, PolicyEffect, PolicyInfo, PolicyOutcome,
    PolicyProblem, PolicySet, PolicySource, PolicyTest, Replay, SigningKey, StoreParts, TestReport,
    TestResult, Truth, Verdict, VerdictPart, facts,
};
#[cfg(feature = "prove")]
pub use policy::{Counterexample, Invariants};
pub use request::{
    Act, Action, Agent, Answer, Approver, ArgPath, Asked, AuthKind, Because, CallTool, Channel,
    Confinee, ConnectHost, ConnectServer, CreateSample, DenyAll, Detail, ElicitForm, ElicitUrl,
    Entry, EnvFacts, GetPrompt, Holding, HostRule, HostRuleError, IncludeContext, Key, Layer,
    Ledger, LedgerError, LinkScheme, MemoryLedger, ModelFacts, NetworkWish, PathFacts, Pin,
    PinKind, PinRecord, Places, Principal, ProgramFacts, Project, Query, Question, ReadResource,
    Reply, ReviewTools, Risk, Role, Run, RunCommand, RunnerKind, Scheme, ServerFacts, ServerId,
    SignIn, Source, StartServer, ToolClaims, ToolFacts, Transport, Trigger, Wish,
};
pub use runner::{
    BundleInfo, Changed, CommandExit, CommandSpec, Draft, Effect, Error, ErrorKind, ExportReport,
    Forecast, ImportOptions, ImportPlan, ImportReport, Leaving, NoticePlace, Outlook, Policies,
    PolicyFiles, PolicyImport, PolicyNotice, Posture, Reach, Relocked, RollbackReport, Runner,
    RunningServer, ServerImport, ServerReport, ServerSpec, Session, Shadow, ToolOutlook, ToolReply,
    ToolSummary, TypedTool, Untyped, Workspace, WorkspaceOptions, read_bundle, replace_file,
    verify_bundle, write_file,
};
#[cfg(feature = "http")]
pub use runner::{HttpOptions, HttpServer};
#[cfg(feature = "prove")]
pub use runner::{Proof, ProofStep, Proved, Solver};
pub use sandbox::{
    BackendReport, DoctorReport, EscapeResult, EscapeVerdict, Exit, MachineFacts, SelfTest,
    examine, self_test,
};
pub use terminal::{
    ApprovalError, ApprovalSocket, Broker, Colour, Line, Outcome as ApprovalOutcome, Prompt, Tone,
    Waiting, render, scan as scan_questions, send as send_answer, stdout_width, wrap_untrusted,
};
