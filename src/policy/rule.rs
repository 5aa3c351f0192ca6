//! A remembered answer as a policy: what was agreed to once becomes text that people read, edit and
//! ship. The policy permits no more than the answer did.

use std::fmt;

use crate::request::{
    Action, CallTool, Entry, GetPrompt, Holding, ReadResource, ReviewTools, RunCommand, StartServer,
};

use super::vocabulary::{TYPES, uid};

/// Why an answer cannot be a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRule {
    /// It is about one exact call, prompt or command, whose content is kept as a digest only.
    Exact,
    /// It covers what a start takes along: the definition, the program and each grant.
    Start,
    /// It is about a server that comes with one repository: by name alone a policy would hold for the
    /// servers of that name in all others.
    Project,
    /// It is about something else that only answers say.
    Other,
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
            Self::Project => {
                "this answer is about the server of one repository, and a policy would hold for a \
                 server of that name in every repository; it stays in force as an answer"
            }
            Self::Other => {
                "no policy is made of answers of this kind; it stays in force as an answer, and \
                 `policies/README.md` shows how to write one"
            }
        })
    }
}

impl std::error::Error for NoRule {}

/// The policy that permits what this answer agreed to, in Cedar's text: `(id, text)`. It holds for
/// the same agent, and as long as the server, its program and its tools are those that were agreed to.
///
/// # Errors
/// When the answer says what no policy can.
pub(crate) fn rule(entry: &Entry) -> Result<(String, String), NoRule> {
    let resource = scope(entry)?;
    let id = format!("answer-{}", entry.id());
    let text = format!(
        "@id(\"{id}\")\n@reason({})\npermit (\n  principal == {},\n  action {} Action::\"{}\",\n  \
         resource {resource}\n)\nwhen {{\n  resource.server.pin == Pin::\"matched\" &&\n  \
         resource.server.tools_pin == Pin::\"matched\"\n}};\n",
        quoted(&format!("Agreed to for good: {}.", entry.scope)),
        uid(&TYPES.agent, &entry.principal),
        // Calls of tools with actions of their own are in the general one.
        if entry.action == CallTool::NAME {
            "in"
        } else {
            "=="
        },
        entry.action,
    );
    Ok((id, text))
}

/// The resource that the answer covers.
fn scope(entry: &Entry) -> Result<String, NoRule> {
    let of_project = entry.resource.starts_with("project/");
    match entry.action.as_str() {
        CallTool::NAME | ReadResource::NAME if of_project => Err(NoRule::Project),
        CallTool::NAME if entry.holding == Holding::Latest => {
            // `user/files` or `user/files/read`: no part holds a slash of its own.
            let whole = entry.resource.matches('/').count() == 1;
            Ok(if whole {
                format!("in {}", uid(&TYPES.server, &entry.resource))
            } else {
                format!("== {}", uid(&TYPES.tool, &entry.resource))
            })
        }
        ReadResource::NAME => Ok(format!("== {}", uid(&TYPES.mcp_resource, &entry.resource))),
        CallTool::NAME | GetPrompt::NAME | RunCommand::NAME => Err(NoRule::Exact),
        StartServer::NAME | ReviewTools::NAME => Err(NoRule::Start),
        _ => Err(NoRule::Other),
    }
}

/// A Cedar string.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

#[cfg(test)]
#[path = "tests/rule.rs"]
mod tests;
