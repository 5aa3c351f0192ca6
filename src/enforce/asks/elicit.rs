//! Forms and links for the person.

use serde_json::json;

use crate::clean;
use crate::decision::Permit;
use crate::enforce::reply;
use crate::protocol::asks::{Form, Link, Refused, Reply, links_in};
use crate::protocol::json::{Json, Object};
use crate::protocol::rpc::{INVALID_PARAMS, RpcError};
use crate::request::{ElicitForm, ElicitUrl, LinkScheme};
use crate::transport::Cancel;

use super::hearing::{Answers, Hearing, No, PERSON, no_method};
use super::present;

const METHOD: &str = "elicitation/create";

/// What the author of a server is told whose form seems to ask for a credential.
const GUARD_RAIL: &str = "a form does not ask for credentials (this is a guard rail against \
                          mistakes, and no boundary: send the person to a page of yours by a link)";

/// A server's error: a page must be opened first.
pub(super) const LINKS_REQUIRED: i64 = -32042;

/// Answers `elicitation/create`.
pub(super) async fn answer(
    hearing: Hearing<'_>,
    params: Object,
    cancel: &Cancel,
) -> Result<Json, RpcError> {
    let offers = hearing.offers;
    match params.get("mode").map(Json::as_str) {
        None | Some(Some("form")) if offers.forms.is_made() => form(hearing, params, cancel).await,
        Some(Some("url")) if offers.links.is_made() => {
            let link = Link::read(params).map_err(|refused| hearing.refuse(METHOD, &refused))?;
            let permit = match judge(&hearing, &link, cancel).await {
                Ok(permit) => permit,
                Err(no) => return no.to_elicited(""),
            };
            let id = own_id()?;
            hearing.asker.opens(link.id(), &id);
            let params = link.shown(&hearing.asker.name(), &id);
            let read = |answer: Json| {
                let reply = Reply::read(&answer)?;
                Ok((answer, reply.word(), json!({})))
            };
            let asked = (METHOD, params, PERSON);
            let answered = hearing.put(permit, asked, read, cancel).await;
            answered.or_else(|no| no.to_elicited(""))
        }
        None | Some(Some("form" | "url")) if offers.forms.is_made() || offers.links.is_made() => {
            let why = "the client does not offer this mode of elicitation";
            Err(RpcError::new(INVALID_PARAMS, why))
        }
        None | Some(Some("form" | "url")) => Err(no_method()),
        Some(_) => Err(RpcError::new(INVALID_PARAMS, "`mode` is form or url")),
    }
}

async fn form(hearing: Hearing<'_>, params: Object, cancel: &Cancel) -> Result<Json, RpcError> {
    let form = Form::read(params).map_err(|refused| hearing.refuse(METHOD, &refused))?;
    let secret = form.asks_for_a_secret();
    let note = match &secret {
        Some(what) => format!("{GUARD_RAIL}; noticed: {what}"),
        None => String::new(),
    };
    let name = hearing.asker.name();
    let action = ElicitForm {
        server: hearing.facts.clone(),
        user: hearing.agent.user.clone(),
        message: form.message(),
        fields: form.fields(),
        sensitive: secret.is_some(),
        during_call: hearing.during_call(),
        asked_this_session: hearing.chains.count_asked(&name),
        form: form.digest(),
    };
    let present = |action: &ElicitForm| present::form(action);
    let permit = match hearing.decide(action, present, cancel).await {
        Ok(permit) => permit,
        Err(no) => return no.to_elicited(&note),
    };
    let read = |answer: Json| {
        let reply = form.check(&answer)?;
        let mut details = json!({});
        let content = answer.get("content").filter(|_| reply == Reply::Accept);
        if let (Answers::Recorded, Some(content)) = (hearing.answers, content) {
            let content = clean::mask_value(content.to_value().value);
            details = json!({ "content": content });
        }
        Ok((answer, reply.word(), details))
    };
    let asked = (METHOD, form.shown(&name), PERSON);
    let answered = hearing.put(permit, asked, read, cancel).await;
    answered.or_else(|no| no.to_elicited(&note))
}

/// Judges the links of an error, each as if the server had asked for it by itself. Those that may not
/// be passed on are left out; where none is left, the error is another one.
pub(super) async fn required(hearing: Hearing<'_>, error: &RpcError, cancel: &Cancel) -> RpcError {
    let message = clean::mask(error.message()).into_owned();
    let message = clean::text(&message).into_owned();
    let (mut passed, mut why) = (Vec::new(), Vec::new());
    for link in links_in(error.data()) {
        match pass(&hearing, link, cancel).await {
            Ok(link) => passed.push(Json::Object(link)),
            Err(error) => why.push(error.message().to_owned()),
        }
    }
    if passed.is_empty() {
        let why = match why.is_empty() {
            true => "it names none".to_owned(),
            false => why.join("; "),
        };
        let text = format!("{message}\nCreance: no link of it was passed on: {why}");
        return RpcError::new(-1, text);
    }
    let mut data = error.data().cloned().unwrap_or(Json::Null);
    if let Some(members) = data.as_object_mut() {
        members.remove("elicitations");
    }
    reply::clean_and_mask_strings(&mut data);
    if let Some(members) = data.as_object_mut() {
        members.insert("elicitations", Json::Array(passed));
    }
    RpcError::new(LINKS_REQUIRED, message).with_data(data)
}

async fn pass(
    hearing: &Hearing<'_>,
    link: Result<Link, Refused>,
    cancel: &Cancel,
) -> Result<Object, RpcError> {
    if !hearing.offers.links.is_made() {
        let why = "the client does not offer to open links";
        return Err(RpcError::new(INVALID_PARAMS, why));
    }
    let link = link.map_err(|refused| hearing.refuse(METHOD, &refused))?;
    let permit = judge(hearing, &link, cancel).await;
    let passed = permit.and_then(|permit| hearing.pass(permit));
    passed.map_err(|no| no.to_error(""))?;
    let id = own_id()?;
    hearing.asker.opens(link.id(), &id);
    Ok(link.shown(&hearing.asker.name(), &id))
}

/// Decides whether the person may be sent to a link.
async fn judge(
    hearing: &Hearing<'_>,
    link: &Link,
    cancel: &Cancel,
) -> Result<Permit<ElicitUrl>, No> {
    hearing.chains.count_asked(&hearing.asker.name());
    let action = ElicitUrl {
        server: hearing.facts.clone(),
        url: link.url().to_owned(),
        url_length: u64::try_from(link.url().len()).unwrap_or(u64::MAX),
        scheme: match link.is_secure() {
            true => LinkScheme::Https,
            false => LinkScheme::Http,
        },
        host: link.host().clone(),
        port: link.port(),
        // A server that is a process of this machine has no site.
        same_site_as_server: false,
        during_call: hearing.during_call(),
        link: link.digest(),
    };
    let present = |action: &ElicitUrl| present::link(action, link.message());
    hearing.decide(action, present, cancel).await
}

/// An id that no other server's link has.
fn own_id() -> Result<String, RpcError> {
    crate::disk::random_id().map_err(|error| RpcError::new(-32603, format!("no id: {error}")))
}
