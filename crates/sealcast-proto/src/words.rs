//! Words of others, as they may be shown: in a log, on a page, in a terminal.

/// True for a character that moves a cursor, breaks a line or turns text around: the control characters, the separators
/// of lines and paragraphs, and those that set the direction of writing.
pub fn is_unsafe(letter: char) -> bool {
    let turns =
        matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || turns || matches!(letter, '\u{2028}' | '\u{2029}')
}

/// Another party's text, with U+FFFD in place of each character that [is unsafe](is_unsafe). To be called where the
/// text enters, so that nothing behind it has to ask.
pub fn plain(text: &str) -> String {
    let shown = |letter| match is_unsafe(letter) {
        true => char::REPLACEMENT_CHARACTER,
        false => letter,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_another_moves_a_cursor_breaks_a_line_or_turns_text_around() {
        let ranges = [
            0..=0x1f,
            0x7f..=0x9f,
            0x61c..=0x61c,
            0x200e..=0x200f,
            0x2028..=0x202e,
            0x2066..=0x2069,
        ];
        for letter in ranges.into_iter().flatten().filter_map(char::from_u32) {
            assert_eq!(plain(&format!("a{letter}b")), "a\u{fffd}b", "U+{:04X}", letter as u32);
        }
        for kept in ["ä", "日本", "שלום", "a b", "\u{fffd}", "🎥"] {
            assert_eq!(plain(kept), kept);
        }
    }
}
