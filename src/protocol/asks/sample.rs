//! `sampling/createMessage`: what a server wants a model to answer.

use crate::clean;
use crate::digest::Digest;
use crate::protocol::json::{Json, Number, Object};
use crate::request::IncludeContext;

use super::refused::Refused;

/// The most messages, tools and bytes of one request.
const MESSAGES_MAX: usize = 500;
const TOOLS_MAX: usize = 64;
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// A request that may be put to a model.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    params: Object,
    /// The longest answer that it asks for.
    pub(crate) max_tokens: u64,
    /// Size of what the model is given.
    pub(crate) input_bytes: u64,
    /// Whose conversation it asks for.
    pub(crate) include_context: IncludeContext,
    /// Names of its tools.
    pub(crate) tools: Vec<String>,
    /// What "the same request" means.
    pub(crate) digest: Digest,
}

impl Sample {
    /// Reads the parameters of `sampling/createMessage`.
    ///
    /// # Errors
    /// Why it is none that can be put to a model.
    pub(crate) fn read(mut params: Object) -> Result<Self, Refused> {
        let whole = Json::Object(params.clone()).to_string();
        let input_bytes = whole.len();
        if input_bytes > BYTES_MAX {
            let why = format!("the request has {input_bytes} bytes, at most {BYTES_MAX}");
            return Err(Refused::new(why));
        }
        match params.get("messages").and_then(Json::as_array) {
            Some(messages) if (1..=MESSAGES_MAX).contains(&messages.len()) => {
                if !messages.iter().all(is_message) {
                    return refuse("each of `messages` has a `role` and a `content`");
                }
            }
            _ => return refuse(format!("`messages` is a list of 1 to {MESSAGES_MAX}")),
        }
        if !matches!(params.get("systemPrompt"), None | Some(Json::String(_))) {
            return refuse("`systemPrompt` must be a string");
        }
        let max_tokens = params.get("maxTokens").and_then(Json::as_number);
        let max_tokens = max_tokens.and_then(Number::as_i64);
        let max_tokens = max_tokens.and_then(|tokens| u64::try_from(tokens).ok());
        let Some(max_tokens) = max_tokens.filter(|tokens| *tokens > 0) else {
            return refuse("`maxTokens` must be a whole number above 0");
        };
        let include_context = include_context(params.get("includeContext"))?;
        if include_context != IncludeContext::None {
            // To the client all servers are one: it would give the words of others.
            params.insert("includeContext", "none".into());
        }
        let tools = tools(params.get("tools"))?;
        params.remove("task");
        Ok(Self {
            params,
            max_tokens,
            input_bytes: u64::try_from(input_bytes).unwrap_or(u64::MAX),
            include_context,
            tools,
            digest: Digest::of(&whole),
        })
    }

    /// The messages and the system prompt as people read them.
    pub(crate) fn told(&self) -> Vec<(String, String)> {
        let mut told = Vec::new();
        if let Some(Json::String(system)) = self.params.get("systemPrompt") {
            told.push(("system prompt".to_owned(), system.clone()));
        }
        let messages = self.params.get("messages").and_then(Json::as_array);
        for message in messages.unwrap_or_default() {
            let role = message.get("role").and_then(Json::as_str);
            let label = format!("message ({})", clean::line(role.unwrap_or("?"), 20));
            told.push((label, content(message.get("content"))));
        }
        told
    }

    /// The parameters for the client, with a system prompt that says whose it is. Strings are to be
    /// cleaned yet.
    pub(crate) fn shown(&self, server: &str) -> Object {
        let mut params = self.params.clone();
        if let Some(Json::String(system)) = params.get_mut("systemPrompt") {
            let server = clean::line(server, 120);
            *system = format!("From the server {server} (untrusted text):\n{system}");
        }
        params
    }
}

fn is_message(message: &Json) -> bool {
    let role = message.get("role").and_then(Json::as_str);
    let content = matches!(
        message.get("content"),
        Some(Json::Object(_) | Json::Array(_))
    );
    matches!(role, Some("user" | "assistant")) && content
}

fn include_context(given: Option<&Json>) -> Result<IncludeContext, Refused> {
    match given.map(Json::as_str) {
        None | Some(Some("none")) => Ok(IncludeContext::None),
        Some(Some("thisServer")) => Ok(IncludeContext::ThisServer),
        Some(Some("allServers")) => Ok(IncludeContext::AllServers),
        Some(_) => refuse("`includeContext` is none, thisServer or allServers"),
    }
}

fn tools(given: Option<&Json>) -> Result<Vec<String>, Refused> {
    let tools = match given {
        None => return Ok(Vec::new()),
        Some(Json::Array(tools)) if tools.len() <= TOOLS_MAX => tools,
        Some(_) => return refuse(format!("`tools` is a list of at most {TOOLS_MAX}")),
    };
    let name = |tool: &Json| {
        let name = tool.get("name").and_then(Json::as_str);
        name.map(str::to_owned)
            .ok_or_else(|| Refused::new("each of `tools` has a `name`"))
    };
    tools.iter().map(name).collect()
}

/// Texts as they are, all else as JSON without its data.
fn content(content: Option<&Json>) -> String {
    let block = |block: &Json| match (
        block.get("type").and_then(Json::as_str),
        block.get("text").and_then(Json::as_str),
        block.get("data").and_then(Json::as_str),
    ) {
        (Some("text"), Some(text), _) => text.to_owned(),
        (Some(kind), _, Some(data)) => format!("[{kind}: {} characters]", data.len()),
        _ => block.to_string(),
    };
    match content {
        Some(Json::Array(blocks)) => blocks.iter().map(block).collect::<Vec<_>>().join("\n"),
        Some(one) => block(one),
        None => String::new(),
    }
}

/// Checks what a client answered.
///
/// # Errors
/// Why it is no answer of a model.
pub(crate) fn check_answer(result: &Json) -> Result<(), Refused> {
    let text = |key| result.get(key).and_then(Json::as_str).is_some();
    if text("role") && text("model") && result.get("content").is_some() {
        return Ok(());
    }
    refuse("the client's answer has no role, model and content")
}

fn refuse<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::new(why))
}
