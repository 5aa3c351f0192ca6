//! Names of servers as they can be part of a tool's name: letters, digits, `-` and single `_`.

/// The longest name that is made.
const NAME_MAX: usize = 48;

/// A server's name in Creance. Letters of all scripts stay: a name that is stripped to nothing, or
/// to that of another, is a lost server.
pub(super) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.trim().chars() {
        let kept = if c.is_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        };
        // `__` stands between a server and its tool.
        if !(matches!(kept, '-' | '_') && slug.ends_with(['-', '_'])) {
            slug.push(kept);
        }
    }
    let slug: String = slug.chars().take(NAME_MAX).collect();
    let slug = slug.trim_matches(['-', '_']);
    if slug.is_empty() {
        return "server".to_owned();
    }
    slug.to_owned()
}

/// The text as the name of a variable.
pub(super) fn variable(text: &str) -> String {
    let name: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let name = name.trim_matches('_').to_ascii_uppercase();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return format!("MCP_{name}").trim_end_matches('_').to_owned();
    }
    name
}
