//! Tells secret names by all of their words, each a text of its own.

use crate::clean::name::{HARMLESS_BESIDE, KEY_KINDS, MILD_WORDS, SECRET_WORDS};

/// The words of a name in small letters: `refreshToken`, `X-Api-Key`, `CLIENT_SECRET`, `APIKey`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let humps = before.is_lowercase() || before.is_ascii_digit();
        let acronym = before.is_uppercase() && chars.peek().is_some_and(|next| next.is_lowercase());
        if !c.is_alphanumeric() || (c.is_uppercase() && (humps || acronym)) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn has_key_kind(words: &[String]) -> bool {
    words.windows(2).any(|pair| {
        matches!(pair, [kind, key] if matches!(key.as_str(), "key" | "keys") && KEY_KINDS.contains(&kind.as_str()))
    })
}

/// Whether a key's value is a secret by its name. `tokenizer`, `monkey`, a plain `key`,
/// `max_tokens` and `next_page_token` are not.
pub(in crate::clean) fn is_secret_key(name: &str) -> bool {
    let words = words(name);
    if has_key_kind(&words) {
        return true;
    }
    let harmless = words.iter().any(|w| HARMLESS_BESIDE.contains(&w.as_str()));
    words.iter().any(|word| {
        SECRET_WORDS.contains(&word.as_str()) || (MILD_WORDS.contains(&word.as_str()) && !harmless)
    })
}
