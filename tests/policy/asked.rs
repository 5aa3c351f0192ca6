//! What a server asks back, and a sign-in, in the plainest way; each test changes what it is about.

use creance::{
    CreateSample, Digest, ElicitForm, ElicitUrl, IncludeContext, LinkScheme, ModelFacts, SignIn,
};

use super::base::{Asking, Owned, server};

/// A server puts a form to the person, during a call of it.
pub(crate) fn form() -> Asking {
    Asking::new(Owned::Form(ElicitForm {
        server: server(),
        user: "u".to_owned(),
        message: "Which branch?".to_owned(),
        fields: vec!["branch".to_owned()],
        sensitive: false,
        during_call: true,
        asked_this_session: 0,
        form: Digest::of("form"),
    }))
    .by(server())
}

/// A server sends the person to a page, during a call of it.
pub(crate) fn link() -> Asking {
    Asking::new(Owned::Link(ElicitUrl {
        server: server(),
        url: "https://example.com/sign-in".to_owned(),
        url_length: 27,
        scheme: LinkScheme::Https,
        host: "example.com".parse().expect("a host name"),
        port: 443,
        same_site_as_server: false,
        during_call: true,
        link: Digest::of("link"),
    }))
    .by(server())
}

/// A server asks a model, during a call of it.
pub(crate) fn sample() -> Asking {
    Asking::new(Owned::Sample(CreateSample {
        server: server(),
        model: ModelFacts {
            name: "client/any".to_owned(),
            local: false,
        },
        depth: 1,
        concurrent: 0,
        this_session: 0,
        max_tokens: 100,
        input_bytes: 1_000,
        include_context: IncludeContext::None,
        tools: Vec::new(),
        during_call: true,
        request: Digest::of("request"),
    }))
    .by(server())
}

/// A server is signed in to, at a sign-in server elsewhere.
#[rustfmt::skip]
pub(crate) fn sign_in() -> Asking {
    let (at, scopes) = (|| "https://login.example.com".to_owned(), vec!["files:read".to_owned()]);
    Asking::new(Owned::SignIn(Box::new(SignIn { server: server(), issuer: at(), page: at(), addresses: vec![[93, 184, 216, 34].into()], scopes, dynamic_registration: false, pkce: true, issuer_matches_server: true })))
}
