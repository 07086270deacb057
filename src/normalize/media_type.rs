//! Placeholder until the card branch is merged.

/// Lower case, without parameters.
pub fn canonical(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
