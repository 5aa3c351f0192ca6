//! Log messages of servers on their way to the client: at the level that it wants, cleaned, and said to
//! be of their server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clean;
use crate::enforce::reply;
use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::LogLevel;
use crate::protocol::rpc::{INVALID_PARAMS, Notification, RpcError};

use super::member::Member;
use super::serve::Gateway;

/// What the client wants to hear.
#[derive(Debug, Default)]
pub(super) struct Logs(Arc<Mutex<Levels>>);

#[derive(Debug, Default)]
struct Levels {
    /// Set by `logging/setLevel`.
    set: Option<LogLevel>,
    /// Wanted by calls of a modern client, as long as they are at work.
    calls: Vec<LogLevel>,
}

impl Levels {
    fn least(&self) -> Option<LogLevel> {
        self.calls.iter().copied().chain(self.set).min()
    }
}

/// A call wants messages, until this is dropped.
#[derive(Debug)]
pub(super) struct Wanted {
    levels: Arc<Mutex<Levels>>,
    level: LogLevel,
}

impl Drop for Wanted {
    fn drop(&mut self) {
        let mut levels = lock(&self.levels);
        if let Some(at) = levels.calls.iter().position(|level| *level == self.level) {
            levels.calls.swap_remove(at);
        }
    }
}

fn lock(levels: &Mutex<Levels>) -> MutexGuard<'_, Levels> {
    levels.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gateway {
    /// Answers `logging/setLevel`: the level holds for servers that run and for those to come.
    pub(super) async fn set_log_level(&self, params: Option<&Object>) -> Result<Json, RpcError> {
        let name = super::fetch::text_of(params, "level")?;
        let Some(level) = LogLevel::from_name(name) else {
            let text = format!("there is no log level `{}`", clean::line(name, 40));
            return Err(RpcError::new(INVALID_PARAMS, text));
        };
        lock(&self.logs().0).set = Some(level);
        self.tell_level().await;
        Ok(Json::Object(Object::default()))
    }

    /// A call wants messages of this level and above while it is at work.
    pub(super) async fn logs_wanted(&self, level: Option<LogLevel>) -> Option<Wanted> {
        let level = level?;
        let levels = Arc::clone(&self.logs().0);
        lock(&levels).calls.push(level);
        self.tell_level().await;
        Some(Wanted { levels, level })
    }

    /// Tells all servers what is wanted now.
    async fn tell_level(&self) {
        let least = lock(&self.logs().0).least();
        if let Some(level) = least {
            for seat in self.seats() {
                seat.server.want_logs(level).await;
            }
        }
    }

    /// Tells a server that has just started.
    pub(super) async fn tell_level_to(&self, server: &crate::enforce::Server) {
        let least = lock(&self.logs().0).least();
        if let Some(level) = least {
            server.want_logs(level).await;
        }
    }

    /// Passes on a log message. Dropped where the client is slow to read.
    pub(super) fn pass_log(&self, member: &Member, note: &Notification) {
        let Some(params) = &note.params else {
            return;
        };
        let level = params.get("level").and_then(Json::as_str);
        let level = level
            .and_then(LogLevel::from_name)
            .unwrap_or(LogLevel::Info);
        let least = lock(&self.logs().0).least();
        // A legacy client hears what servers say without being asked, a modern one what it asked for.
        let least = match (least, self.client().is_legacy()) {
            (None, true) => LogLevel::Info,
            (None, false) => return,
            (Some(least), _) => least,
        };
        if level < least {
            return;
        }
        let mut params = params.clone();
        params.remove("_meta");
        let own = params.get("logger").and_then(Json::as_str);
        let server = clean::line(&member.id().name, 80);
        let logger = match own {
            Some(own) => format!("{server}/{}", clean::line(own, 80)),
            None => server,
        };
        params.insert("level", level.name().into());
        for (_, value) in params.iter_mut() {
            reply::clean_and_mask_strings(value);
        }
        params.insert("logger", Json::String(logger));
        let wire = self.client().wire();
        wire.offer("notifications/message", Some(params));
    }
}
