//! A server's result on its way to a model: strings cleaned, structure, numbers and unknown fields
//! as they came, long text cut and the cut said.

use std::borrow::Cow;

use crate::clean;
use crate::protocol::json::{Json, Object};

/// Characters of text that one result may bring to a model.
pub(crate) const TEXT_MAX: usize = 30_000;

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
        let Some(text) = block_text(block) else {
            continue;
        };
        let length = text.chars().count();
        if length > left {
            *text = text.chars().take(left).collect();
            cut += length - left;
        }
        left = left.saturating_sub(length);
    }
    cut
}

/// The text that a block brings to a model: its own, or that of an embedded resource.
fn block_text(block: &mut Json) -> Option<&mut String> {
    let members = block.as_object_mut()?;
    let holder = match members.get("type").and_then(Json::as_str) {
        Some("text") => members,
        Some("resource") => members.get_mut("resource")?.as_object_mut()?,
        _ => return None,
    };
    match holder.get_mut("text") {
        Some(Json::String(text)) => Some(text),
        _ => None,
    }
}

/// Adds a text of ours to a result; an empty one is none.
pub(super) fn add_note(result: &mut Json, note: &str) {
    if note.is_empty() {
        return;
    }
    let block = Json::object([
        ("type", Json::String("text".to_owned())),
        ("text", Json::String(note.to_owned())),
    ]);
    if let Some(Json::Array(blocks)) = result.as_object_mut().and_then(|r| r.get_mut("content")) {
        blocks.push(block);
    }
}

fn say_cut(result: &mut Json, cut: usize, text_max: usize) {
    let note = format!(
        "[Creance cut {cut} characters: a result may bring {text_max}. If the tool can page or \
         take a smaller range, ask for the rest that way.]"
    );
    add_note(result, &note);
}

/// Cleans every string a model may read, at any depth, keys too. The type of a value never changes.
pub(crate) fn clean_strings(value: &mut Json) {
    each_string(value, &mut |text| changed(clean::text(text)));
}

/// The same with every known secret masked: errors, which nobody asked to hold one.
pub(crate) fn clean_and_mask_strings(value: &mut Json) {
    each_string(value, &mut |text| match clean::mask(text) {
        Cow::Owned(masked) => Some(clean::text(&masked).into_owned()),
        Cow::Borrowed(text) => changed(clean::text(text)),
    });
}

/// The text when it is another one now.
fn changed(text: Cow<'_, str>) -> Option<String> {
    match text {
        Cow::Owned(text) => Some(text),
        Cow::Borrowed(_) => None,
    }
}

fn each_string(value: &mut Json, change: &mut impl FnMut(&str) -> Option<String>) {
    match value {
        // Images and audio: nothing in this alphabet is ever changed.
        Json::String(text) if text.bytes().all(is_base64) => {}
        Json::String(text) => {
            if let Some(new) = change(text) {
                *text = new;
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| each_string(item, change)),
        Json::Object(members) => {
            each_key(members, change);
            for (_, member) in members.iter_mut() {
                each_string(member, change);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Changes keys, where any is to be changed. One that becomes another member's is marked, so that
/// no value is lost.
fn each_key(members: &mut Object, change: &mut impl FnMut(&str) -> Option<String>) {
    if members.iter().all(|(key, _)| change(key).is_none()) {
        return;
    }
    let mut renamed = Object::default();
    for (key, value) in std::mem::take(members) {
        let mut key = change(&key).unwrap_or(key);
        while renamed.get(&key).is_some() {
            key.push('_');
        }
        renamed.insert(key, value);
    }
    *members = renamed;
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

/// How long the text of a result is, in bytes.
pub(crate) fn text_len(result: &Json) -> usize {
    let blocks = result.get("content").and_then(Json::as_array);
    let text = |block: &Json| match block.get("type").and_then(Json::as_str) {
        Some("text") => block.get("text").and_then(Json::as_str).map(str::len),
        _ => None,
    };
    // All but plain text is told in a few words, which are counted as they are told.
    match blocks.map(|blocks| blocks.iter().map(text).collect::<Option<Vec<usize>>>()) {
        Some(Some(lengths)) => lengths.iter().sum::<usize>() + lengths.len().saturating_sub(1),
        _ => text_of(result).len(),
    }
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
            "{\"structuredContent\":{\"s\":1,\"s\u{200b}\":2},\"content\":[{\"type\":\"x\u{e0041}\"}]}",
            "{\"structuredContent\":{\"s\":1,\"s_\":2},\"content\":[{\"type\":\"x\"}]}",
        );
        check(
            "{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"},{\"type\":\"hologram\"}]}",
            "{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"},{\"type\":\"hologram\"}]}",
        );
    }

    #[test]
    fn the_length_of_a_text_is_told_without_the_text() {
        for result in [
            "{}",
            "{\"content\":[]}",
            "{\"content\":[{\"type\":\"text\",\"text\":\"añb\"}]}",
            "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"\"}]}",
            "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\"},{\"type\":\"text\"}]}",
            "{\"content\":[{\"text\":\"a\"}]}",
        ] {
            let json = json::read(result.as_bytes()).unwrap().json;
            assert_eq!(text_len(&json), text_of(&json).len(), "{result}");
        }
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
        check(
            "{\"content\":[{\"type\":\"resource\",\"resource\":{\"text\":\"0123456789\"}},{\"type\":\"text\",\"text\":\"\"}]}",
            "{\"content\":[{\"type\":\"resource\",\"resource\":{\"text\":\"0123456789\"}},{\"type\":\"text\",\"text\":\"\"}]}",
        );
    }
}
