//! Hosts: in each of their domains; the class of an address literal.

use std::collections::HashSet;

use cedar_policy_core::ast::EntityUID;

use crate::address::{HostName, judge};
use crate::policy::vocabulary::{TYPES, uid};

use super::build::{Entities, literal, member, text};

/// Puts a host in.
pub(super) fn add(entities: &mut Entities<'_>, host: &HostName) -> EntityUID {
    let name = uid(&TYPES.host, host.as_str());
    let class = host
        .address()
        .map_or("unresolved", |address| judge(address).class.name());
    let attributes = [
        ("name", text(host.as_str())),
        ("literal_ip", literal(host.address().is_some())),
        ("ip_class", member(&TYPES.ip_class, class)),
    ];
    entities.add(&name, attributes, domains(host));
    name
}

/// Puts in what stands for every host below a domain, `Host::"*.example.com"`: it is in the domain and
/// all above it, and no host itself.
pub(super) fn add_below(entities: &mut Entities<'_>, domain: &HostName) -> EntityUID {
    let text_form = format!("*.{domain}");
    let name = uid(&TYPES.host, &text_form);
    let attributes = [
        ("name", text(text_form)),
        ("literal_ip", literal(false)),
        ("ip_class", member(&TYPES.ip_class, "unresolved")),
    ];
    entities.add(&name, attributes, domains(domain));
    name
}

/// The domains of a URL's host; none where no host can be read.
pub(super) fn domains_of_url(url: &str) -> HashSet<EntityUID> {
    host_of_url(url).map_or_else(HashSet::new, |host| domains(&host))
}

pub(super) fn host_of_url(url: &str) -> Option<HostName> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

pub(super) fn domains(host: &HostName) -> HashSet<EntityUID> {
    if host.address().is_some() {
        return HashSet::new();
    }
    std::iter::successors(Some(host.as_str()), |name| {
        name.split_once('.').map(|(_, parent)| parent)
    })
    .map(|domain| uid(&TYPES.domain, domain))
    .collect()
}
