//! A call of a tool that policies name as an action: its own action, and its typed arguments.

use serde_json::Value as Json;

use crate::clean;
use crate::policy::typed::fill;
use crate::policy::vocabulary::{TypedTool, Vocabulary};
use crate::request::ToolFacts;

use super::build::{FactError, Value};

/// The tool's own action and `context.input`; `None` for a tool that no policy names as an action.
///
/// # Errors
/// When the tool is not the one of the lock file, or the arguments do not fit: then it is denied.
pub(super) fn input<'a>(
    vocabulary: &'a Vocabulary,
    tool: &ToolFacts,
    arguments: &Json,
) -> Result<Option<(&'a str, Value)>, FactError> {
    let Some((name, typed)) = vocabulary.typed_tool(tool) else {
        return Ok(None);
    };
    if tool.digest != typed.tool.digest {
        return Err(FactError::of_tool(changed(name, typed, tool)));
    }
    let filled = fill(&typed.tool.input, arguments);
    let filled = filled.map_err(|unfit| {
        let argument = match unfit.at.as_str() {
            "" => "what is given".to_owned(),
            // Names are the caller's own, too.
            at => format!("`{}`", clean::mask(&clean::line(at, 200))),
        };
        FactError::of_tool(format!(
            "{argument} {}: the arguments do not fit Action::\"{}\", which {} names",
            unfit.why,
            clean::line(name, 200),
            typed.named
        ))
    });
    Ok(Some((name, filled?)))
}

fn changed(name: &str, typed: &TypedTool, tool: &ToolFacts) -> String {
    format!(
        "{} names Action::\"{}\", and the tool is not the one in {} any more: a person has \
         to look at what changed, and to run `creance policy schema --server {} --write`",
        typed.named,
        clean::line(name, 200),
        typed.lock,
        tool.server.id
    )
}
