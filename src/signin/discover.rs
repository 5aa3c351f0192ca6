//! What a server says about its sign-in, and its sign-in server about itself; refused where a sign-in
//! by it would not be safe.

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource,
};
use serde_json::Value;

use super::endpoint::{Endpoint, Ground};
use super::entry::Told;
use super::error::{SignInError, Trouble};
use super::sdk::{self, Slot};
use super::wire::{Wire, same_but_for_a_slash};

/// What was found, with the flow that goes on from it.
pub(super) struct Discovered {
    pub(super) manager: AuthorizationManager,
    pub(super) wire: Wire,
    pub(super) facts: Facts,
}

/// What was found, to be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// The sign-in server, exactly as it names itself.
    pub(super) issuer: String,
    pub(super) page: Endpoint,
    pub(super) token: Endpoint,
    pub(super) registration: Option<Endpoint>,
    /// What the server or its description asks for.
    pub(super) scopes: Vec<String>,
    /// Whether its answers always name it (RFC 9207).
    pub(super) always_named: bool,
    /// Whether it reads documents about clients (CIMD).
    pub(super) takes_documents: bool,
}

impl Discovered {
    pub(super) fn told(&self) -> Vec<Told> {
        self.wire.told()
    }
}

/// Finds the sign-in server of a server, from its challenge or from its well-known places.
pub(super) async fn discover(
    (url, challenge): (&str, Option<&str>),
    wire: Wire,
    slot: Slot,
) -> Result<Discovered, SignInError> {
    let mut manager = sdk::manager(url, &wire, slot).await?;
    let found = sdk::quiet(manager.resolve_metadata_from_challenge(challenge)).await;
    let found = found.map_err(|error| wire.fault().unwrap_or_else(|| of_sdk(&error)))?;
    if found.source == AuthorizationMetadataSource::LegacyEndpointFallback {
        return Err(SignInError::new(
            Trouble::Description,
            "the server wants a sign-in and does not say where: it publishes no OAuth description",
        ));
    }
    let facts = check(&found.metadata, &wire)?;
    let mut metadata = found.metadata;
    manager.set_metadata(metadata.clone());
    // The server's own wish; what the sign-in server could grant besides is not asked for.
    let scopes = sdk::quiet(manager.select_initial_scopes(&[])).await;
    // From here on nobody adds a scope that no person has seen.
    metadata.scopes_supported = None;
    manager.set_metadata(metadata);
    Ok(Discovered {
        facts: Facts { scopes, ..facts },
        manager,
        wire,
    })
}

/// Refuses what is not safe. The SDK looks at less than half of it.
fn check(metadata: &AuthorizationMetadata, wire: &Wire) -> Result<Facts, SignInError> {
    let issuer = issuer(metadata, wire)?;
    let methods = metadata.code_challenge_methods_supported.as_deref();
    if !methods.is_some_and(|methods| methods.iter().any(|method| method == "S256")) {
        return Err(SignInError::new(
            Trouble::Description,
            format!(
                "the sign-in server {issuer} does not say that it supports PKCE with S256, and without it a sign-in can be stolen"
            ),
        ));
    }
    let ground = wire.ground();
    let flag = |name: &str| {
        metadata
            .additional_fields
            .get(name)
            .and_then(Value::as_bool)
            == Some(true)
    };
    Ok(Facts {
        page: endpoint(
            "authorization_endpoint",
            &metadata.authorization_endpoint,
            (&issuer, ground),
        )?,
        token: endpoint(
            "token_endpoint",
            &metadata.token_endpoint,
            (&issuer, ground),
        )?,
        registration: metadata
            .registration_endpoint
            .as_deref()
            .map(|text| endpoint("registration_endpoint", text, (&issuer, ground)))
            .transpose()?,
        scopes: Vec::new(),
        always_named: flag("authorization_response_iss_parameter_supported"),
        takes_documents: flag("client_id_metadata_document_supported"),
        issuer,
    })
}

/// The sign-in server's name for itself, which has to be the one it was found by, to the letter.
fn issuer(metadata: &AuthorizationMetadata, wire: &Wire) -> Result<String, SignInError> {
    let Some(own) = metadata.issuer.clone() else {
        return Err(SignInError::new(
            Trouble::Description,
            "the sign-in server does not name itself",
        ));
    };
    let listed = wire.listed();
    let Some(expected) = wire.issuer().or(listed.as_deref()) else {
        // Nothing names it but the place where it was found, which the SDK has compared.
        return Ok(own);
    };
    if own == expected {
        return Ok(own);
    }
    let way_out = if same_but_for_a_slash(&own, expected) {
        format!(
            "; they differ by a slash alone: to accept it, write \"oauth\": {{\"issuer\": \"{own}\"}}"
        )
    } else {
        String::new()
    };
    Err(SignInError::new(
        Trouble::Description,
        format!("the sign-in server is listed as {expected} and names itself {own}{way_out}"),
    ))
}

fn endpoint(
    name: &str,
    text: &str,
    (issuer, ground): (&str, Ground),
) -> Result<Endpoint, SignInError> {
    Endpoint::read(text, ground).map_err(|why| {
        let text = format!("the sign-in server {issuer} names a {name} that cannot be used: {why}");
        SignInError::new(Trouble::Description, text)
    })
}

/// The SDK's errors in our words.
fn of_sdk(error: &AuthError) -> SignInError {
    let text = match error {
        AuthError::AuthorizationServerMismatch {
            expected_issuer,
            received_issuer,
        } => {
            format!(
                "the sign-in server is listed as {expected_issuer} and names itself {received_issuer}"
            )
        }
        AuthError::AuthorizationServerMissingIssuer { expected_issuer } => {
            format!("the sign-in server {expected_issuer} does not name itself")
        }
        AuthError::AuthorizationServersUnavailable {
            authorization_servers,
            ..
        } => format!(
            "no description of its sign-in server can be had: {}",
            authorization_servers.join(", ")
        ),
        AuthError::ProtectedResourceMetadataInvalid { reason, .. } => {
            format!("the server's description of its sign-in cannot be used: {reason}")
        }
        _ => "the server's sign-in cannot be found out".to_owned(),
    };
    SignInError::new(Trouble::Description, text)
}
