//! A request to the proxy, or inside a tunnel: whom it names, and what is sent on in its place.

use crate::address::Target;

use super::body::Body;
use super::head::{Misfit, RequestHead};
use super::refusal::Refusal;

/// A request of plain HTTP that can be sent on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Forward {
    /// The head to send.
    pub(super) head: Vec<u8>,
    /// The body that follows.
    pub(super) body: Body,
}

/// What a client asks of the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A tunnel.
    Tunnel(Target),
    /// One request.
    Forward(Target, Forward),
}

/// Fields that end at a proxy (RFC 9110, 7.6.1), besides those that `Connection` names and
/// `Proxy-*`. Those that frame or address the message are written anew.
const HOP: &[&str] = &[
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "http2-settings",
    "host",
    "content-length",
    "transfer-encoding",
];

/// Reads a head that came to the proxy itself.
pub(super) fn to_proxy(head: &RequestHead) -> Result<Asked, Refusal> {
    if head.method == "CONNECT" {
        return tunnel(head).map(Asked::Tunnel);
    }
    let (target, path) = absolute(&head.target)?;
    let forward = forward(head, &target, path)?;
    Ok(Asked::Forward(target, forward))
}

/// Reads a head that came through a tunnel to `target`.
pub(super) fn in_tunnel(head: &RequestHead, target: &Target) -> Result<Forward, Refusal> {
    if !head.target.starts_with('/') && head.target != "*" {
        return Err(Refusal::Misfit(
            "a request in a tunnel names its path, and no other host",
        ));
    }
    forward(head, target, &head.target)
}

fn tunnel(head: &RequestHead) -> Result<Target, Refusal> {
    let target = Target::from_authority(&head.target)?;
    let bare = matches!(Body::of(head).map_err(Refusal::Misfit)?, Body::Length(0));
    if !bare {
        return Err(Refusal::Misfit("a CONNECT request has no body"));
    }
    if let Some(host) = head.fields.one("host").map_err(Refusal::Misfit)? {
        same_host(host, &target)?;
    }
    Ok(target)
}

/// The target and the path of `http://host/path`.
fn absolute(text: &str) -> Result<(Target, &str), Refusal> {
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    if scheme.eq_ignore_ascii_case("https") {
        return Err(Refusal::Misfit("for https a proxy is asked by CONNECT"));
    }
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(Refusal::Misfit(
            "this is a proxy: it takes `CONNECT host:port` and `GET http://host/path`",
        ));
    }
    let rest = text.get(scheme.len() + 3..).unwrap_or_default();
    let end = rest.find(['/', '?', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    if path.starts_with('\\') {
        return Err(Refusal::Misfit(
            "a host ends at a slash, not at a backslash",
        ));
    }
    let target = Target::from_authority_or(authority, 80)?;
    Ok((target, path))
}

/// The request as it is sent on: one request on a connection of its own.
fn forward(head: &RequestHead, target: &Target, path: &str) -> Result<Forward, Refusal> {
    let body = Body::of(head).map_err(Refusal::Misfit)?;
    let host = head.fields.one("host").map_err(Refusal::Misfit)?;
    match host {
        Some(host) => same_host(host, target)?,
        None if head.version == super::head::Version::One0 => {}
        None => return Err(Refusal::Misfit("the request has no `Host`")),
    }
    check_upgrade(head).map_err(Refusal::Misfit)?;
    let slash = if path.starts_with(['/', '*']) {
        ""
    } else {
        "/"
    };
    let version = head.version.text();
    let mut out = format!("{} {slash}{path} {version}\r\n", head.method).into_bytes();
    out.extend_from_slice(format!("Host: {}\r\n", host_field(target)).as_bytes());
    let named = head.fields.words("connection");
    for (name, value) in head.fields.iter() {
        let lower = name.to_ascii_lowercase();
        if HOP.contains(&lower.as_str()) || lower.starts_with("proxy-") || named.contains(&lower) {
            continue;
        }
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    let announced = head.fields.one("content-length").map_err(Refusal::Misfit)?;
    let framing = match (&body, announced) {
        (Body::Chunked(_), _) => "Transfer-Encoding: chunked\r\n".to_owned(),
        (Body::Length(length), Some(_)) => format!("Content-Length: {length}\r\n"),
        (Body::Length(_), None) => String::new(),
    };
    out.extend_from_slice(framing.as_bytes());
    out.extend_from_slice(b"Connection: close\r\n\r\n");
    Ok(Forward { head: out, body })
}

/// An offer of HTTP/2 may be passed over; a client that means to leave HTTP must not be led on.
fn check_upgrade(head: &RequestHead) -> Result<(), Misfit> {
    if head.fields.words("upgrade").iter().all(|to| to == "h2c") {
        return Ok(());
    }
    Err("no other protocol is spoken over plain HTTP: use a tunnel with TLS (wss)")
}

/// A `Host` field names the target, with its port or without.
fn same_host(field: &str, target: &Target) -> Result<(), Refusal> {
    let named = Target::from_authority_or(field, target.port)?;
    if named == *target {
        return Ok(());
    }
    Err(Refusal::Misfit(
        "`Host` names another host than the request",
    ))
}

/// The `Host` field for a target.
fn host_field(target: &Target) -> String {
    let text = target.to_string();
    if target.port == 80 {
        return text.strip_suffix(":80").unwrap_or(&text).to_owned();
    }
    text
}
