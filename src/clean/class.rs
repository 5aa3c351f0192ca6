//! What a character is to a reader: hidden, a direction control, a joiner, a mark, a blank.
//! Ranges follow Unicode's default-ignorable set, with what renders as nothing in practice.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Line ends that are none to some readers and one to others.
pub(super) fn is_odd_break(c: char) -> bool {
    matches!(
        c,
        '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// C0 without tab and line ends, DEL, C1.
pub(super) fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n')
}

/// Renders as nothing, whatever stands around it. Joiners and variation selectors are judged with
/// their neighbours, by `scan`.
pub(super) fn is_hidden(c: char) -> bool {
    if c < '\u{ad}' {
        return false;
    }
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{fdd0}'..='\u{fdef}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        | '\u{f0000}'..='\u{10ffff}')
        // The last two of each plane are no characters.
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Changes the direction in which its neighbours are drawn.
pub(super) fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A copy of ASCII that no viewer draws; models read it.
pub(super) fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Zero-width joiner and non-joiner.
pub(super) fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Variation selectors of the first plane; the others are hidden anyway.
pub(super) fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// Pictures that take a selector or a joiner.
pub(super) fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2194}'..='\u{21aa}' | '\u{231a}'..='\u{23ff}' | '\u{24c2}'
        | '\u{25aa}'..='\u{27bf}' | '\u{2934}'..='\u{2b55}' | '\u{3030}' | '\u{303d}'
        | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Letters of scripts in which a joiner changes what is written.
pub(super) fn is_joining(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{74f}' | '\u{750}'..='\u{77f}' | '\u{860}'..='\u{dff}'
        | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1800}'..='\u{18aa}')
        && !is_hidden(c)
}

/// Shows nothing of its own, or moves what is shown. Wider than [`is_hidden`]: blanks that are not
/// the blank, letters without ink, and what nobody assigned; for names and for terminals.
pub(crate) fn is_invisible(c: char) -> bool {
    // Letters and symbols to Unicode, and blank to the eye.
    if matches!(
        c,
        '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
    ) {
        return true;
    }
    match c.general_category() {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::Surrogate
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator
        | GeneralCategory::PrivateUse
        | GeneralCategory::Unassigned => true,
        GeneralCategory::SpaceSeparator => c != ' ',
        _ => false,
    }
}

/// Combining marks, which pile up on the letter before.
pub(crate) fn is_mark(c: char) -> bool {
    c >= '\u{300}'
        && matches!(
            c.general_category(),
            GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark
        )
}

/// Looks like a space: what stands behind a long run of these is out of view.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t') || is_odd_blank(c)
}

/// Looks like a space but is none to a program.
pub(super) fn is_odd_blank(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3000}'
    )
}
