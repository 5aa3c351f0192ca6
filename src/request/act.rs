//! One request as policy sees it, the sealed set of actions, and the key under which an answer is kept.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

use super::answer::Answer;
use super::ask_back::{CreateSample, ElicitForm, ElicitUrl};
use super::call::{CallTool, GetPrompt, ReadResource};
use super::connect::ConnectHost;
use super::principal::{Agent, Principal, Project};
use super::program::RunCommand;
use super::remote::ConnectServer;
use super::sign_in::SignIn;
use super::start::{ReviewTools, StartServer, Wish};

/// What set a run going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// A person at the command line.
    Person,
    /// An agent's request.
    Agent,
    /// A server's request.
    Server,
    /// A clock.
    Schedule,
}

/// The circumstances of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Now, in milliseconds since the Unix epoch.
    pub now_ms: i64,
    /// The project.
    pub project: Project,
    /// What set it going.
    pub trigger: Trigger,
    /// Whether somebody can be asked now.
    pub attended: bool,
    /// Whether only the decision is wanted.
    pub dry_run: bool,
}

/// One Cedar-level act, by reference to the action it is part of.
#[derive(Clone, Copy, Debug)]
pub enum Act<'a> {
    /// `server.start`
    StartServer(&'a StartServer),
    /// `server.tools`
    ReviewTools(&'a ReviewTools),
    /// `sandbox.read`, `sandbox.write`, `sandbox.network`, `sandbox.env`, `sandbox.socket`
    Wish(&'a Wish),
    /// `sandbox.network`, while it runs
    Connect(&'a ConnectHost),
    /// `server.connect`, at one address
    ConnectServer(&'a ConnectServer, Option<IpAddr>),
    /// `tool.call`
    CallTool(&'a CallTool),
    /// `resource.read`
    ReadResource(&'a ReadResource),
    /// `prompt.get`
    GetPrompt(&'a GetPrompt),
    /// `elicit.form`
    ElicitForm(&'a ElicitForm),
    /// `elicit.url`
    ElicitUrl(&'a ElicitUrl),
    /// `sampling.create`
    CreateSample(&'a CreateSample),
    /// `exec.run`
    RunCommand(&'a RunCommand),
    /// `oauth.sign_in`
    SignIn(&'a SignIn),
}

/// One request to the policy store.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The agent on whose behalf everything happens.
    pub agent: &'a Agent,
    /// Who acts.
    pub principal: Principal<'a>,
    /// What is done.
    pub act: Act<'a>,
    /// The circumstances.
    pub run: &'a Run,
}

impl<'a> Query<'a> {
    pub(crate) fn new(
        agent: &'a Agent,
        principal: Principal<'a>,
        act: Act<'a>,
        run: &'a Run,
    ) -> Self {
        Self {
            agent,
            principal,
            act,
            run,
        }
    }
}

/// Whether lasting answers about several states of one thing hold side by side.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Holding {
    /// They do: two calls with other arguments.
    #[default]
    Each,
    /// The latest alone does: who agrees to a changed server for good no longer agrees to what it
    /// was, so that going back is a change too.
    Latest,
}

/// Under what a person's answer is kept: an answer holds for a request with the same key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The action's Cedar name.
    pub action: &'static str,
    /// The agent's name, or `*` where the answer is about the thing and not about who asks.
    pub principal: String,
    /// The source-qualified resource.
    pub resource: String,
    /// Digest of what must stay the same.
    pub fingerprint: Digest,
    /// The scope in words, for the question (`this call`, `the tool user/fs/read`).
    pub scope: String,
    /// What becomes of older answers.
    pub holding: Holding,
}

/// Something that takes a decision. Sealed: each has its Cedar action and its enforcer in this crate.
pub trait Action: sealed::Sealed + Clone + std::fmt::Debug + Send + Sync + 'static {
    /// The name of its Cedar action.
    const NAME: &'static str;

    /// The requests to the policy store; the outcome is the weakest of their outcomes.
    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>>;

    /// The keys under which an answer may be kept, from the narrowest scope to the widest.
    fn keys(&self, agent: &Agent) -> Vec<Key>;

    /// The answer that was given to something that this is a part of: nobody is asked for it again.
    fn covered(&self) -> Answer {
        Answer::None
    }
}

mod sealed {
    #[expect(unnameable_types, reason = "a sealed trait is named nowhere else")]
    pub trait Sealed {}
    impl Sealed for super::StartServer {}
    impl Sealed for super::ReviewTools {}
    impl Sealed for super::ConnectHost {}
    impl Sealed for super::ConnectServer {}
    impl Sealed for super::CallTool {}
    impl Sealed for super::ReadResource {}
    impl Sealed for super::GetPrompt {}
    impl Sealed for super::ElicitForm {}
    impl Sealed for super::ElicitUrl {}
    impl Sealed for super::CreateSample {}
    impl Sealed for super::RunCommand {}
    impl Sealed for super::SignIn {}
}
