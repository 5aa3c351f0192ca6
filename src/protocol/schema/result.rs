//! Results of tools against their output schema. Errors have a shape of their own and are never
//! checked; a wrong result is told as text, not turned into a failure of the protocol.

use crate::protocol::json::{Json, Object};

use super::validate::{Fit, Schema};

/// What the check of a result says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResultCheck {
    /// Pass it as it is.
    Pass,
    /// Its `structuredContent` does not match; pass it by [`told_as_text`].
    Wrong(String),
    /// Nobody can say whether it matches; pass it and note why.
    Unknown(String),
}

impl Schema {
    /// Checks a result of `tools/call` against this output schema.
    pub(crate) fn check_result(&self, result: &Json) -> ResultCheck {
        let failed = result.get("isError").and_then(Json::as_bool) == Some(true);
        let Some(content) = result.get("structuredContent").filter(|_| !failed) else {
            return ResultCheck::Pass;
        };
        match self.check(content) {
            Fit::Fits => ResultCheck::Pass,
            Fit::Unfit(why) => ResultCheck::Wrong(why),
            Fit::Unknown(why) => ResultCheck::Unknown(why),
        }
    }
}

/// The same result with its structured content as text and a warning in front.
///
/// It is marked `isError`, as clients that check structured content would throw it away otherwise;
/// the warning says that the call was carried out, so that nobody repeats it.
pub(crate) fn told_as_text(result: Json, why: &str) -> Json {
    let Json::Object(mut result) = result else {
        return result;
    };
    let structured = result.remove("structuredContent").unwrap_or(Json::Null);
    let blocks = match result.remove("content") {
        Some(Json::Array(blocks)) => blocks,
        _ => Vec::new(),
    };
    let warning = format!(
        "Warning by Creance: the call was carried out, but the structured result does not match the tool's output schema ({why}). It follows as text."
    );
    let mut content = vec![text_block(warning), text_block(structured.to_string())];
    content.extend(blocks);
    result.insert("content", content.into());
    result.insert("isError", true.into());
    Json::Object(result)
}

fn text_block(text: String) -> Json {
    let mut block = Object::default();
    block.insert("type", "text".into());
    block.insert("text", text.into());
    block.into()
}
