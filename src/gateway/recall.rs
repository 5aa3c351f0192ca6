//! Ends servers that may not run any more when other policies came into force.

use std::sync::Arc;

use serde_json::json;

use crate::clean;
use crate::enforce::{Server, launch};

use super::member::{Member, State};
use super::serve::Gateway;

impl Gateway {
    /// Weighs the start of each running server again. One that would now be denied, whatever
    /// anybody answers, is ended; one that would be asked about runs on, since somebody agreed to it.
    pub(super) async fn recall(&self) {
        for member in self.members() {
            if let Some(server) = member.server()
                && let Some(why) = launch::denied_now(self.line(), &self.client().agent(), &server)
            {
                self.end_denied(member, server, why).await;
            }
        }
        self.tools_changed();
    }

    async fn end_denied(&self, member: &Arc<Member>, server: Arc<Server>, why: String) {
        let said = clean::line(&why, 500);
        tracing::warn!(server = %member.id(), "ended, as policy denies it now: {said}");
        self.note(
            "server-recalled",
            json!({ "server": member.id().to_string(), "why": said }),
        );
        member.set(State::Denied(why));
        self.tools_changed();
        server.shutdown().await;
    }
}
