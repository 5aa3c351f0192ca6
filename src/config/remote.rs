//! A remote server as configured: where it is, how it is spoken to, which fields each request carries.

use std::collections::{BTreeMap, BTreeSet};

use jsonc_parser::ast::Value;

use crate::address::{AddressClass, Locality, WebUrl, judge};
use crate::clean;
use crate::digest::{Digest, DigestBuilder};
use crate::request::{ServerId, Source};

use super::entry::Values;
use super::fields::{Field, Member, Reader};
use super::oauth::{self, OAuth};
use super::problem::ConfigProblem;
use super::secrets::looks_secret;
use super::variables::Text;

/// The keys of a remote server.
pub(crate) const KEYS: &[&str] = &[
    "type",
    "url",
    "headers",
    "oauth",
    "timeoutMs",
    "startTimeoutMs",
    "enabled",
];

/// Where a remote server is. Values of its fields never reach `Debug`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    /// How it is spoken to.
    pub(crate) protocol: Protocol,
    /// The address as written.
    pub(crate) url: Text,
    /// The address as used.
    pub(crate) address: WebUrl,
    /// Fields of each request, by their names in lower case.
    pub(crate) headers: BTreeMap<String, Text>,
    /// How it is signed in to, where the entry says so.
    pub(crate) oauth: OAuth,
}

/// The transports of MCP over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Streamable HTTP, and HTTP+SSE where the server does not know it.
    Either,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

impl Protocol {
    /// As it is shown and pinned.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Either => "http or sse",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

const URL_MAX: usize = 2_048;
const HEADERS_MAX: usize = 50;
const VALUE_MAX: usize = 8 * 1024;

/// Whether an entry is one of a remote server.
pub(super) fn is_remote(members: &[Member<'_>]) -> bool {
    let typed = |m: &Member<'_>| {
        m.key == "type"
            && matches!(m.field.value, Value::StringLit(t) if matches!(t.value.as_ref(), "http" | "sse"))
    };
    let local = members.iter().any(|m| m.key == "command");
    members
        .iter()
        .any(|m| typed(m) || m.key == "url" || (!local && m.key == "headers"))
}

/// Reads what is special about it.
pub(super) fn read<'a>(
    (reader, values): (&Reader<'a>, &Values<'a, '_>),
    (member, members): (&Member<'a>, &[Member<'a>]),
    id: &ServerId,
) -> Result<Remote, ConfigProblem> {
    let find = |key: &str| members.iter().find(|m| m.key == key).map(|m| &m.field);
    if let Some(local) = members.iter().find(|m| m.key == "command") {
        let reason = "stands beside `url`: a server is either started or connected to";
        return Err(reader.problem_at(local.at, &local.field.path, reason));
    }
    if let Some(unknown) = members.iter().find(|m| !KEYS.contains(&m.key)) {
        return Err(reader.unknown(unknown, KEYS));
    }
    let words = [("http", Protocol::Http), ("sse", Protocol::Sse)];
    let protocol = find("type").map_or(Ok(Protocol::Either), |f| reader.word(f, &words))?;
    let Some(field) = find("url") else {
        return Err(reader.problem_at(member.at, &member.field.path, "has no `url`"));
    };
    let url = values.text(field)?;
    let address = address(&url, id.source).map_err(|reason| reader.problem(field, reason))?;
    let headers = find("headers").map_or(Ok(BTreeMap::new()), |f| headers(reader, values, f))?;
    let oauth = find("oauth").map_or(Ok(OAuth::default()), |f| oauth::read((reader, values), f))?;
    Ok(Remote {
        protocol,
        url,
        address,
        headers,
        oauth,
    })
}

/// The reason names no part of the address: it may hold a secret.
fn address(url: &Text, source: Source) -> Result<WebUrl, String> {
    let project = source == Source::Project;
    if url.value.len() > URL_MAX {
        return Err(format!("is longer than {URL_MAX} characters"));
    }
    // The host is looked up before anybody is asked, and a look-up tells its name to strangers.
    let host = match url.written.split_once("://") {
        Some((_, rest)) => rest.split(['/', '?', '#']).next().unwrap_or_default(),
        None => url.written.as_str(),
    };
    let in_host = |name: &String| host.contains(&format!("${{{name}"));
    if project && url.takes.iter().any(in_host) {
        let reason = "takes its host from your environment, which a project's server may not";
        return Err(reason.to_owned());
    }
    if url.value.contains('#') {
        return Err("holds a fragment (`#`), which is never sent".to_owned());
    }
    let address = WebUrl::read(&url.value).map_err(|fault| format!("cannot be used: {fault}"))?;
    let host = &address.target().host;
    let class = host.address().map(|address| judge(address).class);
    let here = host.locality() == Locality::Localhost || class == Some(AddressClass::Loopback);
    let public = host.locality() == Locality::Public
        && class.is_none_or(|class| class == AddressClass::Public);
    if project && !public {
        let reason = "leads to this machine or a private network, which a project's server may not";
        return Err(reason.to_owned());
    }
    if !address.is_https() && !here {
        return Err("is not https, which is left out for this machine alone".to_owned());
    }
    Ok(address)
}

fn headers<'a>(
    reader: &Reader<'a>,
    values: &Values<'a, '_>,
    field: &Field<'a>,
) -> Result<BTreeMap<String, Text>, ConfigProblem> {
    let members = reader.members(field)?;
    if members.len() > HEADERS_MAX {
        return Err(reader.problem(field, format!("has more than {HEADERS_MAX} fields")));
    }
    let mut headers = BTreeMap::new();
    for member in members {
        let refuse = |reason: &str| reader.problem_at(member.at, &member.field.path, reason);
        if !is_token(member.key) {
            return Err(refuse("is not the name of a header"));
        }
        let name = member.key.to_ascii_lowercase();
        if !is_free(&name) {
            return Err(refuse("is a header that HTTP or MCP fills itself"));
        }
        let value = values.text(&member.field)?;
        if value.value.len() > VALUE_MAX
            || !value
                .value
                .bytes()
                .all(|b| matches!(b, b'\t' | b' '..=b'~'))
        {
            let reason = "has a value that is too long or holds a line break or another character beyond plain ASCII";
            return Err(refuse(reason));
        }
        if headers.insert(name, value).is_some() {
            return Err(refuse("names a header that stands there already"));
        }
    }
    Ok(headers)
}

/// RFC 9110, 5.6.2.
fn is_token(name: &str) -> bool {
    let of_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    (1..=100).contains(&name.len()) && name.bytes().all(of_token)
}

/// Whether an entry may set a header: those of the connection and of the protocol are not its own.
fn is_free(name: &str) -> bool {
    const TAKEN: &[&str] = &[
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "last-event-id",
        "origin",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
    ];
    let starts = ["mcp-", "proxy-", "sec-"];
    !TAKEN.contains(&name) && !starts.iter().any(|start| name.starts_with(start))
}

impl Remote {
    /// The fields of each request.
    #[cfg(feature = "http")]
    pub(crate) fn fields(&self) -> Vec<(String, String)> {
        let fields = self.headers.iter();
        fields
            .map(|(name, text)| (name.clone(), text.value.clone()))
            .collect()
    }

    /// Whether its headers carry something that authorises.
    pub(crate) fn carries_credentials(&self) -> bool {
        self.headers.iter().any(|(name, text)| {
            looks_secret(&name.replace('-', "_"))
                || text.takes.iter().any(|name| looks_secret(name))
        })
    }

    /// What consent hangs on: the transport, the address, the names of headers and of the variables that
    /// they take. Their values are not part of it: a token that is renewed is no other server.
    pub(super) fn digest(&self) -> Digest {
        let mut digest = DigestBuilder::new("server-definition/1");
        digest.field("remote").field(self.protocol.word());
        digest.field(self.address.as_str());
        digest.list(self.headers.keys());
        for text in self.headers.values() {
            digest.list(&text.takes);
        }
        digest.finish()
    }

    /// The address as a person reads it: as written, without what looks like a secret.
    pub(crate) fn shown_url(&self) -> String {
        clean::mask(&clean::line(&self.url.written, URL_MAX)).into_owned()
    }

    /// In lines, for a comparison with another version.
    pub(super) fn shown(&self) -> String {
        let mut lines = vec![
            format!("type: {}", self.protocol.word()),
            format!("url: {}", self.shown_url()),
        ];
        for (name, text) in &self.headers {
            let from: Vec<&str> = text.takes.iter().map(String::as_str).collect();
            let from = match from.as_slice() {
                [] => String::new(),
                names => format!(" from {}", names.join(", ")),
            };
            lines.push(format!("header: {}{from}", clean::line(name, 200)));
        }
        lines.join("\n")
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &Text> {
        let secret = self.oauth.client_secret.iter();
        std::iter::once(&self.url)
            .chain(self.headers.values())
            .chain(secret)
    }

    /// What deserves attention before somebody agrees to it.
    pub(crate) fn warnings(&self, source: Source) -> Vec<String> {
        let mut found =
            vec!["data leaves this machine: what is sent to its tools goes to it".to_owned()];
        let taken: BTreeSet<&String> = self.texts().flat_map(|text| &text.takes).collect();
        for name in taken {
            let name = clean::line(name, 100);
            found.push(if source == Source::Project {
                format!("is defined by the project, and sends {name} of your environment away")
            } else {
                format!("sends {name} of your environment to it")
            });
        }
        if !self.address.is_https() {
            found.push("is spoken to without TLS".to_owned());
        }
        found
    }
}
