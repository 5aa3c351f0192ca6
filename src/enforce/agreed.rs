//! The tools that were agreed to, as their server described them: from the texts that were kept to show
//! a change, each held against the digest that was agreed to.

use std::collections::BTreeMap;

use crate::digest::Digest;
use crate::protocol::json::{self, Json};
use crate::protocol::tools::OfferedTool;
use crate::request::PinRecord;

/// The definition of each tool of a pinned list, or nothing where it was not kept.
pub(crate) fn tools(pin: &PinRecord) -> BTreeMap<String, Option<OfferedTool>> {
    let texts: BTreeMap<String, String> = serde_json::from_str(&pin.shown).unwrap_or_default();
    let each = pin.parts.iter().map(|(name, digest)| {
        let text = texts.get(name).map(String::as_str).unwrap_or_default();
        (name.clone(), tool(name, text, *digest))
    });
    each.collect()
}

/// A text is the description, and on a line of its own all else as JSON, of which no other line begins
/// with a brace.
fn tool(name: &str, text: &str, digest: Digest) -> Option<OfferedTool> {
    let at = text.rfind("\n{")?;
    let (description, rest) = text.split_at_checked(at)?;
    let rest = json::read(rest.trim_start().as_bytes()).ok()?.json;
    let described = |with: Option<&str>| {
        let mut raw = rest.clone();
        let members = raw.as_object_mut()?;
        members.insert("name", Json::String(name.to_owned()));
        if let Some(description) = with {
            members.insert("description", Json::String(description.to_owned()));
        }
        Some(OfferedTool::from_item(raw)).filter(|tool| tool.digest == digest)
    };
    // A tool without a description has a few words in its place.
    described(Some(description)).or_else(|| described(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enforce::Tool;
    use crate::enforce::tools::shown;

    fn check(definition: &str) {
        let raw = json::read(definition.as_bytes()).unwrap().json;
        let offered = OfferedTool::from_item(raw);
        let text = shown(&Tool::new(offered.clone()));
        let found = tool(&offered.name, &text, offered.digest).expect(definition);
        assert_eq!(found.input_schema(), offered.input_schema(), "{definition}");
        assert_eq!(tool(&offered.name, &text, Digest::of("another")), None);
        assert_eq!(tool("other", &text, offered.digest), None);
    }

    #[test]
    fn a_definition_is_found_in_its_text() {
        let schema = r#""inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}"#;
        for rest in [
            "",
            r#","description":"one\nline {\n{ and more""#,
            r#","description":"(no description)""#,
            r#","description":"""#,
            r#","description":7"#,
            r#","annotations":{"readOnlyHint":true},"_meta":{"x":[{}]}"#,
            r#","limit":123456789012345678901234567890"#,
        ] {
            check(&format!(r#"{{"name":"t",{schema}{rest}}}"#));
        }
    }
}
