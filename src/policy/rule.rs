//! A remembered answer as a policy: what was agreed to once becomes text that people read, edit and
//! ship. The policy permits no more than the answer did.

use std::fmt;

use crate::request::{Action, CallTool, Entry, GetPrompt, Holding, ReadResource};

use super::vocabulary::{TYPES, uid};

/// Why an answer cannot be a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRule {
    /// It is about one exact call, prompt or command, whose content is kept as a digest only.
    Exact,
    /// It covers what a start takes along: the definition, the program and each grant.
    Start,
}

impl fmt::Display for NoRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => {
                "this answer is about exactly one request, of which a digest alone is kept; answer \
                 for the tool, or write a policy (`policies/README.md` has examples)"
            }
            Self::Start => {
                "this answer holds for a server exactly as it is, with its program and its grants, \
                 and a policy cannot say that; it stays in force as an answer"
            }
        })
    }
}

impl std::error::Error for NoRule {}

/// The policy that permits what this answer agreed to, in Cedar's text: `(id, text)`. It holds for
/// the same agent, and for a server's tools as long as they are those that were agreed to.
///
/// # Errors
/// When the answer says what no policy can.
pub(crate) fn rule(entry: &Entry) -> Result<(String, String), NoRule> {
    let (resource, pinned) = scope(entry)?;
    let id = format!("answer-{}", entry.id());
    let when = pinned.map(|server| format!("\nwhen {{ {server} == Pin::\"matched\" }}"));
    let text = format!(
        "@id(\"{id}\")\n@reason({})\npermit (\n  principal == {},\n  action == Action::\"{}\",\n  \
         resource {resource}\n){};\n",
        quoted(&format!("Agreed to for good: {}.", entry.scope)),
        uid(&TYPES.agent, &entry.principal),
        entry.action,
        when.unwrap_or_default(),
    );
    Ok((id, text))
}

/// The resource that the answer covers, and the pin that must still hold.
fn scope(entry: &Entry) -> Result<(String, Option<&'static str>), NoRule> {
    let pinned = Some("resource.server.tools_pin");
    match entry.action.as_str() {
        CallTool::NAME if entry.holding == Holding::Latest => {
            // `user/files` or `user/files/read`: no part holds a slash of its own.
            let whole = entry.resource.matches('/').count() == 1;
            Ok(if whole {
                (
                    format!("in {}", uid(&TYPES.server, &entry.resource)),
                    pinned,
                )
            } else {
                (format!("== {}", uid(&TYPES.tool, &entry.resource)), pinned)
            })
        }
        ReadResource::NAME => Ok((
            format!("== {}", uid(&TYPES.mcp_resource, &entry.resource)),
            None,
        )),
        CallTool::NAME | GetPrompt::NAME | "exec.run" => Err(NoRule::Exact),
        _ => Err(NoRule::Start),
    }
}

/// A Cedar string.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

#[cfg(test)]
#[path = "tests/rule.rs"]
mod tests;
