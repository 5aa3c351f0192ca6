//! All HTTP of the SDK's flow: each address is judged before it is used, each description is kept, and
//! where a server lists several sign-in servers the one that was chosen is the only one it is shown.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::http::{Request, Response};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};
use serde_json::{Value, json};

use super::endpoint::{Endpoint, Ground, origin_of};
use super::entry::Told;
use super::error::{SignInError, Trouble, short_code};
use super::web::{Method, Web, WebReply, WebRequest};

/// The newest revision of MCP, which the SDK would give as its oldest.
const REVISION: &str = "2026-07-28";

/// The most descriptions of one discovery, and the largest.
const TOLD_MAX: usize = 24;
const TOLD_BYTES_MAX: usize = 256 * 1024;

/// The HTTP of one flow.
#[derive(Clone)]
pub(super) struct Wire(Arc<Inner>);

struct Inner {
    web: Arc<dyn Web>,
    ground: Ground,
    /// The sign-in server that the configuration names.
    issuer: Option<String>,
    /// What was told before, which answers in place of the network.
    before: Option<Vec<Told>>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    told: Vec<Told>,
    /// The sign-in server that the resource's description listed and that was shown.
    listed: Option<String>,
    fault: Option<SignInError>,
    /// The short code of the last refused exchange.
    code: Option<String>,
}

impl Wire {
    pub(super) fn new(web: Arc<dyn Web>, ground: Ground, issuer: Option<String>) -> Self {
        Self::of(web, ground, issuer, None)
    }

    /// One that answers questions about the server with what was told before.
    pub(super) fn told_before(
        web: Arc<dyn Web>,
        ground: Ground,
        issuer: Option<String>,
        told: Vec<Told>,
    ) -> Self {
        Self::of(web, ground, issuer, Some(told))
    }

    fn of(
        web: Arc<dyn Web>,
        ground: Ground,
        issuer: Option<String>,
        before: Option<Vec<Told>>,
    ) -> Self {
        let seen = Mutex::default();
        Self(Arc::new(Inner {
            web,
            ground,
            issuer,
            before,
            seen,
        }))
    }

    pub(super) fn ground(&self) -> Ground {
        self.0.ground
    }

    /// The sign-in server that the configuration names.
    pub(super) fn issuer(&self) -> Option<&str> {
        self.0.issuer.as_deref()
    }

    /// The sign-in server that the resource lists.
    pub(super) fn listed(&self) -> Option<String> {
        self.0.lock().listed.clone()
    }

    /// What was told so far.
    pub(super) fn told(&self) -> Vec<Told> {
        self.0.lock().told.clone()
    }

    /// What went wrong here, which says more than the SDK does.
    pub(super) fn fault(&self) -> Option<SignInError> {
        self.0.lock().fault.clone()
    }

    /// The short code with which the last exchange was refused.
    pub(super) fn code(&self) -> Option<String> {
        self.0.lock().code.clone()
    }

    pub(super) fn as_client(&self) -> Arc<dyn OAuthHttpClient> {
        Arc::new(self.clone())
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, error: SignInError) -> OAuthHttpClientError {
        let said = error.to_string();
        self.lock().fault.get_or_insert(error);
        said.into()
    }

    async fn send(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
        let url = request.uri().to_string();
        // Addresses that come from a description were judged there; this is the last look.
        if let Err(why) = Endpoint::read(&url, self.ground) {
            let text = format!("{}: {why}", origin_of(&url));
            return Err(self.fail(SignInError::new(Trouble::Description, text)));
        }
        match request.method().as_str() {
            "GET" => self.get(&url).await,
            _ => self.post(url, request).await,
        }
    }

    async fn get(&self, url: &str) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
        let told = match &self.before {
            Some(before) => before.iter().find(|told| told.url == url).cloned(),
            None => Some(self.ask(url).await?),
        };
        let Some(told) = told else {
            return response(404, None, Vec::new());
        };
        let shown = self.shown(&told)?;
        let (status, challenge) = (told.status, told.challenge.clone());
        let mut seen = self.lock();
        if seen.told.len() < TOLD_MAX && !seen.told.iter().any(|known| known.url == told.url) {
            seen.told.push(told);
        }
        drop(seen);
        response(status, challenge.as_deref(), shown.into_bytes())
    }

    async fn ask(&self, url: &str) -> Result<Told, OAuthHttpClientError> {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let request = WebRequest {
            method: Method::Get,
            url: url.to_owned(),
            headers: vec![
                field("accept", "application/json"),
                field("mcp-protocol-version", REVISION),
            ],
            body: Vec::new(),
        };
        let reply = self.reply(url, request).await?;
        let challenges = reply.headers.iter();
        let challenges =
            challenges.filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate"));
        let challenges: Vec<&str> = challenges.map(|(_, value)| value.as_str()).collect();
        let challenge = (!challenges.is_empty()).then(|| challenges.join(", "));
        let body = if reply.body.len() > TOLD_BYTES_MAX {
            Vec::new()
        } else {
            reply.body
        };
        Ok(Told {
            url: url.to_owned(),
            // Where a description leads elsewhere, it is none: whose would the other one be?
            status: if (300..400).contains(&reply.status) {
                404
            } else {
                reply.status
            },
            challenge,
            body: String::from_utf8(body).unwrap_or_default(),
        })
    }

    async fn post(
        &self,
        url: String,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
        let (parts, body) = request.into_parts();
        let fields = parts.headers.iter();
        let fields = fields.filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        });
        let request = WebRequest {
            method: Method::Post,
            headers: fields.collect(),
            url: url.clone(),
            body,
        };
        let reply = self.reply(&url, request).await?;
        if !(200..300).contains(&reply.status) {
            let told: Option<Value> = serde_json::from_slice(&reply.body).ok();
            let code = told.as_ref().and_then(|told| told.get("error")?.as_str());
            let code = code.map_or_else(
                || format!("status {}", reply.status),
                |code| short_code(code).to_owned(),
            );
            self.lock().code = Some(code);
        }
        response(reply.status, None, reply.body)
    }

    async fn reply(
        &self,
        url: &str,
        request: WebRequest,
    ) -> Result<WebReply, OAuthHttpClientError> {
        let sent = self.web.send(request).await;
        sent.map_err(|why| {
            let text = format!("{}: {why}", origin_of(url));
            self.fail(SignInError::new(Trouble::Network, text))
        })
    }

    /// The description as the SDK sees it.
    fn shown(&self, told: &Told) -> Result<String, OAuthHttpClientError> {
        let listed = serde_json::from_str::<Value>(&told.body).ok();
        let Some(mut value) = listed.filter(|_| told.status == 200) else {
            return Ok(told.body.clone());
        };
        let Some(members) = value.as_object_mut() else {
            return Ok(told.body.clone());
        };
        let Some(servers) = members.get("authorization_servers") else {
            return Ok(told.body.clone());
        };
        let texts = servers.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut listed: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
        listed.dedup();
        let chosen = self.choose(&listed)?;
        if let Some(chosen) = &chosen {
            Endpoint::read(chosen, self.ground).map_err(|why| {
                let text =
                    format!("the sign-in server that the server lists cannot be used: {why}");
                self.fail(SignInError::new(Trouble::Description, text))
            })?;
        }
        let shown: Vec<&String> = chosen.iter().collect();
        let shown = json!(shown);
        members.insert("authorization_servers".to_owned(), shown);
        members.remove("authorization_server");
        if let Some(chosen) = chosen {
            self.lock().listed = Some(chosen);
        }
        Ok(value.to_string())
    }

    /// The listed server that is used; where several are listed, the configuration has to choose.
    fn choose(&self, listed: &[&str]) -> Result<Option<String>, OAuthHttpClientError> {
        let said = |listed: &[&str]| {
            listed
                .iter()
                .take(10)
                .copied()
                .collect::<Vec<_>>()
                .join(", ")
        };
        match (&self.issuer, listed) {
            (None, []) => Ok(None),
            (None, [one]) => Ok(Some((*one).to_owned())),
            (None, several) => {
                let text = format!(
                    "the server lists several sign-in servers: {}; name yours: \"oauth\": {{\"issuer\": \"…\"}}",
                    said(several)
                );
                Err(self.fail(SignInError::new(Trouble::Description, text)))
            }
            (Some(wanted), listed) => {
                let found = listed.iter().find(|one| *one == wanted);
                let found =
                    found.or_else(|| listed.iter().find(|one| same_but_for_a_slash(one, wanted)));
                match found {
                    Some(one) => Ok(Some((*one).to_owned())),
                    None => {
                        let text = format!(
                            "the configuration names the sign-in server {wanted}, and the server lists {}",
                            said(listed)
                        );
                        Err(self.fail(SignInError::new(Trouble::Description, text)))
                    }
                }
            }
        }
    }
}

/// Whether two names of a sign-in server at its root differ by a final slash alone.
pub(super) fn same_but_for_a_slash(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    let at_root = short.matches('/').count() == 2;
    at_root && long.strip_suffix('/') == Some(short)
}

fn response(
    status: u16,
    challenge: Option<&str>,
    body: Vec<u8>,
) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
    let mut builder = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    if let Some(challenge) = challenge {
        builder = builder.header("www-authenticate", challenge);
    }
    builder.body(body).map_err(Into::into)
}

impl OAuthHttpClient for Wire {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.0.send(request.request))
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire")
            .field("ground", &self.0.ground)
            .finish_non_exhaustive()
    }
}
