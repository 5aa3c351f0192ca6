//! What a server asks back: forms, links, requests to a model.

use std::collections::HashSet;

use cedar_policy_core::ast::EntityUID;

use crate::address::{HostName, Locality, judge};
use crate::policy::vocabulary::{TYPES, uid};
use crate::request::{CreateSample, ElicitForm, ElicitUrl, ModelFacts};

use super::build::{Entities, literal, member, number, text, texts};
use super::host;
use super::question::Fields;

/// A form, for the person.
pub(super) fn form(entities: &mut Entities<'_>, form: &ElicitForm) -> (EntityUID, Fields) {
    let user = uid(&TYPES.user, &form.user);
    entities.add(&user, [], HashSet::new());
    let fields = vec![
        ("fields", texts(form.fields.iter().map(String::as_str))),
        ("sensitive", literal(form.sensitive)),
        ("during_call", literal(form.during_call)),
        ("asked_this_session", number(form.asked_this_session)),
    ];
    (user, fields)
}

/// A link, with the class of the address that its host names.
pub(super) fn link(entities: &mut Entities<'_>, link: &ElicitUrl) -> (EntityUID, Fields) {
    let fields = vec![
        ("scheme", member(&TYPES.scheme, link.scheme.name())),
        ("port", number(u64::from(link.port))),
        ("ip_class", member(&TYPES.ip_class, class(&link.host))),
        ("url", text(link.url.as_str())),
        ("url_length", number(link.url_length)),
        ("same_site_as_server", literal(link.same_site_as_server)),
        ("during_call", literal(link.during_call)),
    ];
    (host::add(entities, &link.host), fields)
}

/// `localhost` needs no look-up; other names are not looked up for a link that a browser opens.
fn class(host: &HostName) -> &'static str {
    match (host.address(), host.locality()) {
        (Some(address), _) => judge(address).class.name(),
        (None, Locality::Localhost) => "loopback",
        (None, Locality::SingleLabel | Locality::SpecialUse) => "private",
        (None, Locality::Public) => "unresolved",
    }
}

/// A request to a model.
pub(super) fn sample(entities: &mut Entities<'_>, sample: &CreateSample) -> (EntityUID, Fields) {
    let fields = vec![
        ("depth", number(sample.depth)),
        ("concurrent", number(sample.concurrent)),
        ("this_session", number(sample.this_session)),
        ("max_tokens", number(sample.max_tokens)),
        ("input_bytes", number(sample.input_bytes)),
        (
            "include_context",
            member(&TYPES.include_context, sample.include_context.name()),
        ),
        ("tools", texts(sample.tools.iter().map(String::as_str))),
        ("during_call", literal(sample.during_call)),
    ];
    (model(entities, &sample.model), fields)
}

fn model(entities: &mut Entities<'_>, model: &ModelFacts) -> EntityUID {
    let name = uid(&TYPES.model, &model.name);
    let provider = model.name.split_once('/');
    let provider = provider.map_or("local", |(provider, _)| provider);
    let attributes = [
        ("name", text(model.name.as_str())),
        ("local", literal(model.local)),
    ];
    let above = HashSet::from([uid(&TYPES.provider, provider)]);
    entities.add(&name, attributes, above);
    name
}
