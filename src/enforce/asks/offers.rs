//! What may be asked back at all: what the client offers, and of that what a policy can allow.

use crate::address::HostName;
use crate::digest::Digest;
use crate::enforce::Line;
use crate::protocol::json::{Json, Object};
use crate::request::{
    Action, Agent, CreateSample, ElicitForm, ElicitUrl, IncludeContext, LinkScheme, ServerFacts,
};

use super::sample::any_model;

/// What a client can do for servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    /// Forms.
    pub(crate) forms: Offer,
    /// Links.
    pub(crate) links: Offer,
    /// A model.
    pub(crate) sampling: Offer,
    /// A model that may use tools of the server that asks.
    pub(crate) tools: Offer,
    /// Roots.
    pub(crate) roots: Offer,
}

/// Whether something is offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Offer {
    /// It is.
    Yes,
    /// It is not.
    #[default]
    No,
}

impl From<bool> for Offer {
    fn from(condition: bool) -> Self {
        match condition {
            true => Self::Yes,
            false => Self::No,
        }
    }
}

impl Offer {
    /// Whether it is.
    pub(super) fn is_made(self) -> bool {
        self == Self::Yes
    }
}

impl Offers {
    /// What a client's capabilities say. No members of `elicitation` mean forms, as it had none at first.
    pub(crate) fn of(capabilities: &Object) -> Self {
        let object = |name: &str| capabilities.get(name).and_then(Json::as_object);
        let has = |object: Option<&Object>, member: &str| {
            object.is_some_and(|object| matches!(object.get(member), Some(Json::Object(_))))
        };
        let elicitation = object("elicitation");
        let bare = elicitation.is_some_and(Object::is_empty);
        Self {
            forms: Offer::from(bare || has(elicitation, "form")),
            links: Offer::from(has(elicitation, "url")),
            sampling: Offer::from(object("sampling").is_some()),
            tools: Offer::from(has(object("sampling"), "tools")),
            roots: Offer::from(object("roots").is_some()),
        }
    }

    /// All that can be put to a client of whatever kind: a modern one says what it can with each request.
    pub(crate) fn all() -> Self {
        Self {
            forms: Offer::Yes,
            links: Offer::Yes,
            sampling: Offer::Yes,
            tools: Offer::Yes,
            roots: Offer::Yes,
        }
    }

    /// What both offer.
    pub(crate) fn and(self, other: Self) -> Self {
        let both = |one: Offer, other: Offer| Offer::from(one.is_made() && other.is_made());
        Self {
            forms: both(self.forms, other.forms),
            links: both(self.links, other.links),
            sampling: both(self.sampling, other.sampling),
            tools: both(self.tools, other.tools),
            roots: both(self.roots, other.roots),
        }
    }

    /// Without what the policies in force deny this server whatever it asks.
    pub(crate) fn permitted(self, line: &Line, agent: &Agent, server: &ServerFacts) -> Self {
        let sampling = keep(self.sampling, line, agent, &some_sample(server));
        let tools = match sampling {
            Offer::Yes => self.tools,
            Offer::No => Offer::No,
        };
        Self {
            forms: keep(self.forms, line, agent, &some_form(server, agent)),
            links: match some_link(server) {
                Some(link) => keep(self.links, line, agent, &link),
                None => Offer::No,
            },
            sampling,
            tools,
            roots: self.roots,
        }
    }

    /// As capabilities for a server. The context of others is never offered: to the client, all servers
    /// are one.
    pub(crate) fn to_capabilities(self) -> Object {
        let mut capabilities = Object::default();
        let empty = || Json::Object(Object::default());
        let mut modes = Object::default();
        if self.links.is_made() {
            modes.insert("url", empty());
            if self.forms.is_made() {
                modes.insert("form", empty());
            }
        }
        if self.forms.is_made() || self.links.is_made() {
            capabilities.insert("elicitation", modes.into());
        }
        if self.sampling.is_made() {
            let mut sampling = Object::default();
            if self.tools.is_made() {
                sampling.insert("tools", empty());
            }
            capabilities.insert("sampling", sampling.into());
        }
        if self.roots.is_made() {
            capabilities.insert("roots", empty());
        }
        capabilities
    }
}

/// Offered still, unless policies deny it whatever the circumstances.
fn keep(offer: Offer, line: &Line, agent: &Agent, action: &impl Action) -> Offer {
    let run = line.run();
    let store = line.point.store();
    let mut queries = action.queries(agent, &run).into_iter();
    Offer::from(offer.is_made() && !queries.any(|query| store.never_allows(&query).is_some()))
}

fn some_form(server: &ServerFacts, agent: &Agent) -> ElicitForm {
    ElicitForm {
        server: server.clone(),
        user: agent.user.clone(),
        message: String::new(),
        fields: Vec::new(),
        sensitive: false,
        during_call: true,
        asked_this_session: 0,
        form: Digest::of(""),
    }
}

fn some_link(server: &ServerFacts) -> Option<ElicitUrl> {
    let host: HostName = "example.com".parse().ok()?;
    Some(ElicitUrl {
        server: server.clone(),
        url: String::new(),
        url_length: 0,
        scheme: LinkScheme::Https,
        host,
        port: 443,
        same_site_as_server: false,
        during_call: true,
        link: Digest::of(""),
    })
}

fn some_sample(server: &ServerFacts) -> CreateSample {
    CreateSample {
        server: server.clone(),
        model: any_model(),
        depth: 1,
        concurrent: 0,
        this_session: 0,
        max_tokens: 1,
        input_bytes: 1,
        include_context: IncludeContext::None,
        tools: Vec::new(),
        during_call: true,
        request: Digest::of(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::read;

    #[test]
    fn servers_are_told_what_the_client_offers() {
        let check = |client: &str, want: &str| {
            let Json::Object(capabilities) = read(client.as_bytes()).unwrap().json else {
                panic!("{client}");
            };
            let told = Json::Object(Offers::of(&capabilities).to_capabilities()).to_string();
            assert_eq!(told, want, "{client}");
        };
        check("{}", "{}");
        check(r#"{"elicitation":{}}"#, r#"{"elicitation":{}}"#);
        check(r#"{"elicitation":{"form":{}}}"#, r#"{"elicitation":{}}"#);
        check(
            r#"{"elicitation":{"url":{}}}"#,
            r#"{"elicitation":{"url":{}}}"#,
        );
        check(
            r#"{"elicitation":{"form":{},"url":{}}}"#,
            r#"{"elicitation":{"url":{},"form":{}}}"#,
        );
        check(r#"{"elicitation":true,"sampling":null}"#, "{}");
        check(
            r#"{"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true},"x":{}}"#,
            r#"{"sampling":{"tools":{}},"roots":{}}"#,
        );
    }
}
