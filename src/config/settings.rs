//! The settings that stand beside the servers in a user's or an organisation's file.

use super::audit::AuditSettings;

/// How the gateway names tools to its clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ToolNames {
    /// `<server>__<tool>`: for clients that add their own prefix.
    #[default]
    Server,
    /// `mcp__<server>__<tool>`.
    Mcp,
    /// `<tool>`.
    Plain,
}

impl ToolNames {
    /// Every form with its word in the file.
    pub(crate) const ALL: [(&'static str, Self); 3] = [
        ("server", Self::Server),
        ("mcp", Self::Mcp),
        ("plain", Self::Plain),
    ];
}

/// When the audit log is forced to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AuditSync {
    /// In groups, at most 50 ms late.
    #[default]
    Grouped,
    /// At every record.
    Always,
}

impl AuditSync {
    /// Every form with its word in the file.
    pub(crate) const ALL: [(&'static str, Self); 2] =
        [("grouped", Self::Grouped), ("always", Self::Always)];
}

/// Settings of one file, or of all: `None` where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `toolNames`
    pub(crate) tool_names: Option<ToolNames>,
    /// `questionTimeoutMs`: how long an answer is waited for.
    pub(crate) question_timeout_ms: Option<u64>,
    /// `startTimeoutMs`: how long a server may take to start and list its tools.
    pub(crate) start_timeout_ms: Option<u64>,
    /// `audit`
    pub(crate) audit: AuditSettings,
    /// `answers.keepDays`: how long "always" holds.
    pub(crate) keep_days: Option<u64>,
}

impl Settings {
    /// These settings, and those of `weaker` where nothing is said. The organisation's win over the
    /// user's.
    pub(crate) fn or(self, weaker: &Self) -> Self {
        Self {
            tool_names: self.tool_names.or(weaker.tool_names),
            question_timeout_ms: self.question_timeout_ms.or(weaker.question_timeout_ms),
            start_timeout_ms: self.start_timeout_ms.or(weaker.start_timeout_ms),
            audit: self.audit.or(&weaker.audit),
            keep_days: self.keep_days.or(weaker.keep_days),
        }
    }

    /// The form of tool names.
    pub(crate) fn tool_names(&self) -> ToolNames {
        self.tool_names.unwrap_or_default()
    }

    /// How long an answer is waited for: five minutes unless it is set.
    pub(crate) fn question_timeout_ms(&self) -> u64 {
        self.question_timeout_ms.unwrap_or(300_000)
    }

    /// How long a server may take to start: 30 seconds unless it is set.
    pub(crate) fn start_timeout_ms(&self) -> u64 {
        self.start_timeout_ms.unwrap_or(30_000)
    }

    /// How many days "always" holds: 180 unless it is set.
    pub(crate) fn keep_days(&self) -> u64 {
        self.keep_days.unwrap_or(180)
    }

    /// Whether what people fill into the forms of servers goes on record: not unless it is set.
    pub(crate) fn form_answers(&self) -> bool {
        self.audit.form_answers.unwrap_or_default()
    }

    /// When the audit log is forced to the disk.
    pub(crate) fn audit_sync(&self) -> AuditSync {
        self.audit.sync.unwrap_or_default()
    }
}
