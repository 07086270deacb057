//! The token that requests must bear, to the receivers and to the API.
//!
//! In: the token of the settings, `Authorization` values. Out: yes or no, in a time that depends on neither. Never keeps
//! the token itself.

use http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Hash of the token. Comparing hashes hides the token's length, too.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl Token {
    /// For a token of the settings.
    pub fn new(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Whether a request bears it.
    pub fn is_borne(&self, headers: &HeaderMap) -> bool {
        let Some(given) = headers.get(header::AUTHORIZATION).and_then(|value| bearer(value.as_bytes())) else {
            return false;
        };
        let given: [u8; 32] = Sha256::digest(given).into();
        self.0.ct_eq(&given).into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// The token in an `Authorization` value; the scheme's name is of any case (RFC 9110, 11.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_token_itself_is_let_in() {
        let token = Token::new("s3cret");
        let borne = |value: &str| {
            let value = HeaderValue::from_str(value).unwrap();
            token.is_borne(&HeaderMap::from_iter([(header::AUTHORIZATION, value)]))
        };
        assert!(borne("Bearer s3cret") && borne("bearer s3cret") && borne("BEARER  s3cret "));
        for wrong in ["Bearer s3cre", "Bearer s3crets", "Bearer ", "Bearer", "s3cret", "Basic s3cret", ""] {
            assert!(!borne(wrong), "{wrong:?}");
        }
        assert!(!token.is_borne(&HeaderMap::new()));
    }
}
