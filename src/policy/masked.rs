//! What a record no longer holds, since secrets are masked in it, and which policies would look at it.

use serde_json::Value;

/// Whether one of these attributes is named in a policy. In a reason it is named, too: then a
/// decision that could be told is not.
pub(super) fn names_any(text: &str, attributes: &[&str]) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| attributes.contains(&word))
}

/// How policies look at arguments of calls.
pub(super) const ARGUMENTS: &[&str] = &["args", "args_json", "arg_names", "numbers", "input"];
/// How policies look at what is started.
pub(super) const COMMAND_LINE: &[&str] = &["command_line", "args", "cwd"];

/// Whether a masked secret stands anywhere in a value.
pub(super) fn is_masked(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("[secret:"),
        Value::Array(items) => items.iter().any(is_masked),
        Value::Object(members) => {
            (members.iter()).any(|(name, member)| name.contains("[secret:") || is_masked(member))
        }
        _ => false,
    }
}
