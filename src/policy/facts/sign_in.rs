//! A sign-in: the sign-in server in each of its domains, and what is known of the way.

use std::collections::HashSet;
use std::net::IpAddr;

use cedar_policy_core::ast::EntityUID;

use crate::address::judge;
use crate::policy::vocabulary::{TYPES, uid};
use crate::request::SignIn;

use super::build::{Entities, literal, member, number, reference, text, texts};
use super::question::Fields;
use super::{host, who};

pub(super) fn sign_in(entities: &mut Entities<'_>, sign_in: &SignIn) -> (EntityUID, Fields) {
    let server = who::add_server(entities, &sign_in.server);
    let name = uid(&TYPES.issuer, &sign_in.issuer);
    let above: HashSet<EntityUID> = host::domains_of_url(&sign_in.issuer);
    entities.add(&name, [("url", text(sign_in.issuer.as_str()))], above);
    let fields = vec![
        ("server", reference(server)),
        ("scopes", texts(sign_in.scopes.iter().map(String::as_str))),
        ("scope_count", number(sign_in.scopes.len() as u64)),
        (
            "dynamic_registration",
            literal(sign_in.dynamic_registration),
        ),
        ("pkce", literal(sign_in.pkce)),
        (
            "issuer_matches_server",
            literal(sign_in.issuer_matches_server),
        ),
        (
            "ip_class",
            member(&TYPES.ip_class, class(&sign_in.addresses)),
        ),
        ("scheme", member(&TYPES.scheme, scheme(&sign_in.page))),
    ];
    (name, fields)
}

/// From the one that is trusted least: the class of several addresses is that of the worst.
const WORST_FIRST: [&str; 7] = [
    "metadata",
    "link-local",
    "reserved",
    "multicast",
    "loopback",
    "private",
    "public",
];

fn class(addresses: &[IpAddr]) -> &'static str {
    let has = |class: &&str| {
        addresses
            .iter()
            .any(|one| judge(*one).class.name() == *class)
    };
    WORST_FIRST
        .into_iter()
        .find(|class| has(class))
        .unwrap_or("unresolved")
}

fn scheme(page: &str) -> &'static str {
    let told = page.split_once("://").map_or("", |(scheme, _)| scheme);
    ["https", "http"]
        .into_iter()
        .find(|known| *known == told)
        .unwrap_or("other")
}
