//! Whether an address is one that a template of resources stands for (RFC 6570). An expression is
//! taken to stand for any text: what is in it, the server judges by itself.

/// Whether the template can become this address.
pub(crate) fn matches(template: &str, uri: &str) -> bool {
    let Some(parts) = parts(template) else {
        return false;
    };
    let mut rest = uri;
    let mut free = false;
    let last = parts.len().saturating_sub(1);
    for (at, part) in parts.iter().enumerate() {
        match part {
            Part::Any => free = true,
            Part::Text(text) if !free => match rest.strip_prefix(text) {
                Some(left) => rest = left,
                None => return false,
            },
            // The text that ends the template ends the address.
            Part::Text(text) if at == last => return rest.ends_with(text),
            // The first place that fits leaves the most for what follows, which begins with any text.
            Part::Text(text) => match rest.split_once(text) {
                Some((_, left)) => {
                    rest = left;
                    free = false;
                }
                None => return false,
            },
        }
    }
    free || rest.is_empty()
}

enum Part<'a> {
    Text(&'a str),
    Any,
}

/// The literal texts and expressions of a template; `None` for one that is broken.
fn parts(template: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('{') {
        let (expression, left) = after.split_once('}')?;
        if expression.is_empty() || expression.contains('{') {
            return None;
        }
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        if !matches!(parts.last(), Some(Part::Any)) {
            parts.push(Part::Any);
        }
        rest = left;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn templates_match_addresses() {
        for (template, uri, want) in [
            ("test://static/{id}", "test://static/7", true),
            ("test://static/{id}", "test://dynamic/7", false),
            ("test://{a}/b/{c}", "test://x/b/y/z", true),
            ("test://{a}/b/{c}", "test://x/c/y", false),
            ("demo://{id}/data", "demo://1/data", true),
            ("demo://{id}/data", "demo://1/data/data", true),
            ("demo://{id}/data", "demo://1/date", false),
            ("file:///{+path}", "file:///a/b", true),
            ("x://a", "x://a", true),
            ("x://a", "x://ab", false),
            ("x://{a", "x://{a", false),
            ("x://{}", "x://", false),
            ("{?q}", "anything", true),
            ("x://{a}{b}c", "x://c", true),
        ] {
            assert_eq!(matches(template, uri), want, "{template} {uri}");
        }
    }
}
