//! Starting servers beside the conversation, and watching them: list changes, stray output, ends.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use tokio::sync::{Notify, watch};

use crate::audit::EventKind;
use crate::clean;
use crate::enforce::StartError;
use crate::enforce::launch::{self, Phase};
use crate::enforce::{Server, hints};
use crate::protocol::mcp::Listing;
use crate::protocol::rpc::Notification;
use crate::transport::{ServerTools, UpstreamEvent, UpstreamEvents};

use super::follow::follow;
use super::member::{Member, State};
use super::review::Reviewer;
use super::serve::Gateway;

impl Gateway {
    /// Starts a server, once, with one retry when it does not answer in time. Returns when its
    /// tools can be used, or a person is asked about them.
    pub(super) async fn bring_up(&self, member: &Arc<Member>) {
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
            Ok((server, list, events)) => {
                let server = Arc::new(server);
                member.set(State::Connected(Arc::clone(&server)));
                let mut ready = self.watch(member, &server, (list, events));
                // It fails when the server ended first: the state then says so.
                let _ = ready.wait_for(|ready| *ready).await;
                return;
            }
            Err(StartError::Denied(denial)) => {
                member.set(State::Denied(denial.for_model()));
                tracing::warn!(server = %member.id(), "{}", clean::line(&denial.to_string(), 2_000));
            }
            Err(StartError::SignIn { origin, .. }) => {
                member.set(State::SignIn(origin));
                tracing::warn!(server = %member.id(), "{}", member.state());
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
    ) -> Result<(Server, ServerTools, UpstreamEvents), StartError> {
        let agent = self.client().agent();
        let watched = Arc::clone(member);
        let phase = |phase: Phase<'_>| match phase {
            Phase::Asking => watched.set(State::Waiting),
            Phase::Starting => watched.set(State::Starting),
            Phase::Connected(newcomer) => self.lend_ear(member, newcomer),
        };
        launch::open(
            self.line(),
            &agent,
            &member.definition,
            Duration::from_millis(limit_ms),
            phase,
        )
        .await
    }

    /// Watches a server until it ends. Its tool lists are reviewed beside that, since a question
    /// about them must not keep its end from being seen.
    fn watch(
        &self,
        member: &Arc<Member>,
        server: &Arc<Server>,
        (list, mut events): (ServerTools, UpstreamEvents),
    ) -> watch::Receiver<bool> {
        let (ready, is_ready) = watch::channel(false);
        let reviewer = Reviewer::new(self.handle(), Arc::clone(member), Arc::clone(server));
        let news = reviewer.news();
        let reviews = self.spawn(reviewer.run(list, ready));
        let (gateway, member) = (self.handle(), Arc::clone(member));
        let server = Arc::clone(server);
        let follows = self.spawn(follow(Arc::clone(&member), Arc::clone(&server)));
        self.greeted(&server);
        self.spawn(async move {
            let why = until_closed(&gateway, (&member, &server), &mut events, &news).await;
            reviews.abort();
            follows.abort();
            if let Some(gateway) = gateway.upgrade() {
                gateway.ended(&member, &server, &why).await;
            }
        });
        is_ready
    }

    /// A server answers: the client is told of what it has beside tools, and it of the client.
    fn greeted(&self, server: &Arc<Server>) {
        self.beside_changed(server);
        let server = Arc::clone(server);
        if let Some(gateway) = self.handle().upgrade() {
            self.spawn(async move { gateway.tell_level_to(&server).await });
        }
    }

    /// Passes on what a server says to the client.
    fn pass(&self, member: &Member, note: &Notification) {
        match note.method.as_str() {
            "notifications/message" => self.pass_log(member, note),
            "notifications/resources/updated" => self.pass_update(member, note),
            _ => {}
        }
    }

    /// What a server has beside tools came or went.
    fn beside_changed(&self, server: &Server) {
        for listing in [Listing::Prompts, Listing::Resources] {
            if server.lists(listing) {
                self.list_changed(listing);
            }
        }
    }

    /// A server ended. Said once when it was not planned.
    async fn ended(&self, member: &Arc<Member>, server: &Arc<Server>, why: &str) {
        if self.is_closing() {
            return;
        }
        let exit = server.ended().await.map(|exit| exit.to_string());
        // It was refused, and its end is no news.
        let current = member.server().is_some_and(|now| Arc::ptr_eq(&now, server));
        if !current {
            return;
        }
        let how = match &exit {
            Some(exit) => format!("it {exit}"),
            None => why.to_owned(),
        };
        let mut text = format!("{how}; its tools now fail");
        if !member.may_restart() {
            text.push_str(" (it stopped too often and is not started again)");
        }
        let tail = clean::mask(&server.upstream.stderr_tail()).into_owned();
        let home = self.line().ground.home.as_deref();
        if server.elsewhere().is_none()
            && let Some(hint) = hints::hint(&server.definition, home, &tail)
        {
            text.push_str(&format!("; perhaps: {hint}"));
        }
        if !tail.is_empty() {
            text.push_str(&format!("; its last words:\n{tail}"));
        }
        tracing::warn!(server = %member.id(), "{}", clean::line(&text, 2_000));
        self.note(
            "server-stopped",
            json!({
                "server": member.id().to_string(),
                "started_by": server.started_by(),
                "exit": exit,
            }),
        );
        member.set(State::Stopped(text));
        self.tools_changed();
        self.beside_changed(server);
    }

    /// Puts on record what happened by itself.
    pub(super) fn note(&self, name: &str, details: serde_json::Value) {
        let note = EventKind::Note {
            name: name.to_owned(),
            details,
        };
        if let Err(error) = self.line().point.note(note) {
            tracing::error!("{error}");
        }
    }
}

/// Heeds events until the server is gone; why it is.
async fn until_closed(
    gateway: &Weak<Gateway>,
    (member, server): (&Member, &Server),
    events: &mut UpstreamEvents,
    news: &Notify,
) -> String {
    while let Some(event) = events.next().await {
        match event {
            UpstreamEvent::Changed(Listing::Tools) => news.notify_one(),
            UpstreamEvent::Changed(listing) => {
                server.restock(listing);
                if let Some(gateway) = gateway.upgrade() {
                    gateway.list_changed(listing);
                }
            }
            UpstreamEvent::Closed(why) => return why,
            UpstreamEvent::Note(note) => {
                if let Some(gateway) = gateway.upgrade() {
                    gateway.pass(member, &note);
                }
                heed(member, UpstreamEvent::Note(note));
            }
            other => heed(member, other),
        }
    }
    String::new()
}

/// What a server said beside its answers. It cannot fill the log: of stray lines the first is
/// shown, and then each time that their number has grown tenfold.
fn heed(member: &Member, event: UpstreamEvent) {
    match event {
        UpstreamEvent::Note(note) => {
            let text = clean::line(&clean::mask(&data(&note)), 500);
            tracing::info!(server = %member.id(), method = clean::line(&note.method, 80), "{text}");
        }
        UpstreamEvent::NotesDropped(count) => {
            tracing::info!(server = %member.id(), count, "notifications left out");
        }
        UpstreamEvent::Stray { count, sample } => {
            let before = member.stray();
            let total = member.count_stray(count);
            if before == 0 || total.ilog10() > before.ilog10() {
                let sample = clean::line(&clean::mask(&sample), 200);
                tracing::warn!(server = %member.id(), total, "set aside output that is no message: {sample}");
            }
        }
        UpstreamEvent::Mended(count) => {
            tracing::info!(server = %member.id(), count, "mended characters in messages");
        }
        UpstreamEvent::Changed(_) | UpstreamEvent::Closed(_) => {}
    }
}

fn data(note: &Notification) -> String {
    let mut text = String::new();
    if let Some(data) = note.params.as_ref().and_then(|p| p.get("data")) {
        data.write_to(&mut text);
    }
    text
}
