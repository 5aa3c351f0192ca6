//! Prompts and resources of all connected servers. Prompts have listed names as tools have; an address
//! of a resource stays as it is, and belongs to the first server that lists it or whose template it
//! fits.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::clean;
use crate::enforce::{Server, fetch, reply};
use crate::protocol::json::Json;
use crate::protocol::mcp::{Listing, template};
use crate::protocol::names::{self, CLIENT_PREFIX};
use crate::transport::CallError;

use super::catalogue::listed_id;
use super::member::{Member, State};
use super::serve::Gateway;

/// A running server.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) member: Arc<Member>,
    pub(super) server: Arc<Server>,
}

/// A prompt as it is offered.
#[derive(Clone, Debug)]
pub(super) struct Prompt {
    pub(super) seat: Seat,
    /// Its true name.
    pub(super) name: String,
    /// The name that the client knows.
    pub(super) listed: String,
    raw: Json,
}

impl Gateway {
    /// The servers that run, in the order of configuration.
    pub(super) fn seats(&self) -> Vec<Seat> {
        let seat = |member: &Arc<Member>| {
            Some(Seat {
                member: Arc::clone(member),
                server: member.server()?,
            })
        };
        self.members().iter().filter_map(seat).collect()
    }

    /// One list of each server, side by side. A server whose list breaks a bound is refused.
    pub(super) async fn lists(&self, listing: Listing) -> Vec<(Seat, Arc<Vec<Json>>)> {
        let mut reads = JoinSet::new();
        for (at, seat) in self.seats().into_iter().enumerate() {
            reads.spawn(async move {
                let items = seat.server.listed(listing).await;
                (at, seat, items)
            });
        }
        let mut lists = Vec::new();
        while let Some(read) = reads.join_next().await {
            match read {
                Ok((at, seat, Ok(items))) => lists.push((at, seat, items)),
                Ok((_, seat, Err(CallError::Reply(why)))) => {
                    self.refuse(&seat.member, &seat.server, &why);
                }
                // It says by itself when it is gone.
                _ => {}
            }
        }
        lists.sort_by_key(|(at, _, _)| *at);
        let in_order = lists.into_iter();
        in_order.map(|(_, seat, items)| (seat, items)).collect()
    }

    /// The prompts of all servers under their listed names.
    pub(super) async fn prompts(&self) -> Vec<Prompt> {
        let mut found = Vec::new();
        for (seat, items) in self.lists(Listing::Prompts).await {
            for raw in items.iter().filter(|raw| is_plain_prompt(raw)) {
                let name = raw.get("name").and_then(Json::as_str).unwrap_or_default();
                found.push((seat.clone(), name.to_owned(), raw.clone()));
            }
        }
        let pairs = found
            .iter()
            .map(|(seat, name, _)| (listed_id(seat.member.id(), self.members()), name.clone()))
            .collect();
        names::expose(self.settings().names, CLIENT_PREFIX, pairs)
            .into_iter()
            .zip(found)
            .map(|(exposed, (seat, name, raw))| Prompt {
                seat,
                name,
                listed: exposed.name,
                raw,
            })
            .collect()
    }

    /// The items of `prompts/list`: all but those that policy denies whatever their arguments.
    pub(super) async fn list_prompts(&self) -> Vec<Json> {
        let agent = self.client().agent();
        let prompts = self.prompts().await;
        let allowed = prompts.into_iter().filter(|prompt| {
            let action = fetch::getting(&prompt.seat.server, &prompt.name, Vec::new());
            !fetch::hopeless(self.line(), &agent, &action)
        });
        allowed
            .map(|prompt| {
                let mut item = described(&prompt.seat, &prompt.raw);
                if let Some(members) = item.as_object_mut() {
                    members.insert("name", Json::String(prompt.listed));
                }
                item
            })
            .collect()
    }

    /// The items of `resources/list` or `resources/templates/list`. Of an address that two servers
    /// list, the first one's item stays.
    pub(super) async fn list_resources(&self, listing: Listing) -> Vec<Json> {
        let agent = self.client().agent();
        let mut seen = HashSet::new();
        let mut items = Vec::new();
        for (seat, list) in self.lists(listing).await {
            let fresh = list.iter().filter(|raw| {
                let uri = address(listing, raw);
                is_plain(uri) && seen.insert(uri.to_owned())
            });
            // Of a template it is not known what will be read.
            let own = fresh.filter(|raw| {
                let action = fetch::reading(&seat.server, address(listing, raw));
                listing != Listing::Resources || !fetch::hopeless(self.line(), &agent, &action)
            });
            items.extend(own.map(|raw| described(&seat, raw)));
        }
        items
    }

    /// The server that an address belongs to.
    pub(super) async fn owner(&self, uri: &str) -> Option<Seat> {
        if !is_plain(uri) {
            return None;
        }
        let listed = self.lists(Listing::Resources).await;
        let lists = |items: &[Json]| {
            items
                .iter()
                .any(|raw| address(Listing::Resources, raw) == uri)
        };
        if let Some((seat, _)) = listed.into_iter().find(|(_, items)| lists(items)) {
            return Some(seat);
        }
        let templates = self.lists(Listing::Templates).await;
        let fits = |items: &[Json]| {
            let mut templates = items.iter().map(|raw| address(Listing::Templates, raw));
            templates.any(|text| text == uri || template::matches(text, uri))
        };
        let mut found = templates.into_iter().filter(|(_, items)| fits(items));
        found.next().map(|(seat, _)| seat)
    }

    /// Starts servers again that stopped; whether any runs now that did not.
    pub(super) async fn revive(&self) -> bool {
        let mut revived = false;
        for member in self.members() {
            if matches!(member.state(), State::Stopped(_)) && member.may_restart() {
                self.bring_up(member).await;
                revived |= member.server().is_some();
            }
        }
        revived
    }

    /// What of a server's resources is not listed, and why: for its state.
    pub(super) fn unlisted(&self, member: &Member) -> Vec<String> {
        let of = [Listing::Resources, Listing::Templates].into_iter();
        of.flat_map(|listing| self.unlisted_of(member, listing))
            .collect()
    }

    fn unlisted_of(&self, member: &Member, listing: Listing) -> Vec<String> {
        let words = listing.words();
        let mut seen: HashSet<String> = HashSet::new();
        for seat in self.seats() {
            let items = seat.server.on_shelf(listing);
            let uris = items.iter().map(|raw| address(listing, raw));
            let (plain, odd): (Vec<&str>, Vec<&str>) = uris.partition(|uri| is_plain(uri));
            let twice = plain.iter().filter(|uri| seen.contains(**uri)).count();
            if seat.member.id() == member.id() {
                let told = [
                    (twice, "another server has the same address"),
                    (odd.len(), "their addresses have hidden characters"),
                ];
                let told = told.into_iter().filter(|(count, _)| *count > 0);
                return told
                    .map(|(count, why)| format!("{count} of its {words} are not listed: {why}"))
                    .collect();
            }
            seen.extend(plain.into_iter().map(str::to_owned));
        }
        Vec::new()
    }
}

/// The address of an item.
fn address(listing: Listing, raw: &Json) -> &str {
    raw.get(listing.name_key())
        .and_then(Json::as_str)
        .unwrap_or_default()
}

/// Whether a text is sent back as it is shown.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && clean::text(text) == text && !text.contains(['\n', '\r', '\t'])
}

/// Whether a prompt's name and the names of its arguments are.
fn is_plain_prompt(raw: &Json) -> bool {
    let name = |item: &Json| {
        let name = item.get("name").and_then(Json::as_str);
        name.is_some_and(is_plain)
    };
    let arguments = raw.get("arguments").and_then(Json::as_array);
    name(raw) && arguments.unwrap_or_default().iter().all(name)
}

/// An item as clients are given it: the server's own, cleaned, and said to be from it.
fn described(seat: &Seat, raw: &Json) -> Json {
    let server = clean::line(&seat.member.id().name, 80);
    let mut item = raw.clone();
    let text = raw.get("description").and_then(Json::as_str);
    let text = clean::description(&server, text.unwrap_or_default());
    reply::clean_strings(&mut item);
    if let Some(members) = item.as_object_mut() {
        members.insert("description", Json::String(text));
    }
    item
}
