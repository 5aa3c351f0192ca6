//! Look-alike letters folded to the letter that they imitate: to find tags and phrases however
//! they are spelled, and to tell which names look the same.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::class::{is_hidden, is_joiner, is_mark, is_selector};

/// The ASCII letter that a character imitates, where Unicode's own compatibility forms do not
/// say. Small letters.
fn imitated(c: char) -> Option<char> {
    Some(match c {
        'а' | 'α' | 'ɑ' => 'a',
        'с' | 'ϲ' | 'ᴄ' => 'c',
        'ԁ' | 'ɗ' => 'd',
        'е' | 'ҽ' | 'ε' => 'e',
        'ɡ' | 'ց' => 'g',
        'һ' | 'հ' => 'h',
        'і' | 'ı' | 'ι' | 'ɩ' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' | 'ⅼ' | 'ǀ' => 'l',
        'м' | 'ᴍ' => 'm',
        'ո' | 'ռ' | 'η' => 'n',
        'о' | 'ο' | 'σ' | 'օ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'ʀ' | 'г' => 'r',
        'ѕ' | 'ꜱ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ѵ' | 'ν' => 'v',
        'ԝ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        'ᴢ' => 'z',
        '‐' | '‑' | '‒' | '–' | '—' | '−' | '﹣' => '-',
        '﹍' | '‿' | '▁' | 'ˍ' => '_',
        '∕' | '⁄' | '⧸' | '╱' | '⟋' => '/',
        _ => return None,
    })
}

/// The ASCII character that stands for this one in Unicode's confusables, when it is one.
fn confusable(c: char) -> Option<char> {
    let mut buffer = [0; 4];
    let mut prototype = unicode_security::skeleton(c.encode_utf8(&mut buffer));
    match (prototype.next(), prototype.next()) {
        (Some(one), None) if one.is_ascii_graphic() => Some(one.to_ascii_lowercase()),
        _ => None,
    }
}

/// What one character folds to: small letters without marks; nothing for what is not drawn.
pub(super) fn fold(c: char) -> impl Iterator<Item = char> {
    let ascii = c.is_ascii().then(|| c.to_ascii_lowercase());
    let other = (!c.is_ascii()).then(|| fold_other(c));
    ascii.into_iter().chain(other.into_iter().flatten())
}

fn fold_other(c: char) -> impl Iterator<Item = char> {
    let small = |c: char| c.to_lowercase().map(|c| imitated(c).unwrap_or(c));
    std::iter::once(imitated(c).unwrap_or(c))
        .nfkd()
        .flat_map(small)
        .nfd()
        .filter(|&c| !(is_mark(c) || is_hidden(c) || is_joiner(c) || is_selector(c)))
        .map(|c| {
            if c.is_ascii() {
                return c;
            }
            confusable(c).unwrap_or(c)
        })
}

/// A character that could be taken for an ASCII letter or digit but is none.
pub(super) fn is_look_alike(c: char) -> bool {
    !c.is_ascii()
        && c.is_alphabetic()
        && (imitated(c).is_some()
            || c.to_lowercase().any(|c| imitated(c).is_some())
            || confusable(c).is_some_and(|c| c.is_ascii_alphanumeric()))
}

/// A name as two spellings of it are compared: a composed and a decomposed `é` are the same.
pub(crate) fn composed(name: &str) -> String {
    name.nfc().collect()
}

/// The letters of a name without their marks: `é` is `e`.
pub(crate) fn unmarked(name: &str) -> impl Iterator<Item = char> {
    name.nfkd().filter(|c| !is_combining_mark(*c))
}

/// A text as it looks: small letters without marks, look-alikes as what they look like, without what
/// is not drawn.
pub(crate) fn folded(text: &str) -> String {
    text.chars().flat_map(fold).collect()
}

/// Two names that look alike have the same skeleton: letters folded, `l`, `i` and `1` the same,
/// `o` and `0` the same, `rn` like `m`, `vv` like `w`; separators, marks and what is not drawn do
/// not count. For "this tool's name looks like that one".
pub(crate) fn skeleton(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars().flat_map(fold) {
        let same = match c {
            '_' | '-' | '.' | ' ' => continue,
            'i' | '1' | '|' => 'l',
            '0' => 'o',
            'n' if out.ends_with('r') => 'm',
            'v' if out.ends_with('v') => 'w',
            other => other,
        };
        if (same == 'm' && c == 'n') || same == 'w' && c == 'v' {
            out.pop();
        }
        out.push(same);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_the_same_have_one_skeleton() {
        let same = |a: &str, b: &str| assert_eq!(skeleton(a), skeleton(b), "{a:?} {b:?}");
        same("read_file", "re\u{430}d_file");
        same("read_file", "READ-FILE");
        same("list", "1ist");
        same("login", "Iogin");
        same("modern", "modem");
        same("save", "sa\u{200b}ve");
        same("open", "\u{ff4f}pe\u{301}n");
        same("власть", "власть");
        for (a, b) in [("read_file", "write_file"), ("get", "set"), ("a", "ab")] {
            assert_ne!(skeleton(a), skeleton(b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn only_imitations_of_ascii_are_look_alikes() {
        for c in ['а', 'е', 'ο', 'Α', 'ѕ', 'ꜱ', 'ｅ'] {
            assert!(is_look_alike(c), "{c}");
        }
        for c in ['a', 'é', 'ж', '漢', 'λ', '1', '-', '😀'] {
            assert!(!is_look_alike(c), "{c}");
        }
    }
}
