//! Both eras of the protocol: *legacy* begins with `initialize`, *modern* says everything with each
//! request. Within Creance a result is as legacy peers write it; here it is put on and taken off.

use crate::protocol::json::{Json, Object};
use crate::protocol::rpc::{INVALID_PARAMS, RpcError};

use super::revision::Revision;

/// The modern revision that is spoken here.
pub(crate) const MODERN: &str = "2026-07-28";

/// A client asks for a revision that is not spoken here.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
/// There is no such resource: the code of legacy peers. Modern ones say [`INVALID_PARAMS`].
pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;

/// The key of `_meta` with the revision.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of `_meta` with what the client can do.
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key of `_meta` with who the client says it is.
pub(crate) const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The key of `_meta` with the least level of log messages that are wanted.
pub(crate) const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The key of a result's `_meta` with who the server says it is.
pub(crate) const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";
/// The key of `_meta` with the id of the `subscriptions/listen` that a message belongs to.
pub(crate) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// How a peer speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// It shook hands, and this revision was agreed.
    Legacy(Revision),
    /// Each request stands for itself.
    Modern,
}

/// What a modern client says in the `_meta` of a request. Unverified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// What the client can do, as it came.
    pub(crate) capabilities: Object,
    /// Its name; empty when it gives none.
    pub(crate) client: String,
    /// The least level of log messages that it wants.
    pub(crate) log_level: Option<LogLevel>,
}

impl Envelope {
    /// Reads the parameters of a request; `None` where it is one of the legacy era. Only a modern
    /// client says its revision there, or asks `server/discover`.
    ///
    /// # Errors
    /// The error to answer with.
    pub(crate) fn read(method: &str, params: Option<&Object>) -> Result<Option<Self>, RpcError> {
        let meta = params.and_then(|params| params.get("_meta"));
        let member = |key: &str| meta.and_then(|meta| meta.get(key));
        let refuse = |key: &str, what: &str| {
            let text = format!("`params._meta` must have `{key}`, {what}");
            Err(RpcError::new(INVALID_PARAMS, text))
        };
        let version = match member(META_VERSION) {
            Some(Json::String(version)) => version,
            Some(_) => return refuse(META_VERSION, "a string"),
            None if method == DISCOVER || method == LISTEN => {
                return refuse(META_VERSION, "a string");
            }
            None => return Ok(None),
        };
        if version != MODERN {
            return Err(unsupported(version));
        }
        let Some(Json::Object(capabilities)) = member(META_CAPABILITIES) else {
            return refuse(META_CAPABILITIES, "an object");
        };
        let client = member(META_CLIENT).and_then(|info| info.get("name"));
        let log_level = match member(META_LOG_LEVEL) {
            None => None,
            Some(level) => match level.as_str().and_then(LogLevel::from_name) {
                Some(level) => Some(level),
                None => return refuse(META_LOG_LEVEL, "the name of a level"),
            },
        };
        Ok(Some(Self {
            capabilities: capabilities.clone(),
            client: client.and_then(Json::as_str).unwrap_or("").to_owned(),
            log_level,
        }))
    }

    /// Whether the client answers a server's request of this method.
    pub(crate) fn answers(&self, method: &str) -> bool {
        match method {
            "elicitation/create" => super::hello::takes_forms(&self.capabilities),
            "sampling/createMessage" => self.capabilities.get("sampling").is_some(),
            "roots/list" => self.capabilities.get("roots").is_some(),
            _ => false,
        }
    }
}

/// `server/discover`.
pub(crate) const DISCOVER: &str = "server/discover";
/// `subscriptions/listen`.
pub(crate) const LISTEN: &str = "subscriptions/listen";

fn unsupported(asked: &str) -> RpcError {
    let asked = crate::clean::line(asked, 32);
    let data = Json::object([
        ("supported", Json::Array(vec![MODERN.into()])),
        ("requested", Json::String(asked.clone())),
    ]);
    RpcError::new(
        UNSUPPORTED_VERSION,
        format!("protocol revision `{asked}` is not spoken here"),
    )
    .with_data(data)
}

/// How much a log message matters, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogLevel {
    /// `debug`
    Debug,
    /// `info`
    Info,
    /// `notice`
    Notice,
    /// `warning`
    Warning,
    /// `error`
    Error,
    /// `critical`
    Critical,
    /// `alert`
    Alert,
    /// `emergency`
    Emergency,
}

impl LogLevel {
    const ALL: [(&'static str, Self); 8] = [
        ("debug", Self::Debug),
        ("info", Self::Info),
        ("notice", Self::Notice),
        ("warning", Self::Warning),
        ("error", Self::Error),
        ("critical", Self::Critical),
        ("alert", Self::Alert),
        ("emergency", Self::Emergency),
    ];

    /// The level of this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, level)| level)
    }

    /// Its name on the wire.
    pub(crate) fn name(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(_, level)| *level == self);
        found.map_or("info", |(name, _)| name)
    }
}

/// Results that clients may keep for a while. What Creance lists depends on who asks.
const CACHEABLE: [&str; 6] = [
    DISCOVER,
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

/// Makes a result one for a modern client: it is complete, nobody else may be given it, and `server`
/// is who answered.
pub(crate) fn put_on(method: &str, result: &mut Json, server: Json) {
    let Some(members) = result.as_object_mut() else {
        return;
    };
    members.insert("resultType", "complete".into());
    if CACHEABLE.contains(&method) {
        members.insert("ttlMs", 0_u64.into());
        members.insert("cacheScope", "private".into());
    }
    with_meta(members, META_SERVER, server);
}

/// Sets one key of `_meta`, which is made where there is none.
pub(crate) fn with_meta(members: &mut Object, key: &str, value: Json) {
    let mut meta = match members.remove("_meta") {
        Some(Json::Object(meta)) => meta,
        _ => Object::default(),
    };
    meta.insert(key, value);
    members.insert("_meta", meta.into());
}

/// What a modern server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A result, as legacy peers write it.
    Complete(Json),
    /// It wants to be told something first.
    Input(InputRequired),
}

/// What a modern server wants to be told before it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputRequired {
    /// By the server's own keys: the method and its parameters.
    pub(crate) requests: Vec<(String, String, Option<Object>)>,
    /// What it wants back as it is.
    pub(crate) state: Option<String>,
}

/// Requests whose answer may ask for input first.
pub(crate) const MAY_ASK: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// Most that a server may ask at once.
const ASKED_MAX: usize = 16;

/// Reads a modern server's result.
///
/// # Errors
/// Why it cannot be used.
pub(crate) fn take_off(mut result: Json) -> Result<Outcome, String> {
    let Some(members) = result.as_object_mut() else {
        return Err("its result is not an object".to_owned());
    };
    match members.get("resultType") {
        None => {}
        Some(Json::String(kind)) => match kind.as_str() {
            "complete" => {
                members.remove("resultType");
                members.remove("ttlMs");
                members.remove("cacheScope");
            }
            "input_required" => return asked(members).map(Outcome::Input),
            other => {
                let other = crate::clean::line(other, 40);
                return Err(format!("its result is of an unknown type, `{other}`"));
            }
        },
        Some(other) => return Err(format!("its `resultType` is {}", other.kind())),
    }
    Ok(Outcome::Complete(result))
}

fn asked(members: &Object) -> Result<InputRequired, String> {
    let state = match members.get("requestState") {
        None => None,
        Some(Json::String(state)) => Some(state.clone()),
        Some(other) => return Err(format!("its `requestState` is {}", other.kind())),
    };
    let mut requests = Vec::new();
    match members.get("inputRequests") {
        None => {}
        Some(Json::Object(asked)) => {
            for (key, request) in asked.iter() {
                let method = request.get("method").and_then(Json::as_str);
                let method = method.ok_or("one of its `inputRequests` has no `method`")?;
                let params = request.get("params").and_then(Json::as_object).cloned();
                requests.push((key.to_owned(), method.to_owned(), params));
            }
        }
        Some(other) => return Err(format!("its `inputRequests` are {}", other.kind())),
    }
    if requests.is_empty() && state.is_none() {
        return Err("it asks for input, and not for which".to_owned());
    }
    if requests.len() > ASKED_MAX {
        return Err(format!("it asks for more than {ASKED_MAX} inputs at once"));
    }
    Ok(InputRequired { requests, state })
}

/// Whether an error that refuses a revision names ours among those that are spoken.
pub(crate) fn speaks_ours(error: &RpcError) -> bool {
    let spoken = error.data().and_then(|data| data.get("supported"));
    let spoken = spoken.and_then(Json::as_array).unwrap_or_default();
    error.code() == UNSUPPORTED_VERSION && spoken.iter().any(|name| name.as_str() == Some(MODERN))
}

/// What a modern server says of itself in answer to `server/discover`; `None` where the result is no
/// such answer, or where the revision spoken here is not among its own.
pub(crate) fn discovered(result: &Json) -> Option<Object> {
    let versions = result.get("supportedVersions")?.as_array()?;
    let spoken = versions.iter().any(|name| name.as_str() == Some(MODERN));
    let capabilities = result.get("capabilities")?.as_object()?;
    spoken.then(|| capabilities.clone())
}

#[cfg(test)]
#[path = "era_tests.rs"]
mod tests;
