//! Asks servers for news because of what the client subscribed to: a legacy server address by address,
//! a modern one by a stream.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::clean;
use crate::enforce::Server;
use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::Era;
use crate::protocol::mcp::era;
use crate::transport::{CallError, CallOptions};

use super::member::Member;
use super::subscribe::Filter;

/// Streams of servers have no limit of their own: they end with the server.
const FOR_EVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// How long a legacy server may take to answer a subscription.
const LIMIT: Duration = Duration::from_secs(30);
/// The rest after a stream that ended by itself.
const REST: Duration = Duration::from_secs(1);

/// Asks one server for what is wanted of it, as long as it runs.
pub(super) async fn follow(member: Arc<Member>, server: Arc<Server>) {
    match server.hello.era {
        Era::Modern => follow_modern(&member, &server).await,
        Era::Legacy(_) => follow_legacy(&member, &server).await,
    }
}

async fn follow_legacy(member: &Member, server: &Server) {
    let mut wanted = member.subscribed();
    let mut asked = BTreeSet::new();
    loop {
        let now = wanted.borrow_and_update().clone();
        let news = now
            .difference(&asked)
            .map(|uri| (uri, "resources/subscribe"));
        let gone = asked
            .difference(&now)
            .map(|uri| (uri, "resources/unsubscribe"));
        for (uri, method) in news.chain(gone) {
            let mut params = Object::default();
            params.insert("uri", Json::String(uri.clone()));
            let options = CallOptions::within(LIMIT);
            let told = server.upstream.request(method, Some(params), options).await;
            if let Err(error) = told {
                say(member, method, &error);
            }
        }
        asked = now;
        if wanted.changed().await.is_err() {
            return;
        }
    }
}

async fn follow_modern(member: &Member, server: &Server) {
    let mut wanted = member.subscribed();
    loop {
        let filter = Filter {
            tools: server.hello.offers_part("tools", "listChanged"),
            prompts: server.hello.offers_part("prompts", "listChanged"),
            resources: server.hello.offers_part("resources", "listChanged"),
            addresses: wanted.borrow_and_update().clone(),
        };
        let listening = async {
            if filter.is_empty() {
                return std::future::pending().await;
            }
            let mut params = Object::default();
            params.insert("notifications", filter.to_json());
            let options = CallOptions::within(FOR_EVER);
            server
                .upstream
                .request(era::LISTEN, Some(params), options)
                .await
        };
        let ended = tokio::select! {
            ended = listening => ended,
            changed = wanted.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        match ended {
            Ok(_) => tokio::time::sleep(REST).await,
            Err(error) => {
                say(member, era::LISTEN, &error);
                // It does not tell of changes now: perhaps of others.
                if wanted.changed().await.is_err() {
                    return;
                }
            }
        }
    }
}

fn say(member: &Member, method: &str, error: &CallError) {
    let error = clean::line(&clean::mask(&error.to_string()), 300);
    tracing::info!(server = %member.id(), method, "{error}");
}
