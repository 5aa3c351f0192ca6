//! Subscriptions: what the client wants to hear of. A legacy client subscribes to addresses one by one,
//! a modern one opens streams with a filter.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clean;
use crate::enforce::fetch;
use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::Listing;
use crate::protocol::mcp::era::{self, META_SUBSCRIPTION};
use crate::protocol::rpc::{INVALID_PARAMS, Id, METHOD_NOT_FOUND, Notification, RpcError};
use crate::request::ServerId;
use crate::transport::Cancel;

use super::dispatch::Manner;
use super::member::Member;
use super::serve::Gateway;

/// The most addresses that one client subscribes to, and the most streams that it opens.
const ADDRESSES_MAX: usize = 1_000;
const STREAMS_MAX: usize = 32;

/// What the client subscribed to.
#[derive(Debug, Default)]
pub(super) struct Subscriptions(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    /// Addresses of a legacy client.
    single: BTreeSet<String>,
    /// Streams of a modern client.
    streams: HashMap<Id, Filter>,
    /// Which server each address was found at.
    owners: HashMap<String, ServerId>,
}

/// What a stream tells of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) addresses: BTreeSet<String>,
}

impl Filter {
    fn read(params: Option<&Object>) -> Result<Self, RpcError> {
        let refuse = |text: &str| Err(RpcError::new(INVALID_PARAMS, text));
        let Some(Json::Object(wanted)) = params.and_then(|params| params.get("notifications"))
        else {
            return refuse("`params.notifications` must be an object");
        };
        let truth = |key| wanted.get(key).and_then(Json::as_bool) == Some(true);
        let mut addresses = BTreeSet::new();
        match wanted.get("resourceSubscriptions") {
            None | Some(Json::Null) => {}
            Some(Json::Array(items)) if items.len() <= ADDRESSES_MAX => {
                for item in items {
                    match item {
                        Json::String(uri) => addresses.insert(uri.clone()),
                        _ => return refuse("`resourceSubscriptions` must be strings"),
                    };
                }
            }
            Some(_) => return refuse("`resourceSubscriptions` must be an array, and not too long"),
        }
        Ok(Self {
            tools: truth("toolsListChanged"),
            prompts: truth("promptsListChanged"),
            resources: truth("resourcesListChanged"),
            addresses,
        })
    }

    fn wants(&self, listing: Listing) -> bool {
        match listing {
            Listing::Tools => self.tools,
            Listing::Prompts => self.prompts,
            Listing::Resources | Listing::Templates => self.resources,
        }
    }

    /// Whether it tells of nothing.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As it stands in `notifications`: what is not wanted is left out.
    pub(super) fn to_json(&self) -> Json {
        let mut wanted = Object::default();
        for (key, is) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ] {
            if is {
                wanted.insert(key, Json::Bool(true));
            }
        }
        if !self.addresses.is_empty() {
            let addresses = self.addresses.iter().cloned().map(Json::String);
            wanted.insert("resourceSubscriptions", Json::Array(addresses.collect()));
        }
        wanted.into()
    }
}

impl Held {
    /// All addresses that are wanted.
    fn wanted(&self) -> BTreeSet<&String> {
        let streams = self.streams.values().flat_map(|filter| &filter.addresses);
        self.single.iter().chain(streams).collect()
    }
}

/// Whether news of one address is news of what was subscribed to: it or something below it.
fn covers(subscribed: &str, uri: &str) -> bool {
    let below = uri.strip_prefix(subscribed);
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || subscribed.ends_with('/'))
}

impl Gateway {
    fn held(&self) -> MutexGuard<'_, Held> {
        let held = self.subscriptions().0.lock();
        held.unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers `resources/subscribe` of a legacy client.
    pub(super) async fn subscribe(&self, params: Option<&Object>) -> Result<Json, RpcError> {
        let uri = super::fetch::text_of(params, "uri")?.to_owned();
        let owner = self.subscribable(&uri).await?;
        {
            let mut held = self.held();
            if held.single.len() >= ADDRESSES_MAX {
                let text = format!("at most {ADDRESSES_MAX} resources are subscribed to");
                return Err(RpcError::new(INVALID_PARAMS, text));
            }
            held.single.insert(uri.clone());
            held.owners.insert(uri, owner);
        }
        self.share_subscriptions();
        Ok(Json::Object(Object::default()))
    }

    /// Answers `resources/unsubscribe` of a legacy client.
    pub(super) fn unsubscribe(&self, params: Option<&Object>) -> Result<Json, RpcError> {
        let uri = super::fetch::text_of(params, "uri")?;
        self.held().single.remove(uri);
        self.share_subscriptions();
        Ok(Json::Object(Object::default()))
    }

    /// The server whose resource may be subscribed to.
    async fn subscribable(&self, uri: &str) -> Result<ServerId, RpcError> {
        let seat = self.owner_or_revived(uri).await?;
        let id = seat.member.id().clone();
        let shown = clean::line(&id.to_string(), 120);
        if !seat.server.hello.offers_part("resources", "subscribe") {
            let text = format!("the server {shown} tells of no changes of its resources");
            return Err(RpcError::new(METHOD_NOT_FOUND, text));
        }
        let action = fetch::reading(&seat.server, uri);
        if fetch::hopeless(self.line(), &self.client().agent(), &action) {
            let text = format!("policy denies reading this resource of {shown}");
            return Err(RpcError::new(super::pipeline::DENIED, text));
        }
        Ok(id)
    }

    /// Gives each server the addresses that are wanted of it.
    fn share_subscriptions(&self) {
        let mut shares: HashMap<ServerId, BTreeSet<String>> = HashMap::new();
        {
            let held = self.held();
            let owned = held.wanted().into_iter();
            let owned = owned.filter_map(|uri| Some((uri, held.owners.get(uri)?)));
            for (uri, owner) in owned {
                shares.entry(owner.clone()).or_default().insert(uri.clone());
            }
        }
        for member in self.members() {
            member.subscribe(shares.remove(member.id()).unwrap_or_default());
        }
    }

    /// Serves `subscriptions/listen` of a modern client until it is cancelled or the gateway closes.
    pub(super) fn listen(&self, id: Id, params: Option<&Object>) {
        let filter = Filter::read(params);
        let cancel = Cancel::default();
        self.keep_call(&id, &cancel);
        let Some(gateway) = self.handle().upgrade() else {
            return;
        };
        self.spawn(async move {
            let full = gateway.held().streams.len() >= STREAMS_MAX;
            match filter {
                Ok(filter) if !full => gateway.stream(&id, filter, &cancel).await,
                Ok(_) => {
                    let text = format!("at most {STREAMS_MAX} streams are open at a time");
                    let error = RpcError::new(INVALID_PARAMS, text);
                    gateway
                        .answer_as(id.clone(), era::LISTEN, Manner::Modern, Err(error))
                        .await;
                }
                Err(error) => {
                    gateway
                        .answer_as(id.clone(), era::LISTEN, Manner::Modern, Err(error))
                        .await
                }
            }
            gateway.forget_call(&id);
        });
    }

    async fn stream(&self, id: &Id, mut filter: Filter, cancel: &Cancel) {
        let mut owners = HashMap::new();
        for uri in std::mem::take(&mut filter.addresses) {
            // What no server tells of is left out of what is acknowledged.
            if let Ok(owner) = self.subscribable(&uri).await {
                owners.insert(uri.clone(), owner);
                filter.addresses.insert(uri);
            }
        }
        let mut params = Object::default();
        era::with_meta(&mut params, META_SUBSCRIPTION, id.to_json());
        params.insert("notifications", filter.to_json());
        let wire = self.client().wire();
        // A client that reads no more closes its output too.
        let _ = wire
            .notify("notifications/subscriptions/acknowledged", Some(params))
            .await;
        {
            let mut held = self.held();
            held.streams.insert(id.clone(), filter);
            held.owners.extend(owners);
        }
        self.share_subscriptions();
        cancel.cancelled().await;
        self.held().streams.remove(id);
        self.share_subscriptions();
        if self.is_closing() {
            let mut end = Object::default();
            era::with_meta(&mut end, META_SUBSCRIPTION, id.to_json());
            self.answer_as(id.clone(), era::LISTEN, Manner::Modern, Ok(end.into()))
                .await;
        }
    }

    /// Tells the client that a list may be another now.
    pub(super) async fn tell_changed(&self, listing: Listing) {
        let method = match listing {
            Listing::Tools => "notifications/tools/list_changed",
            Listing::Prompts => "notifications/prompts/list_changed",
            Listing::Resources | Listing::Templates => "notifications/resources/list_changed",
        };
        let wire = self.client().wire();
        if self.client().is_legacy() {
            // A client that reads no more closes its output too: the loop ends then.
            let _ = wire.notify(method, None).await;
        }
        for id in self.streams(|filter| filter.wants(listing)) {
            let _ = wire.notify(method, Some(tagged(&id, None))).await;
        }
    }

    /// Passes on that a resource changed, to whoever subscribed to it. Dropped where the client is
    /// slow to read.
    pub(super) fn pass_update(&self, member: &Member, note: &Notification) {
        let uri = note.params.as_ref().and_then(|params| params.get("uri"));
        let Some(uri) = uri.and_then(Json::as_str) else {
            return;
        };
        let its_own = |held: &Held, subscribed: &String| {
            covers(subscribed, uri) && held.owners.get(subscribed) == Some(member.id())
        };
        let single = {
            let held = self.held();
            held.single
                .iter()
                .any(|subscribed| its_own(&held, subscribed))
        };
        let mut params = Object::default();
        params.insert("uri", Json::String(uri.to_owned()));
        let wire = self.client().wire();
        let method = "notifications/resources/updated";
        if single {
            wire.offer(method, Some(params.clone()));
        }
        let streams: Vec<Id> = {
            let held = self.held();
            let hears = |filter: &Filter| filter.addresses.iter().any(|one| its_own(&held, one));
            let streams = held.streams.iter().filter(|(_, filter)| hears(filter));
            streams.map(|(id, _)| id.clone()).collect()
        };
        for id in streams {
            wire.offer(method, Some(tagged(&id, Some(params.clone()))));
        }
    }

    fn streams(&self, wants: impl Fn(&Filter) -> bool) -> Vec<Id> {
        let held = self.held();
        let streams = held.streams.iter().filter(|(_, filter)| wants(filter));
        streams.map(|(id, _)| id.clone()).collect()
    }
}

/// Parameters that say which stream they belong to.
fn tagged(id: &Id, params: Option<Object>) -> Object {
    let mut params = params.unwrap_or_default();
    era::with_meta(&mut params, META_SUBSCRIPTION, id.to_json());
    params
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn news_of_what_lies_below_are_news() {
        for (subscribed, uri, want) in [
            ("file:///a", "file:///a", true),
            ("file:///a", "file:///a/b", true),
            ("file:///a/", "file:///a/b", true),
            ("file:///a", "file:///ab", false),
            ("file:///a/b", "file:///a", false),
        ] {
            assert_eq!(covers(subscribed, uri), want, "{subscribed} {uri}");
        }
    }
}
