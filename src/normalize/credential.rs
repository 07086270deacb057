//! What an `Authorization` header may tell without telling the secret.
//!
//! In: a header value. Out: its scheme, a key id, a hash of the subject. Never the credential, and never checks a
//! signature.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::json;

/// Longest token that is looked into: a header cannot hold more in practice.
const MAX_TOKEN: usize = 64 * 1024;

/// What is left of a credential.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Credential {
    /// Scheme in lower case; empty for none. A value without a scheme is all secret, so nothing of it is kept.
    pub(crate) scheme: String,
    /// The credential is a JWT.
    pub(crate) is_jwt: bool,
    /// `kid` of the JWT's header.
    pub(crate) kid: String,
    /// First 32 hex digits of the SHA-256 of the JWT's `sub`.
    pub(crate) principal: String,
}

impl Credential {
    /// Reads an `Authorization` header.
    pub(crate) fn read(header: Option<&str>) -> Self {
        let value = header.unwrap_or_default().trim();
        let (scheme, token) = match value.split_once(char::is_whitespace) {
            Some((scheme, token)) if is_scheme(scheme) => (scheme_word(scheme), token.trim()),
            _ => (String::new(), value),
        };
        let Some((head, claims)) = jwt(token) else {
            return Self { scheme, ..Self::default() };
        };
        let principal = match json::text(&claims, &["sub"]) {
            "" => String::new(),
            subject => principal_of(subject),
        };
        Self { scheme, is_jwt: true, kid: json::text(&head, &["kid"]).to_owned(), principal }
    }
}

/// A subject as the `principal` column holds it.
pub(crate) fn principal_of(subject: &str) -> String {
    hex::encode(&Sha256::digest(subject.as_bytes())[..16])
}

/// Schemes of the IANA registry, and what agents are seen to use beside them.
const SCHEMES: [&str; 24] = [
    "apikey",
    "api-key",
    "aws4-hmac-sha256",
    "basic",
    "bearer",
    "concealed",
    "digest",
    "dpop",
    "gnap",
    "hmac",
    "hoba",
    "jwt",
    "mutual",
    "negotiate",
    "ntlm",
    "oauth",
    "oauth2",
    "privatetoken",
    "scram-sha-1",
    "scram-sha-256",
    "sharedkey",
    "signature",
    "token",
    "vapid",
];

/// A scheme in lower case: the first word of what was given for one. People write whole credentials there, so that of a
/// word not known only a hash is kept.
pub(crate) fn scheme_word(given: &str) -> String {
    let word = given.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    if word.is_empty() || SCHEMES.contains(&word.as_str()) {
        return word;
    }
    hash_word(&word)
}

/// Longest version that anybody writes.
const MAX_VERSION: usize = 32;

/// A version as a caller declares it, which may be anything; of what is none only a hash is kept.
pub(crate) fn version_word(given: &str) -> String {
    let given = given.trim();
    let is_version = given.len() <= MAX_VERSION
        && given.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+' | b'_' | b','));
    if is_version { given.to_owned() } else { hash_word(given) }
}

/// A name of one word as it is; of a sentence only a hash is kept.
pub(crate) fn one_word(given: &str) -> String {
    if given.trim().contains(char::is_whitespace) { hash_word(given) } else { given.to_owned() }
}

fn hash_word(word: &str) -> String {
    format!("other-{}", hex::encode(&Sha256::digest(word.as_bytes())[..4]))
}

fn is_scheme(word: &str) -> bool {
    (1..=20).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn jwt(token: &str) -> Option<(Value, Value)> {
    if token.len() > MAX_TOKEN {
        return None;
    }
    let mut pieces = token.split('.');
    let (head, claims, _signature) = (pieces.next()?, pieces.next()?, pieces.next()?);
    if pieces.next().is_some() {
        return None;
    }
    let read = |piece: &str| -> Option<Value> {
        let bytes = URL_SAFE_NO_PAD.decode(piece.trim_end_matches('=')).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    let head = read(head).filter(Value::is_object)?;
    Some((head, read(claims).unwrap_or(Value::Null)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(head: &str, claims: &str) -> String {
        format!("{}.{}.sig", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn a_jwt_gives_its_key_id_and_a_hash_of_its_subject() {
        let read = Credential::read(Some(&format!(
            "Bearer {}",
            token(r#"{"alg":"ES256","kid":"key-2"}"#, r#"{"sub":"alice"}"#)
        )));
        assert_eq!((read.scheme.as_str(), read.kid.as_str(), read.is_jwt), ("bearer", "key-2", true));
        // printf alice | sha256sum | cut -c1-32
        assert_eq!(read.principal, "2bd806c97f0e00af1a1fc3328fa763a9");
    }

    #[test]
    fn an_opaque_token_gives_its_scheme_only() {
        let read = Credential::read(Some("Bearer example-credential"));
        assert_eq!(read, Credential { scheme: "bearer".to_owned(), ..Credential::default() });
    }

    #[test]
    fn a_bare_secret_is_not_taken_for_a_scheme() {
        assert_eq!(Credential::read(Some("s3cr3t")), Credential::default());
        assert_eq!(Credential::read(None), Credential::default());
    }
}
