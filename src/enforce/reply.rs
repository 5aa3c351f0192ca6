//! A server's result on its way to a model: strings cleaned, structure, numbers and unknown fields
//! as they came, long text cut and the cut said.

use crate::clean;
use crate::protocol::json::Json;

/// Characters of text that one result may bring to a model.
pub(crate) const TEXT_MAX: usize = 30_000;

/// Fields whose text is data for a program, not for a model: they pass as they are.
const DATA_FIELDS: &[&str] = &["data", "blob", "mimeType", "type"];

/// Cleans a `tools/call` result. Returns it with the number of characters that were cut.
pub(crate) fn clean_result(mut result: Json, text_max: usize) -> (Json, usize) {
    let mut cut = 0;
    if let Some(members) = result.as_object_mut() {
        for (key, value) in members.iter_mut() {
            if key == "content" {
                cut += clean_content(value, text_max);
            } else if key != "_meta" {
                clean_strings(value);
            }
        }
    }
    if cut > 0 {
        say_cut(&mut result, cut, text_max);
    }
    (result, cut)
}

fn clean_content(content: &mut Json, text_max: usize) -> usize {
    let Json::Array(blocks) = content else {
        clean_strings(content);
        return 0;
    };
    let mut left = text_max;
    let mut cut = 0;
    for block in blocks {
        clean_strings(block);
        if block.get("type").and_then(Json::as_str) == Some("text")
            && let Some(Json::String(text)) = block.as_object_mut().and_then(|b| b.get_mut("text"))
        {
            let length = text.chars().count();
            if length > left {
                *text = text.chars().take(left).collect();
                cut += length - left;
            }
            left = left.saturating_sub(length);
        }
    }
    cut
}

fn say_cut(result: &mut Json, cut: usize, text_max: usize) {
    let note = format!(
        "[Creance cut {cut} characters: a result may bring {text_max}. If the tool can page or \
         take a smaller range, ask for the rest that way.]"
    );
    let block = Json::object([
        ("type", Json::String("text".to_owned())),
        ("text", Json::String(note)),
    ]);
    if let Some(Json::Array(blocks)) = result.as_object_mut().and_then(|r| r.get_mut("content")) {
        blocks.push(block);
    }
}

/// Cleans every string a model may read, at any depth. The type of a value never changes.
pub(crate) fn clean_strings(value: &mut Json) {
    match value {
        Json::String(text) => {
            if let std::borrow::Cow::Owned(cleaned) = clean::text(text) {
                *text = cleaned;
            }
        }
        Json::Array(items) => items.iter_mut().for_each(clean_strings),
        Json::Object(members) => {
            for (key, member) in members.iter_mut() {
                if !DATA_FIELDS.contains(&key) || !matches!(member, Json::String(_)) {
                    clean_strings(member);
                }
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// The text of a result, blocks joined by line ends; other blocks become a short note.
pub(crate) fn text_of(result: &Json) -> String {
    let blocks = result
        .get("content")
        .and_then(Json::as_array)
        .unwrap_or_default();
    let texts: Vec<String> = blocks
        .iter()
        .map(|block| {
            let kind = block
                .get("type")
                .and_then(Json::as_str)
                .unwrap_or("unknown");
            match (kind, block.get("text").and_then(Json::as_str)) {
                ("text", Some(text)) => text.to_owned(),
                _ => format!("[{}]", clean::line(kind, 40)),
            }
        })
        .collect();
    texts.join("\n")
}

/// Whether a result says that the tool failed.
pub(crate) fn is_error(result: &Json) -> bool {
    result.get("isError").and_then(Json::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json;

    fn check(result: &str, want: &str) {
        let json = json::read(result.as_bytes()).unwrap().json;
        let (cleaned, _) = clean_result(json, 10);
        let mut text = String::new();
        cleaned.write_to(&mut text);
        assert_eq!(text, want);
    }

    #[test]
    fn strings_are_cleaned_and_everything_else_stays() {
        check(
            "{\"content\":[{\"type\":\"text\",\"text\":\"a\\u001b[31mb\",\"x\":12345678901234567890123}],\"z\":1.0}",
            "{\"content\":[{\"type\":\"text\",\"text\":\"ab\",\"x\":12345678901234567890123}],\"z\":1.0}",
        );
        check(
            "{\"structuredContent\":{\"s\":\"a\\u200bb\",\"n\":1e400}}",
            "{\"structuredContent\":{\"s\":\"ab\",\"n\":1e400}}",
        );
        check(
            "{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"},{\"type\":\"hologram\"}]}",
            "{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"},{\"type\":\"hologram\"}]}",
        );
    }

    #[test]
    fn a_cut_is_said() {
        let json = json::read(
            b"{\"content\":[{\"type\":\"text\",\"text\":\"0123456789abc\"},{\"type\":\"text\",\"text\":\"de\"}]}",
        )
        .unwrap()
        .json;
        let (cleaned, cut) = clean_result(json, 10);
        assert_eq!(cut, 5);
        assert!(text_of(&cleaned).contains("cut 5 characters"));
        assert!(text_of(&cleaned).starts_with("0123456789\n"));
    }
}
