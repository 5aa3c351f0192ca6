//! Names that people take for one another. A guard for questions to people, no boundary: rules name
//! the true name, and a look-alike is never covered by the rules of the other.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Pairs of different names that look alike: each with the first that looks the same.
pub(crate) fn lookalikes<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<(&'a str, &'a str)> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut pairs = Vec::new();
    for name in names {
        let first = *seen.entry(skeleton(name)).or_insert(name);
        if first != name {
            pairs.push((first, name));
        }
    }
    pairs
}

/// What remains of a name for a hasty eye.
fn skeleton(name: &str) -> String {
    name.nfkd()
        .filter(|c| c.is_alphanumeric() && !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .map(latin)
        .collect()
}

/// The Latin letter that a Cyrillic, Greek, Armenian or Cherokee letter or a digit is drawn like.
fn latin(letter: char) -> char {
    match letter {
        'а' | 'α' | 'ɑ' => 'a',
        'в' | 'β' | 'ь' => 'b',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ҽ' | 'ε' => 'e',
        'ɡ' | 'ց' => 'g',
        'һ' | 'հ' | 'н' => 'h',
        'і' | 'ı' | 'ι' | '1' | '|' | 'l' | 'ӏ' | 'ⅼ' => 'i',
        'ј' | 'ϳ' => 'j',
        'к' | 'κ' => 'k',
        'м' | 'μ' => 'm',
        'ո' | 'η' | 'п' => 'n',
        'о' | 'ο' | 'օ' | '0' | 'σ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ω' | 'ѡ' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' | 'ү' => 'y',
        'ᴢ' => 'z',
        other => other,
    }
}
