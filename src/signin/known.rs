//! How Creance is known at a sign-in server, where the browser comes back to, and what is asked for.

use super::callback::Callback;
use super::discover::Discovered;
use super::entry::{Client, Kept, Known};
use super::error::{SignInError, Trouble};
use super::flow::Wanted;

/// How Creance is known there, or will be.
pub(super) enum How {
    Is {
        known: Known,
        id: String,
        secret: Option<String>,
    },
    Registers,
}

/// What is asked for: what the configuration says, else what the server wants; and what is there already,
/// when more is wanted.
pub(super) fn scopes(wanted: &Wanted, found: &[String], before: Option<&Kept>) -> Vec<String> {
    let mut scopes = Vec::new();
    if !wanted.more.is_empty() {
        scopes.extend(
            before
                .iter()
                .flat_map(|kept| kept.entry.scopes.iter().cloned()),
        );
        scopes.extend(wanted.more.iter().cloned());
    }
    let own = if wanted.client.scopes.is_empty() {
        found
    } else {
        &wanted.client.scopes
    };
    if scopes.is_empty() || !wanted.client.scopes.is_empty() {
        scopes.extend(own.iter().cloned());
    }
    let mut seen = std::collections::HashSet::new();
    scopes.retain(|scope| !scope.is_empty() && seen.insert(scope.clone()));
    scopes
}

/// In the order of the specification: registered by hand, by a document, by itself.
pub(super) async fn client(
    client: &Client,
    found: &Discovered,
    before: Option<&Kept>,
) -> Result<(How, Callback), SignInError> {
    let fixed = match &client.redirect {
        Some(redirect) => Some(Callback::at(redirect).await?),
        None => None,
    };
    if let Some(id) = &client.id {
        let how = How::Is {
            known: Known::Configured,
            id: id.clone(),
            secret: client.secret.clone(),
        };
        return Ok((how, or_any(fixed).await?));
    }
    if let Some(document) = client
        .document
        .as_ref()
        .filter(|_| found.facts.takes_documents)
    {
        let how = How::Is {
            known: Known::Document,
            id: document.clone(),
            secret: None,
        };
        return Ok((how, or_any(fixed).await?));
    }
    if let Some(kept) = before.filter(|kept| kept.entry.known == Known::Registered) {
        let same = client
            .redirect
            .as_ref()
            .is_none_or(|redirect| *redirect == kept.entry.redirect);
        let again = match fixed {
            Some(callback) if same => return Ok((registered(kept), callback)),
            Some(callback) => return registers(found, callback),
            None => Callback::at(&kept.entry.redirect).await,
        };
        return match again {
            Ok(callback) => Ok((registered(kept), callback)),
            // Its port is taken now: a new registration, with a port that is free.
            Err(error) if error.trouble == Trouble::Port => {
                registers(found, Callback::any().await?)
            }
            Err(error) => Err(error),
        };
    }
    registers(found, or_any(fixed).await?)
}

async fn or_any(fixed: Option<Callback>) -> Result<Callback, SignInError> {
    match fixed {
        Some(callback) => Ok(callback),
        None => Callback::any().await,
    }
}

fn registered(kept: &Kept) -> How {
    How::Is {
        known: Known::Registered,
        id: kept.entry.client_id.clone(),
        secret: kept.secrets.client.clone(),
    }
}

fn registers(found: &Discovered, callback: Callback) -> Result<(How, Callback), SignInError> {
    if found.facts.registration.is_some() {
        return Ok((How::Registers, callback));
    }
    let text = format!(
        "the sign-in server {} registers no clients by itself: register one there by hand, with the callback \
         `http://127.0.0.1:PORT/callback`, and write its id into the server's entry: \"oauth\": \
         {{\"clientId\": \"…\", \"redirectUri\": \"http://127.0.0.1:PORT/callback\"}}",
        found.facts.issuer
    );
    Err(SignInError::new(Trouble::Registration, text))
}
