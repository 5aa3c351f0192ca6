//! What is tried, in order. Policies are read from the decisions' records, what a hostile server got
//! is checked from outside as well.

use std::path::Path;

use creance::{
    AuditLog, Confinement, Error, ErrorKind, EventKind, Filter, Guarantee, OutcomeKind,
    RunningServer, Workspace,
};
use serde_json::json;

use super::attempts::THROUGH;
use super::row::{Good, Row, denied, first_line};
use super::scene::{Scene, absent};

/// What a hostile server tries: in words, for the tool, and the guarantee that stands against it.
struct Attack {
    tried: &'static str,
    what: &'static str,
    on: String,
    guarantee: Guarantee,
}

fn attacks(scene: &Scene) -> [Attack; 5] {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let attack = |tried, what, on, guarantee| Attack {
        tried,
        what,
        on,
        guarantee,
    };
    [
        attack(
            "write a file outside the project",
            "write",
            text(&scene.outside()),
            Guarantee::Writes,
        ),
        attack(
            "plant a git hook, also by renaming .git",
            "hook-by-rename",
            text(&scene.project()),
            Guarantee::ProtectedPaths,
        ),
        attack(
            "read ~/.ssh/id_ed25519",
            "read",
            text(&scene.secret()),
            Guarantee::Secrets,
        ),
        attack(
            "connect out",
            "connect",
            scene.address().to_owned(),
            Guarantee::Network,
        ),
        attack("fork bomb", "fork-bomb", String::new(), Guarantee::Limits),
    ]
}

/// The rows of a machine on which policy lets no server start, with what its sandbox lacks.
pub(super) fn not_tried(scene: &Scene, confinement: &Confinement) -> Vec<Row> {
    let untried = |attack: Attack| {
        Row::new(attack.tried, "not tried: nothing runs", "", Good::Yes)
            .held(confinement, attack.guarantee)
    };
    attacks(scene).into_iter().map(untried).collect()
}

/// The server, its stage, and the log in which its calls are decided.
pub(super) struct Acts<'a> {
    pub(super) scene: &'a Scene,
    pub(super) workspace: &'a Workspace,
    pub(super) server: &'a RunningServer,
}

/// The record of a decision, as far as a row shows it.
struct Decided {
    policies: String,
    asked: bool,
    allowed: bool,
}

impl Acts<'_> {
    pub(super) async fn play(&self) -> Result<Vec<Row>, Error> {
        let mut rows = vec![
            self.allowed().await?,
            self.asked().await?,
            self.forbidden().await?,
            self.rug_pull().await?,
        ];
        for attack in attacks(self.scene) {
            rows.push(self.attacked(attack).await);
        }
        Ok(rows)
    }

    /// The last decision on record about an action on a thing.
    fn decided(&self, wanted: &str, on: &str) -> Result<Decided, Error> {
        let filter = Filter {
            action: Some(wanted.to_owned()),
            ..Filter::default()
        };
        let (records, _) = AuditLog::pick(self.workspace.audit_log(), &filter)
            .map_err(|e| Error::message(ErrorKind::Audit, &e.to_string()))?;
        let decided = |kind: &EventKind| match kind {
            EventKind::Decision {
                resource,
                because,
                asked,
                outcome,
                ..
            } if resource == on => {
                let names: Vec<&str> = because.iter().map(|b| b.policy.as_str()).collect();
                Some(Decided {
                    policies: names.join(", "),
                    asked: *asked,
                    allowed: *outcome == OutcomeKind::Allow,
                })
            }
            _ => None,
        };
        let mut found = records.iter().rev().map(|record| &record.event.kind);
        found.find_map(decided).ok_or_else(|| {
            Error::message(
                ErrorKind::Audit,
                &format!("no record of {wanted} on {on} is in the log"),
            )
        })
    }

    async fn allowed(&self) -> Result<Row, Error> {
        let reply = self.server.call("note_add", json!({"text": "hello"})).await;
        let decided = self.decided("tool.call", "user/demo/note_add")?;
        let (happened, good) = match reply {
            Ok(reply) => (format!("done: {}", reply.text()), !decided.asked),
            Err(error) => (first_line(&error), false),
        };
        Ok(Row::new(
            "call note_add",
            happened,
            decided.policies,
            good.into(),
        ))
    }

    async fn asked(&self) -> Result<Row, Error> {
        let reply = self.server.call("note_publish", json!({})).await;
        let decided = self.decided("tool.call", "user/demo/note_publish")?;
        let (happened, good) = match reply {
            Ok(reply) if decided.asked => (
                format!("asked; the demo said once; done: {}", reply.text()),
                Good::Yes,
            ),
            Ok(_) => ("done without a question".to_owned(), Good::No),
            Err(error) => (first_line(&error), Good::No),
        };
        Ok(Row::new(
            "call note_publish",
            happened,
            decided.policies,
            good,
        ))
    }

    async fn forbidden(&self) -> Result<Row, Error> {
        let reply = self.server.call("note_delete", json!({})).await;
        let decided = self.decided("tool.call", "user/demo/note_delete")?;
        let (happened, good) = match reply {
            Ok(_) => ("done".to_owned(), Good::No),
            Err(error) => (
                denied(&error),
                (error.is_denied() && !decided.allowed).into(),
            ),
        };
        Ok(Row::new(
            "call note_delete",
            happened,
            decided.policies,
            good,
        ))
    }

    async fn rug_pull(&self) -> Result<Row, Error> {
        self.server.call("turn", json!({})).await?;
        let tried = "call note_add after its description changed";
        let reply = self.server.call("note_add", json!({"text": "x"})).await;
        let decided = self.decided("server.tools", "user/demo")?;
        Ok(match reply {
            Ok(_) => Row::new(tried, "done", decided.policies, Good::No),
            Err(error) => Row::new(
                tried,
                first_line(&error),
                decided.policies,
                (!decided.allowed).into(),
            ),
        })
    }

    async fn attacked(&self, attack: Attack) -> Row {
        let arguments = json!({"what": attack.what, "on": attack.on});
        let (happened, stopped) = match self.server.call("attempt", arguments).await {
            Ok(reply) => {
                let text = reply.text();
                let stopped = !text.starts_with(THROUGH);
                (text, stopped)
            }
            // Then the sandbox was not tried.
            Err(error) => (first_line(&error), false),
        };
        let outside = absent(&self.scene.outside())
            && absent(&self.scene.hook())
            && self.scene.connections() == 0;
        Row::new(attack.tried, happened, "", (stopped && outside).into())
            .held(self.server.confinement(), attack.guarantee)
    }
}
