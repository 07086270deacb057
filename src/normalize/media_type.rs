//! Media types and the mode words that A2A 0.1 used in their place.
//!
//! In: a type as a card, a part or a request spells it. Out: the spelling that everything here compares. Never rejects
//! one: what is no media type stays as it is, so that a rule can show it.

/// The spelling that is compared: trimmed, lower case, without parameters (RFC 9110 8.3.1 makes type and subtype
/// case-insensitive). A mode word such as `text` stays a word; `''` stays `''`.
pub fn canonical(text: &str) -> String {
    let essence = text.split(';').next().unwrap_or_default();
    essence.trim().to_lowercase()
}

/// Whether a canonical mode is a word of A2A 0.1 (`text`, `file`, `data`) rather than a media type.
pub fn is_word(mode: &str) -> bool {
    !mode.is_empty() && !mode.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_blanks_and_parameters_do_not_distinguish_types() {
        for text in ["text/plain", " Text/PLAIN ", "text/plain;charset=utf-8", "text/plain ; charset=\"UTF-8\"; q=1"] {
            assert_eq!(canonical(text), "text/plain", "{text}");
        }
        assert_eq!(canonical("application/vnd.a2ui+json"), "application/vnd.a2ui+json");
        assert_eq!(canonical("*/*"), "*/*");
    }

    #[test]
    fn nothing_stays_nothing_and_words_stay_words() {
        assert_eq!(canonical(""), "");
        assert_eq!(canonical("  "), "");
        assert_eq!(canonical(";charset=utf-8"), "");
        assert_eq!(canonical("Text"), "text");
        assert!(is_word("text"));
        assert!(!is_word("text/plain"));
        assert!(!is_word(""));
    }
}
