//! One GET over TLS: no redirect is followed, no proxy is taken from the environment, and neither
//! size nor time is up to the other side.

use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// From the first packet to the last.
const LIMIT: Duration = Duration::from_secs(15);

/// Where a file comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// Its `https://` address.
    pub(crate) url: &'a str,
    /// Certificates (PEM) of the authority; those of the system otherwise.
    pub(crate) authority: Option<&'a [u8]>,
    /// The most bytes.
    pub(crate) max: u64,
}

/// Fetches a file.
pub(crate) fn fetch(source: Source<'_>) -> Result<Vec<u8>, String> {
    let failed = |error: ureq::Error| format!("{}: {error}", source.url);
    let agent: Agent = Agent::config_builder()
        .https_only(true)
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .timeout_global(Some(LIMIT))
        .user_agent(concat!("creance/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls(source.authority)?)
        .build()
        .into();
    let mut response = agent.get(source.url).call().map_err(failed)?;
    let status = response.status();
    if status.is_redirection() {
        return Err(format!(
            "{} leads elsewhere ({status}), which is not followed: name the last address",
            source.url
        ));
    }
    if status != 200 {
        return Err(format!("{} answers {status}", source.url));
    }
    let body = response.body_mut().with_config().limit(source.max);
    body.read_to_vec().map_err(failed)
}

fn tls(authority: Option<&[u8]>) -> Result<TlsConfig, String> {
    let roots = match authority {
        None => RootCerts::PlatformVerifier,
        Some(pem) => RootCerts::Specific(Arc::new(certificates(pem)?)),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(roots)
        .build())
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        match item {
            Ok(PemItem::Certificate(certificate)) => found.push(certificate),
            Ok(_) => {}
            Err(error) => return Err(format!("the authority's file: {error}")),
        }
    }
    if found.is_empty() {
        return Err("the authority's file holds no certificate".to_owned());
    }
    Ok(found)
}
