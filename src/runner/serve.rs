//! Serves the gateway on this process's standard input and output.

use std::sync::Arc;

use serde_json::json;

use crate::audit::EventKind;
use crate::config::ToolNames;
use crate::enforce::Line;
use crate::gateway::{Client, Elicitation, Gateway, Member, PolicyFiles, Settings};
use crate::protocol::names::NameMode;
use crate::request::{Approver, Trigger};
use crate::terminal::{ApprovalSocket, Broker};
use crate::transport::{self, Downstream};

use super::error::{Error, ErrorKind};
use super::follow::News;
use super::policies::Policies;
use super::spec::ServerSpec;
use super::workspace::Workspace;

impl Workspace {
    /// Serves MCP on standard input and output until the client is gone or a signal comes, then
    /// ends all servers.
    ///
    /// # Errors
    /// When the audit log, the pins or the standard streams cannot be used.
    pub async fn serve(&self) -> Result<(), Error> {
        let (members, mode) = self.configured();
        self.serve_members(members, mode, self.problems.clone())
            .await
    }

    /// Serves one server, given as a command line, under its tools' own names.
    ///
    /// # Errors
    /// As [`Workspace::serve`].
    pub async fn serve_one(&self, spec: ServerSpec) -> Result<(), Error> {
        let member = Member::new(spec.into_definition());
        self.serve_members(vec![member], NameMode::Plain, Vec::new())
            .await
    }

    async fn serve_members(
        &self,
        members: Vec<Member>,
        mode: NameMode,
        problems: Vec<String>,
    ) -> Result<(), Error> {
        let (wire, inbox) = Downstream::connect(transport::stdin(), transport::stdout());
        let opened = For {
            members,
            mode,
            problems,
            user: self.user.clone(),
            over: "stdio",
        };
        let (gateway, line) = self.gateway(wire, opened, &self.policies)?;
        // A task of its own: whoever waits here may be on a thread that would be woken for each message.
        let mut serving = tokio::spawn(Arc::clone(&gateway).serve(inbox));
        let why = tokio::select! {
            _ = &mut serving => "the client is gone",
            () = ended_by_signal() => {
                serving.abort();
                gateway.close().await;
                "a signal"
            }
        };
        line.point
            .end(why)
            .map_err(|e| Error::caused(ErrorKind::Audit, e.to_string(), e))?;
        all_recorded(line.point.unwritten().count)
    }

    /// The configured servers, and how their tools are named.
    pub(super) fn configured(&self) -> (Vec<Member>, NameMode) {
        let mode = match self.settings.tool_names() {
            ToolNames::Server => NameMode::Server,
            ToolNames::Mcp => NameMode::Mcp,
            ToolNames::Plain => NameMode::Plain,
        };
        let members = self.servers.iter().cloned().map(Member::new).collect();
        (members, mode)
    }

    /// A gateway for one client, with a run of its own.
    pub(super) fn gateway(
        &self,
        wire: Downstream,
        opened: For,
        policies: &Policies,
    ) -> Result<(Arc<Gateway>, Arc<Line>), Error> {
        let For {
            members,
            mode,
            problems,
            user,
            over,
        } = opened;
        let client = Arc::new(Client::new(wire, &user));
        let channels: Vec<Arc<dyn Approver>> = vec![
            Arc::new(Elicitation::new(Arc::clone(&client))),
            Arc::new(ApprovalSocket::new(&self.folders.sockets)),
        ];
        let broker = Broker::new(channels).with_limit(self.question_limit());
        let line = Arc::new(self.line_under(policies, Arc::new(broker), Trigger::Agent)?);
        let ids: Vec<String> = members.iter().map(|m| m.id().to_string()).collect();
        line.point
            .note(EventKind::Note {
                name: "gateway-started".to_owned(),
                details: json!({
                    "version": env!("CARGO_PKG_VERSION"),
                    "store": policies.store.digest(),
                    "servers": ids,
                    "over": over,
                    "user": user,
                }),
            })
            .map_err(|e| Error::caused(ErrorKind::Audit, e.to_string(), e))?;
        let settings = Settings {
            names: mode,
            start_timeout_ms: self.settings.start_timeout_ms(),
            record_answers: self.settings.form_answers(),
        };
        let gateway = Gateway::new(Arc::clone(&line), client, settings, members, problems);
        let told = Arc::downgrade(&gateway);
        self.follow_policies(&line, move |news| {
            if let Some(gateway) = told.upgrade() {
                gateway.policies_changed(match news {
                    News::Refused => PolicyFiles::Refused,
                    News::Kept => PolicyFiles::BundleKept,
                    News::Replaced | News::Same => PolicyFiles::InForce,
                });
            }
        });
        Ok((gateway, line))
    }
}

/// For whom a gateway is, and what stands behind it.
pub(super) struct For {
    pub(super) members: Vec<Member>,
    pub(super) mode: NameMode,
    pub(super) problems: Vec<String>,
    /// In whose name it decides.
    pub(super) user: String,
    /// How its client reaches it.
    pub(super) over: &'static str,
}

/// A run whose log has gaps does not end well: what the missing records were for did not happen,
/// or it is not known how it ended.
pub(super) fn all_recorded(unwritten: u64) -> Result<(), Error> {
    match unwritten {
        0 => Ok(()),
        count => Err(Error::new(
            ErrorKind::Audit,
            format!("{count} audit records could not be written"),
        )),
    }
}

/// Waits for the signal that ends this process in order.
#[cfg(unix)]
pub(super) async fn ended_by_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind| async move {
        match signal(kind) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::hangup()) => {}
    }
}

/// Waits for the signal that ends this process in order.
#[cfg(not(unix))]
pub(super) async fn ended_by_signal() {
    let _ = tokio::signal::ctrl_c().await;
}
