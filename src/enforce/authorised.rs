//! What a remote server's requests are authorised with: the fields of its entry, or a sign-in.

#[cfg(feature = "http")]
pub(super) use with_http::{can_sign_in, is_signed_in, of, sign_in};
#[cfg(not(feature = "http"))]
pub(super) use without::{can_sign_in, is_signed_in, of, sign_in};

#[cfg(feature = "http")]
mod with_http {
    use std::sync::Arc;

    use crate::config::{self, ServerDefinition};
    use crate::enforce::authority::{Authority, bearer};
    use crate::enforce::connected::{Authorised, Challenge};
    use crate::enforce::line::Line;
    use crate::enforce::remote;
    use crate::enforce::sign_in::{self, Cause, NotSignedIn, Remote};
    use crate::enforce::start_error::StartError;
    use crate::http::StaticFields;
    use crate::request::{Agent, ServerFacts};

    /// What authorises the requests to a server.
    pub(in crate::enforce) fn of(
        (line, agent): (&Line, &Agent),
        (_, remote): (&ServerDefinition, &config::Remote),
        facts: &ServerFacts,
    ) -> Authorised {
        if has_own_field(remote) {
            return Arc::new(StaticFields::new(remote.fields()));
        }
        Arc::new(Authority::new(
            (Arc::clone(&line.point), line.sign_ins.clone()),
            (agent.clone(), line.run()),
            Remote::new(facts.clone(), remote),
            remote.fields(),
        ))
    }

    /// An entry that says what authorises it is not signed in to.
    fn has_own_field(remote: &config::Remote) -> bool {
        remote.headers.contains_key("authorization")
    }

    /// Whether a sign-in could satisfy the server.
    pub(in crate::enforce) fn can_sign_in(remote: &config::Remote, challenge: &Challenge) -> bool {
        challenge.status == 401 && !has_own_field(remote)
    }

    /// Whether a sign-in is on file.
    pub(in crate::enforce) fn is_signed_in(
        line: &Line,
        (_, remote): (&ServerDefinition, &config::Remote),
        subject: &str,
    ) -> bool {
        line.sign_ins
            .vault
            .holds(&sign_in::key(subject, remote.address.as_str()))
    }

    /// Signs in where a start was refused. Somebody who does not want to leaves the server failed.
    pub(in crate::enforce) async fn sign_in(
        (line, agent): (&Line, &Agent),
        (definition, remote): (&ServerDefinition, &config::Remote),
        challenge: &Challenge,
    ) -> Result<(), StartError> {
        let facts = remote::prepare(line, (definition, remote), Vec::new())?
            .action
            .server;
        let server = Remote::new(facts, remote);
        let cause = Cause {
            challenge: bearer(&challenge.authenticate),
            more: Vec::new(),
        };
        let run = line.run();
        let id = definition.id.to_string();
        let show = |page: &str| {
            tracing::warn!("to sign in to {id}, open this page on this machine: {page}")
        };
        let asking = (&*line.point, line.asking(agent, &run));
        let done = sign_in::sign_in(asking, &server, cause, (&line.sign_ins, &show)).await;
        let origin = remote.address.origin();
        let name = &definition.id.name;
        match done {
            Ok(_) => Ok(()),
            Err(NotSignedIn::Denied(denial)) => Err(StartError::Remote(format!(
                "{origin} needs a sign-in, which was skipped: {}; `creance server login {name}` asks again",
                denial.reason()
            ))),
            Err(other) => Err(StartError::Remote(format!(
                "{origin} needs a sign-in, and it failed: {other}; `creance server login {name}` tries again"
            ))),
        }
    }
}

#[cfg(not(feature = "http"))]
mod without {
    use crate::config::{Remote, ServerDefinition};
    use crate::enforce::connected::{Authorised, Challenge};
    use crate::enforce::line::Line;
    use crate::enforce::start_error::StartError;
    use crate::request::{Agent, ServerFacts};

    pub(in crate::enforce) fn of(
        _: (&Line, &Agent),
        _: (&ServerDefinition, &Remote),
        _: &ServerFacts,
    ) -> Authorised {
        Authorised
    }

    pub(in crate::enforce) fn can_sign_in(_: &Remote, _: &Challenge) -> bool {
        false
    }

    pub(in crate::enforce) fn is_signed_in(
        _: &Line,
        _: (&ServerDefinition, &Remote),
        _: &str,
    ) -> bool {
        false
    }

    pub(in crate::enforce) async fn sign_in(
        _: (&Line, &Agent),
        _: (&ServerDefinition, &Remote),
        _: &Challenge,
    ) -> Result<(), StartError> {
        Ok(())
    }
}
