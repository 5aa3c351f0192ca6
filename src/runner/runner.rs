//! The runner: policies, an audit log, and somebody to ask.

use std::sync::Arc;

use crate::audit::AuditSink;
use crate::policy::PolicySet;
use crate::request::{Agent, Approver, DenyAll, Ledger, MemoryLedger, Trigger};

use super::error::Error;
use super::session::Session;
use super::workspace::{Workspace, WorkspaceOptions};

/// Runs servers and commands under policy, in the sandbox, on record. Cheap to clone.
///
/// Without an approver nobody can be asked, and what needs an answer is denied.
#[derive(Clone, Debug)]
pub struct Runner {
    policies: PolicySet,
    audit: Arc<dyn AuditSink>,
    approver: Arc<dyn Approver>,
    ledger: Arc<dyn Ledger>,
    options: WorkspaceOptions,
}

impl Runner {
    /// A runner with these policies and this audit log. Pins and answers live in memory.
    #[must_use]
    pub fn new(policies: PolicySet, audit: impl AuditSink + 'static) -> Self {
        Self {
            policies,
            audit: Arc::new(audit),
            approver: Arc::new(DenyAll),
            ledger: Arc::new(MemoryLedger::default()),
            options: WorkspaceOptions::of_process(),
        }
    }

    /// Somebody to ask.
    #[must_use]
    pub fn with_approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Arc::new(approver);
        self
    }

    /// Where pins and remembered answers are kept.
    #[must_use]
    pub fn with_ledger(mut self, ledger: impl Ledger + 'static) -> Self {
        self.ledger = Arc::new(ledger);
        self
    }

    /// Another home and working folder than those of this process.
    #[must_use]
    pub fn with_options(mut self, options: WorkspaceOptions) -> Self {
        self.options = options;
        self
    }

    /// A session of one agent.
    ///
    /// # Errors
    /// When the folders of this machine cannot be used.
    pub fn session(&self, agent: Agent) -> Result<Session, Error> {
        let workspace = Workspace::open_with(&self.options)?;
        let line = workspace.line_of(
            self.policies.clone(),
            Arc::clone(&self.audit),
            (Arc::clone(&self.approver), Arc::clone(&self.ledger)),
            Trigger::Agent,
        )?;
        Ok(Session::new(Arc::new(line), agent))
    }
}
