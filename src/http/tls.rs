//! Whom a client believes: the system's verifier, or the one authority that was named.

use reqwest::{Certificate, ClientBuilder};

use super::error::HttpError;

/// A builder with `ring` and the right roots.
pub(super) fn trusting(authority: Option<&[u8]>) -> Result<ClientBuilder, HttpError> {
    // It fails where the program has chosen a provider already, which is then taken.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder();
    let Some(pem) = authority else {
        return Ok(builder);
    };
    let refuse = |why: String| HttpError::Certificates(format!("the authority's file {why}"));
    let found =
        Certificate::from_pem_bundle(pem).map_err(|error| refuse(format!("is none: {error}")))?;
    if found.is_empty() {
        return Err(refuse("holds no certificate".to_owned()));
    }
    Ok(builder.tls_certs_only(found))
}
