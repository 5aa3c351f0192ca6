//! Starting servers beside the conversation, and watching them: list changes, stray output, ends.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::audit::EventKind;
use crate::clean;
use crate::enforce::launch::{self, StartError};
use crate::enforce::{Server, tools};
use crate::transport::{UpstreamEvent, UpstreamEvents};

use super::member::{Member, State};
use super::serve::Gateway;

impl Gateway {
    /// Starts a server, once, with one retry when it does not answer in time.
    pub(super) async fn bring_up(self: &Gateway, member: &Arc<Member>) {
        if !member.claim_start() {
            return;
        }
        let limit = member
            .definition
            .start_timeout_ms
            .unwrap_or(self.settings().start_timeout_ms);
        let mut outcome = self.start(member, limit).await;
        if let Err(StartError::Handshake { error, .. }) = &outcome
            && error.is_timeout()
        {
            tracing::warn!(server = %member.id(), "still starting, one more try");
            outcome = self.start(member, limit).await;
        }
        match outcome {
            Ok((server, events)) => {
                let server = Arc::new(server);
                member.set(State::Connected(Arc::clone(&server)));
                self.watch(Arc::clone(member), server, events);
            }
            Err(StartError::Denied(denial)) => {
                member.set(State::Denied(denial.to_string()));
                tracing::warn!(server = %member.id(), "{denial}");
            }
            Err(error) => {
                let why = clean::mask(&error.to_string()).into_owned();
                tracing::warn!(server = %member.id(), "{}", clean::line(&why, 2_000));
                member.set(State::Failed(why));
            }
        }
        self.tools_changed();
    }

    async fn start(
        &self,
        member: &Arc<Member>,
        limit_ms: u64,
    ) -> Result<(Server, UpstreamEvents), StartError> {
        let agent = self.client().agent();
        let waits = Arc::clone(member);
        launch::start(
            self.line(),
            &agent,
            &member.definition,
            Duration::from_millis(limit_ms),
            move || waits.set(State::Waiting),
        )
        .await
    }

    fn watch(&self, member: Arc<Member>, server: Arc<Server>, mut events: UpstreamEvents) {
        let gateway = self.handle();
        self.spawn(async move {
            while let Some(event) = events.next().await {
                let Some(gateway) = gateway.upgrade() else {
                    return;
                };
                gateway.heed(&member, &server, event).await;
            }
        });
    }

    async fn heed(&self, member: &Arc<Member>, server: &Server, event: UpstreamEvent) {
        match event {
            UpstreamEvent::ToolsChanged => {
                let agent = self.client().agent();
                if let Err(error) = tools::review(self.line(), &agent, server).await {
                    tracing::warn!(server = %member.id(), "{error}");
                }
                self.tools_changed();
            }
            UpstreamEvent::Note(note) => {
                let mut text = String::new();
                if let Some(data) = note.params.as_ref().and_then(|p| p.get("data")) {
                    data.write_to(&mut text);
                }
                tracing::info!(server = %member.id(), method = note.method, "{}", clean::line(&clean::mask(&text), 500));
            }
            UpstreamEvent::NotesDropped(count) => {
                tracing::info!(server = %member.id(), count, "notifications left out");
            }
            UpstreamEvent::Stray { count, sample } => {
                let sample = clean::line(&clean::mask(&sample), 200);
                tracing::warn!(server = %member.id(), count, "set aside output that is no message: {sample}");
            }
            UpstreamEvent::Mended(count) => {
                tracing::warn!(server = %member.id(), count, "mended characters in messages");
            }
            UpstreamEvent::Closed(why) => self.ended(member, server, &why).await,
        }
    }

    /// A server ended. Said once when it was not planned.
    async fn ended(&self, member: &Arc<Member>, server: &Server, why: &str) {
        if self.is_closing() {
            return;
        }
        let exit = server.ended().await.map(|exit| exit.to_string());
        let tail = clean::mask(&server.upstream.stderr_tail()).into_owned();
        let how = exit.clone().unwrap_or_else(|| why.to_owned());
        let mut text = format!("it {how}; its tools now fail");
        if !tail.is_empty() {
            text.push_str(&format!("; its last words:\n{tail}"));
        }
        tracing::warn!(server = %member.id(), "{}", clean::line(&text, 2_000));
        let noted = self.line().point.note(EventKind::Note {
            name: "server-stopped".to_owned(),
            details: json!({
                "server": member.id().to_string(),
                "started_by": server.started_by(),
                "exit": exit,
            }),
        });
        if let Err(error) = noted {
            tracing::error!("{error}");
        }
        member.set(State::Stopped(text));
        self.tools_changed();
    }
}
