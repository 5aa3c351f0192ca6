//! Plays a scripted host, as `tests/cases/OA-*.http.json` tell them, and a browser that follows its pages.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::super::endpoint::Endpoint;
use super::super::query::pairs;
use super::super::{Browser, Web, WebFuture, WebReply, WebRequest};

/// Where every scripted host stands.
pub(super) const BASE: &str = "http://127.0.0.1:8009";

/// A scripted host.
#[derive(Clone, Debug)]
pub(super) struct Host(Arc<Mutex<Script>>);

#[derive(Debug)]
struct Script {
    routes: Vec<Value>,
    rotate: Option<Value>,
    /// The refresh token that is good, how often it was exchanged, and whether the family is dead.
    family: (String, u64, bool),
    log: Vec<Seen>,
}

/// A request that came in.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) what: String,
    pub(super) fields: BTreeMap<String, String>,
    pub(super) form: BTreeMap<String, String>,
    pub(super) body: String,
}

impl Host {
    /// A host that plays a script.
    pub(super) fn play(script: Value) -> Self {
        let rotate = script.get("rotate").cloned();
        let first = rotate
            .as_ref()
            .map_or("", |rotate| rotate["first"].as_str().unwrap());
        let script = Script {
            routes: script["routes"].as_array().unwrap().clone(),
            family: (first.to_owned(), 0, false),
            rotate,
            log: Vec::new(),
        };
        Self(Arc::new(Mutex::new(script)))
    }

    /// A file of `tests/cases`.
    pub(super) fn case(name: &str) -> Self {
        let path = format!("{}/tests/cases/{name}", env!("CARGO_MANIFEST_DIR"));
        Self::play(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    /// Changes the routes.
    pub(super) fn change(&self, change: impl FnOnce(&mut Vec<Value>)) {
        change(&mut self.0.lock().unwrap().routes);
    }

    /// The requests so far.
    pub(super) fn log(&self) -> Vec<Seen> {
        self.0.lock().unwrap().log.clone()
    }

    /// How many requests there were for this, `POST /token`.
    pub(super) fn count(&self, what: &str) -> usize {
        self.log().iter().filter(|seen| seen.what == what).count()
    }

    fn answer(
        &self,
        method: &str,
        url: &str,
        headers: &[(String, String)],
        body: &str,
    ) -> WebReply {
        let mut script = self.0.lock().unwrap();
        let rest = url
            .strip_prefix(BASE)
            .unwrap_or_else(|| panic!("{url} is not of this host"));
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path = if path.is_empty() { "/" } else { path };
        let map = |text: &str| BTreeMap::from_iter(pairs(text).unwrap());
        let fields: BTreeMap<String, String> = headers
            .iter()
            .map(|(k, v)| (k.to_lowercase(), v.clone()))
            .collect();
        let is_form = fields
            .get("content-type")
            .is_some_and(|kind| kind.contains("x-www-form"));
        let form = if is_form { map(body) } else { BTreeMap::new() };
        let query = map(query);
        script.log.push(Seen {
            what: format!("{method} {path}"),
            fields: fields.clone(),
            form: form.clone(),
            body: body.to_owned(),
        });
        if let Some(reply) = script.rotated(path, &form) {
            return reply;
        }
        let fits = |route: &&Value| {
            let of = |name: &str| route[name].as_str();
            let meets = |(name, want): (&String, &Value)| {
                let got = match name.split_once(':') {
                    Some(("header", name)) => fields.get(name),
                    Some(("form", name)) => form.get(name),
                    Some(("query", name)) => query.get(name),
                    _ => panic!("{name}"),
                };
                got.cloned() == want.as_str().map(filled)
            };
            [method, "*"].contains(&of("method").unwrap_or("GET"))
                && of("path") == Some(path)
                && route["when"].as_object().into_iter().flatten().all(meets)
        };
        let Some(route) = script.routes.iter().find(fits).cloned() else {
            return reply(404, &[], "not found");
        };
        respond(&route, &query, body)
    }
}

impl Script {
    fn rotated(&mut self, path: &str, form: &BTreeMap<String, String>) -> Option<WebReply> {
        let rotates = self.rotate.as_ref()?["path"] == path;
        if !rotates || form.get("grant_type").map(String::as_str) != Some("refresh_token") {
            return None;
        }
        let (current, count, dead) = &mut self.family;
        if *dead || form.get("refresh_token") != Some(current) {
            *dead = true;
            return Some(reply(
                400,
                &[],
                &json!({"error": "invalid_grant"}).to_string(),
            ));
        }
        *count += 1;
        *current = format!("rt-{count}");
        let told = json!({"access_token": format!("at-{count}"), "token_type": "Bearer", "expires_in": 60, "refresh_token": current});
        Some(reply(200, &[], &told.to_string()))
    }
}

fn respond(route: &Value, query: &BTreeMap<String, String>, body: &str) -> WebReply {
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in route["headers"].as_object().into_iter().flatten() {
        headers.push((name.clone(), filled(value.as_str().unwrap())));
    }
    if let Some(page) = route.get("authorize") {
        let mut back = vec![("code", page["code"].as_str().unwrap_or("c1").to_owned())];
        if let Some(error) = page["error"].as_str() {
            back = vec![
                ("error", error.to_owned()),
                ("error_description", "secret+words".to_owned()),
            ];
        }
        match &page["state"] {
            Value::Null => back.push(("state", query["state"].clone())),
            Value::String(text) => back.push(("state", text.clone())),
            _ => {}
        }
        if let Some(issuer) = page["iss"].as_str() {
            back.push(("iss", filled(issuer)));
        }
        let back: Vec<String> = back
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let to = format!("{}?{}", query["redirect_uri"], back.join("&"));
        return reply(302, &[("location".to_owned(), to)], "");
    }
    if let Some(register) = route.get("register") {
        let mut told: Value = serde_json::from_str(body).unwrap();
        told.as_object_mut()
            .unwrap()
            .extend(register.as_object().unwrap().clone());
        return reply(201, &[], &told.to_string());
    }
    let text = route.get("json").map_or_else(
        || route["body"].as_str().unwrap_or_default().to_owned(),
        Value::to_string,
    );
    reply(
        u16::try_from(route["status"].as_u64().unwrap_or(200)).unwrap(),
        &headers,
        &filled(&text),
    )
}

fn reply(status: u16, headers: &[(String, String)], body: &str) -> WebReply {
    WebReply {
        status,
        headers: headers.to_vec(),
        body: body.as_bytes().to_vec(),
    }
}

fn filled(text: &str) -> String {
    text.replace("{{BASE}}", BASE)
}

impl Web for Host {
    fn send(&self, request: WebRequest) -> WebFuture<'_> {
        let method = format!("{:?}", request.method).to_uppercase();
        let body = String::from_utf8(request.body).unwrap();
        let reply = self.answer(&method, &request.url, &request.headers, &body);
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(reply)
        })
    }
}

/// A browser that signs in at once: it follows the page's redirect to the callback.
#[derive(Clone, Debug)]
pub(super) struct Scripted {
    pub(super) host: Host,
    pub(super) opened: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    pub(super) fn of(host: &Host) -> Self {
        Self {
            host: host.clone(),
            opened: Arc::default(),
        }
    }
}

impl Browser for Scripted {
    fn open(&self, page: &Endpoint) -> Result<(), String> {
        self.opened.lock().unwrap().push(page.as_str().to_owned());
        let reply = self.host.answer("GET", page.as_str(), &[], "");
        let location = reply.headers.iter().find(|(name, _)| name == "location");
        let Some((_, location)) = location else {
            return Err("the page leads nowhere".to_owned());
        };
        visit(location);
        Ok(())
    }
}

/// Follows a link to this machine; the status line.
pub(super) fn visit(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let authority = authority.replace("localhost", "127.0.0.1");
    let mut stream = TcpStream::connect(authority).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    said
}
